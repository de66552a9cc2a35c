"""Where speeds were measured."""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from longdoc.benchmark.memory import MALLOC
from longdoc.benchmark.trial import Settings


def environment(settings: Settings, project: Path) -> dict[str, Any]:
    """Machine, versions and settings; ``project`` is the folder whose commit is recorded."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        cpu = next((value.strip() for key, _, value in lines if key.strip() == "model name"), cpu)
    git = ["git", "-C", str(project), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = None
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "longdoc": version("longdoc"),
        "device": torch.cuda.get_device_name() if settings.device == "cuda" else "cpu",
        "cpu": cpu,
        "threads": torch.get_num_threads(),
        "precision": settings.precision,
        "compiled": settings.compile,
        "malloc": MALLOC if settings.device == "cpu" else None,
        "commit": commit,
    }


def conditions(settings: Settings) -> str:
    threads = torch.get_num_threads()
    where = "one GPU" if settings.device == "cuda" else f"{threads} CPU core{'s' * (threads != 1)}"
    return f"{where}, {settings.precision}, {'compiled' if settings.compile else 'eager'}"
