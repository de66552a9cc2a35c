"""The commands that trained some runs, as few as say it."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from longdoc.results.record import Record, flatten

TRAIN = ("python", "train.py")


def sweeps(commands: Iterable[str]) -> list[str]:
    """The commands of single runs; those that go through all combinations of some values become one sweep, with -m."""
    jobs: dict[tuple[str, ...], list[tuple[str, ...]]] = {}  # the values by the keys
    for command in dict.fromkeys(commands):
        pairs = [word.partition("=") for word in shlex.split(command)[len(TRAIN) :]]
        # With its "=", which a word such as ~logger does not have.
        jobs.setdefault(tuple(key + sign for key, sign, _ in pairs), []).append(tuple(value for *_, value in pairs))
    found = []
    for keys, rows in jobs.items():
        values = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
        whole = prod(map(len, values)) == len(rows)
        for choices in [values] if whole else [[[value] for value in row] for row in rows]:
            words = [f"{key}{','.join(of)}" for key, of in zip(keys, choices, strict=True)]
            many = ["-m"] if any(len(of) > 1 for of in choices) else []
            found.append(shlex.join([*TRAIN, *many, *words]))
    return found


def trains(command: str, record: Record) -> bool:
    """Whether one of a command's runs has, in all that the command says, the values of a record's config."""
    words = [word.partition("=") for word in shlex.split(command)[len(TRAIN) :] if word != "-m"]
    values, choices = flatten(record["config"]), record["config"].get("choices", {})
    return all(
        any(_says(text, choices.get(key) if key in choices else values.get(key)) for text in _split(said))
        for key, _, said in words
    )


def _split(said: str) -> Sequence[str]:
    return [said] if "[" in said else said.split(",")


def _says(text: str, value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == value
        except ValueError:
            return False
    if isinstance(value, list | Mapping):
        return text.replace(" ", "") == str(value).replace(" ", "").replace("'", "")
    return text.strip("\"'") == {None: "null", True: "true", False: "false"}.get(value, value)
