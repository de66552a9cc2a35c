"""Where speeds were measured."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from longdoc.benchmark.memory import MALLOC
from longdoc.benchmark.trial import Settings
from longdoc.results.record import git_state, machine


def environment(settings: Settings, project: Path) -> dict[str, Any]:
    """Machine, versions and settings; ``project`` is the folder whose commit is recorded."""
    commit, dirty = git_state(project)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "longdoc": version("longdoc"),
        "device": torch.cuda.get_device_name() if settings.device == "cuda" else "cpu",
        **machine(torch.get_num_threads()),
        "precision": settings.precision,
        "compiled": settings.compile,
        "malloc": MALLOC if settings.device == "cpu" else None,
        "commit": commit,
        "dirty": dirty,
    }


def conditions(settings: Settings) -> str:
    threads = torch.get_num_threads()
    where = "one GPU" if settings.device == "cuda" else f"{threads} CPU core{'s' * (threads != 1)}"
    return f"{where}, {settings.precision}, {'compiled' if settings.compile else 'eager'}"
