"""A protocol: the named settings under which a published number was obtained.

Its files are ``<name>.yaml`` and, for each task that it has, ``<name>/<task>.yaml``; a protocol without such a folder
suits every task.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from longdoc.results.record import flatten


def prescribed(folder: Path, protocol: str, task: str) -> dict[str, Any]:
    """What the protocol's files set for a task, by dotted key; words by their group; rows of data not generated."""
    found: dict[str, Any] = {}
    for path in (folder / f"{protocol}.yaml", folder / protocol / f"{task}.yaml"):
        if path.is_file():
            content: dict[str, Any] = OmegaConf.to_container(OmegaConf.load(path))  # type: ignore[assignment]
            for word in content.pop("defaults", []):
                found |= {group.removeprefix("override /"): name for group, name in word.items()}
            rows = content.pop("protocol", {}).get("rows", {})
            found |= flatten(content) | flatten({"rows": rows})
    return found


def check_protocol(folder: Path, protocol: str, task: str, overrides: Iterable[str]) -> None:
    """Raises ValueError for a task without settings in the protocol, and for words whose values it would overrule."""
    tasks = sorted(path.stem for path in (folder / protocol).glob("*.yaml"))
    if tasks and task not in tasks:
        raise ValueError(f"task={task}: protocol={protocol} has no settings for it, only for {', '.join(tasks)}")
    values = prescribed(folder, protocol, task)
    for override in overrides:
        group = override.partition("=")[0]
        # Of a schedule it leaves the class open, where it can.
        marks = {"encoder": "encoder.width", "scheduler": "scheduler._target_"}
        if marks.get(group) in values:
            keys = ", ".join(key for key in values if key.startswith(f"{group}."))
            raise ValueError(
                f"{override}: protocol={protocol} sets {keys} after it; set those, or choose protocol=longdoc"
            )
