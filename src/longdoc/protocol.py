"""A protocol: the named settings under which a published number was obtained.

Its files are ``<name>.yaml`` and, for each task that it has, ``<name>/<task>.yaml``; a protocol without such a folder
suits every task.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from longdoc.results.departures import decisive
from longdoc.results.record import flatten


def listed(folder: Path, protocol: str, task: str) -> dict[str, Any]:
    """What the protocol's files set for a task, by dotted key; words by their group; the rows of its data."""
    found: dict[str, Any] = {}
    for path in (folder / f"{protocol}.yaml", folder / protocol / f"{task}.yaml"):
        if path.is_file():
            content: dict[str, Any] = OmegaConf.to_container(OmegaConf.load(path))  # type: ignore[assignment]
            for word in content.pop("defaults", []):
                found |= {group.removeprefix("override /"): name for group, name in word.items()}
            rows = content.pop("protocol", {}).get("rows", {})
            found |= flatten(content) | flatten({"rows": rows})
    return found


@cache
def prescribed(folder: Path, protocol: str, task: str, trainer: str = "default") -> dict[str, Any]:
    """What is ``listed``, and beside it the ``decisive`` values of a run by the protocol without a word of the user's.

    trainer: the word that a run chose, which says how it computes.
    """
    files = listed(folder, protocol, task)
    if not files:
        return {}
    within = GlobalHydra.instance().is_initialized()  # a run composes as it was itself composed
    with nullcontext() if within else initialize_config_dir(str(folder.parent.resolve()), version_base="1.3"):
        known = (folder.parent / "trainer" / f"{trainer}.yaml").is_file()  # it may be the user's own
        words = [f"task={task}", f"protocol={protocol}", *([f"trainer={trainer}"] if known else [])]
        composed = compose("train", words)
    config: dict[str, Any] = OmegaConf.to_container(composed, resolve=True)  # type: ignore[assignment]
    return files | {key: value for key, value in decisive(config).items() if key not in files}


def check_protocol(
    folder: Path, protocol: str, choices: Mapping[str, str | None], scheduler: Mapping[str, Any]
) -> None:
    """Raises ValueError for a task without settings in the protocol, and for words whose values it would overrule.

    choices: the word of each group, whoever said it; scheduler: its values as composed.
    """
    task = str(choices["task"])
    tasks = sorted(path.stem for path in (folder / protocol).glob("*.yaml"))
    if tasks and task not in tasks:
        raise ValueError(f"task={task}: protocol={protocol} has no settings for it, only for {', '.join(tasks)}")
    values = listed(folder, protocol, task)
    # Of a schedule it leaves the class open, where it can.
    for group, mark in {"encoder": "encoder.width", "scheduler": "scheduler._target_"}.items():
        if choices[group] != values.get(group, choices[group]) and mark in values:
            keys = ", ".join(key for key in values if key.startswith(f"{group}."))
            raise ValueError(
                f"{group}={choices[group]}: protocol={protocol} sets {keys} after it; set those, or choose "
                f"protocol=longdoc"
            )
    own = folder.parent / "scheduler" / f"{choices['scheduler']}.yaml"
    unread = scheduler.keys() - (OmegaConf.load(own).keys() if own.is_file() else scheduler.keys())
    for name in sorted(name for name in unread if f"scheduler.{name}" in values):
        raise ValueError(
            f"scheduler={choices['scheduler']}: protocol={protocol} sets scheduler.{name}, which it does not have; "
            f"'~scheduler.{name}' takes that out"
        )
