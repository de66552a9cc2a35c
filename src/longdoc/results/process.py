"""Whether the process of a run that is said to go on is still there."""

from collections.abc import Mapping
from os import getpid
from pathlib import Path
from typing import Any

PROC = Path("/proc")
STOPPED = {"status": "stopped", "error": "its process is gone"}  # of a record that could not say so itself


def process() -> dict[str, Any]:
    """Names this process: its id, when it started, and in which boot of which machine and which of its containers;
    None where Linux is not."""
    return {"pid": getpid(), "started": _started(getpid()), "boot": _boot()}


def gone(record: Mapping[str, Any]) -> bool:
    """Whether a record says "running" of a process that is no more; of another machine, boot or container nothing is
    known."""
    named = record.get("process")
    if record["status"] != "running" or not isinstance(named, dict) or named.get("boot") is None:
        return False
    return named["boot"] == _boot() and _started(named["pid"]) != named["started"]


def _boot() -> str | None:
    try:
        # Containers of one machine have the boot in common, but ids of their own.
        return f"{(PROC / 'sys/kernel/random/boot_id').read_text().strip()} {(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return None


def _started(pid: int) -> int | None:
    """In the kernel's ticks; None of a process that has ended."""
    try:
        # The program's name, in brackets, may hold anything; behind it stand the state and, 18 fields on, the start.
        state, *fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else int(fields[18])
