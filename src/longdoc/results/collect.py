"""The records below some folders, and what stands in the way of reading others."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from longdoc.results.process import STOPPED, gone
from longdoc.results.record import FILE_NAME, Record, read_record


class Problem(NamedTuple):
    """A run that could not be read, and why, in a sentence."""

    path: Path
    reason: str


def _below(folder: Path) -> list[Path | Problem]:
    def unreadable(error: OSError) -> None:
        found.append(Problem(Path(error.filename), f"cannot be listed ({error.strerror})."))

    found: list[Path | Problem] = []
    for parent, folders, files in os.walk(folder, onerror=unreadable):
        if "wandb" in folders:
            folders.remove("wandb")  # W&B keeps a config.yaml of its own for each run
        if FILE_NAME in files or "config.yaml" in files:  # of a run, perhaps of several folds
            folders[:] = [name for name in folders if not name.startswith("fold_")]
        if FILE_NAME in files:
            found.append(Path(parent, FILE_NAME))
        elif "config.yaml" in files:
            found.append(Problem(Path(parent), f"has no {FILE_NAME}: the run is still going or was killed."))
    return found


def collect(folders: Iterable[str | Path]) -> tuple[list[Record], list[Problem]]:
    """The records of all ``results.json`` at or below ``folders``, in the order of their paths, and ``problems``."""
    found, problems = collect_paths(folders)
    return list(found.values()), problems


def collect_paths(folders: Iterable[str | Path]) -> tuple[dict[Path, Record], list[Problem]]:
    """The records of all ``results.json`` at or below ``folders``, by their paths and in their order.

    Each run counts once, however often its folder is given or copied. What cannot be read is returned as a
    problem; so is a run folder that has a ``config.yaml`` but no record. A run that was going when its process was
    killed is "stopped".
    """
    files: set[Path] = set()
    problems: set[Problem] = set()
    for folder in map(Path, folders):
        if folder.is_file():
            files.add(folder.resolve())
        elif folder.is_dir():
            for found in _below(folder.resolve()):
                files.add(found) if isinstance(found, Path) else problems.add(found)
        else:
            problems.add(Problem(folder, "does not exist."))
    counted: dict[Path, Record] = {}
    for path in sorted(files):
        try:
            record = read_record(path)
            record |= STOPPED if gone(record) else {}
        except ValueError as error:
            problems.add(Problem(path, f"{str(error).removeprefix(f'{path}: ')}."))
        except OSError as error:
            problems.add(Problem(path, f"cannot be read ({error.strerror})."))
        else:
            if original := next((other for other in counted if counted[other] == record), None):
                problems.add(Problem(path, f"is a copy of {original} and not counted again."))
            else:
                counted[path] = record
    return counted, sorted(problems)
