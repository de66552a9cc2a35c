"""The classes that labels name: their order, their numbers, and labels of several kinds in one column."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.json_values import Written
from longdoc.tasks.labels import outside, sense
from longdoc.tasks.rows import Refused

WHOLE = re.compile(r"([+-]?\d+)\.0+")


def plain(label: Any) -> Any:
    """A label, whole numbers without the point with which a column of floats writes them as text."""
    whole = WHOLE.fullmatch(label) if isinstance(label, str) else None
    return whole[1] if whole else label


def natural_order(names: Iterable[str]) -> list[str]:
    """Numbers first, by their size, then text, in which digits count as a number: ``10`` after ``9``, ``a10`` too."""

    def key(name: str) -> tuple[bool, float, list[tuple[int, str]]]:
        number = sense(name)
        if isinstance(number, float) and number == number and not name.isalpha():
            return (False, number, [(0, name)])
        parts = re.split(r"([0-9]+)", name)
        return (True, 0.0, [(int(part), "") if i % 2 else (0, part) for i, part in enumerate(parts)])

    return sorted(names, key=key)


def check_classes(classes: Sequence[str], documents: int, where: object, column: str, carved: bool = False) -> None:
    """Raises ValueError if a training table of so many documents has one class only, or not several rows of each.

    column: of the labels. carved: other splits come out of the table.
    """
    if len(classes) < 2:
        raise ValueError(f"{where}: {column} holds one class only, {', '.join(classes)}; it takes two")
    if documents < len(classes) or (documents == len(classes) and carved):
        raise ValueError(
            f"{where} has {documents:,} documents of {len(classes):,} classes, by {column}: "
            f"there must be several of each; perhaps another column is meant"
        )


def class_numbers(
    labels: Iterable[Sequence[str]],
    classes: Sequence[str],
    where: object,
    whose: str,
    several: bool = False,
    numbered: Sequence[str] = (),
) -> NDArray[Any]:
    """The classes (D,) of rows by the names of their labels, or (D, C) bool where they may have ``several``.

    where: the table. whose: the classes are. numbered: the names that numbers stand for in it.

    Raises ValueError, naming the first such row, for a label that is no class, or a row that has not just one.
    """
    numbers, named = Numbers(classes), {str(number): name for number, name in enumerate(numbered)}
    found: list[list[int]] = []
    refused = Refused(where)
    for names in labels:
        refused.rows += 1
        places = {name: numbers.get(named.get(name, name)) for name in names}
        unknown = next((name for name, place in places.items() if place is None), None)
        if not several and len(names) != 1:
            refused.add(f"it has {len(names)} labels; those of the training table have one each")
        elif unknown is not None:
            refused.add(outside(unknown, classes, whose))
        found.append([place for place in places.values() if place is not None])
    refused.check()
    if not several:
        return np.array([places[0] for places in found], np.int64)
    held = np.zeros((len(found), len(classes)), bool)
    for row, of_row in enumerate(found):
        held[row, of_row] = True
    return held


class Numbers:
    """The number of each class by its name, and by what other columns write for it: 1.0 for 1, true for True, or 1.

    Of classes that are one number, as 007 and 7, each has its own name alone.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.exact = {name: number for number, name in enumerate(names)}
        senses = [sense(name) for name in names]
        self.alike: dict[float | str, int] = {
            s: i for i, s in enumerate(senses) if isinstance(s, float) and senses.count(s) == 1
        }

    def get(self, name: str) -> int | None:
        """None for the name of no class."""
        return self.exact.get(name, self.alike.get(sense(name)))


class Kinds:
    """The kinds of a column's labels, where a file can hold several: numbers, truth values, text."""

    def __init__(self) -> None:
        self.first: dict[str, tuple[int, Any]] = {}
        self.typed: set[str] = set()

    def add(self, label: Any, row: int) -> None:
        name = str(label)
        kind = "text" if isinstance(sense(name), str) else "truth values" if name.isalpha() else "numbers"
        self.first.setdefault(kind, (row, label))
        if not isinstance(label, str) or isinstance(label, Written):
            self.typed.add(kind)

    def check(self, where: object, column: str) -> None:
        """Raises ValueError if some labels are numbers or truth values by type and others are of another kind."""
        if self.typed and len(self.first) > 1:
            found = ", ".join(f"{kind} (row {row:,}: {label!s:.40})" for kind, (row, label) in self.first.items())
            raise ValueError(
                f"{where}: the labels in {column} are of several kinds: {found}; write all as text, or none"
            )
