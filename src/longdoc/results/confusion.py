"""Which class is taken for which."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from longdoc.results.metrics import RECORDED

SQUARE, PAIRS = 10, 10  # so many classes are shown as a matrix; of more the pairs most often confused

Matrix = list[list[int]]


def confusion(labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> Matrix | None:
    """Row i, column j: how many documents of class i were given class j; None if there are too many classes to record.

    labels, predicted: (D,).
    """
    if classes > RECORDED:
        return None
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes).tolist()


def most_confused(classes: Sequence[str], matrix: Matrix) -> list[tuple[str, str, int]]:
    """Class, class it was taken for, documents: the pairs most often confused, the most frequent first."""
    pairs = [
        (one, other, count)
        for one, row in zip(classes, matrix, strict=True)
        for other, count in zip(classes, row, strict=True)
        if one != other and count
    ]
    return sorted(pairs, key=lambda pair: -pair[2])[:PAIRS]


def confusion_table(classes: Sequence[str], matrix: Matrix) -> Table | None:
    """A row a class and a column a class that was given; of many classes a row a pair; None if none was confused."""
    pairs = most_confused(classes, matrix)
    if not pairs:
        return None
    table = Table(box=None, pad_edge=False)
    if len(classes) > SQUARE:
        for name in ("class", "taken for"):
            table.add_column(name, overflow="fold")
        table.add_column("documents", justify="right")
        for one, other, count in pairs:
            table.add_row(Text(one), Text(other), f"{count:,}")
        return table
    table.add_column("class \\ given", overflow="fold")
    for name in classes:
        table.add_column(Text(_short(name)), justify="right")
    for i, (name, row) in enumerate(zip(classes, matrix, strict=True)):
        table.add_row(Text(name), *(Text(str(n) if n else "·", "bold" if i == j else "") for j, n in enumerate(row)))
    return table


def _short(name: str) -> str:
    """As a heading, so that ten of them stand side by side."""
    return name if len(name) <= 6 else name[:5] + "…"
