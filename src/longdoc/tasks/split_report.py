"""Which row became which split, and what splits share that they should not."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def repeated(splits: Mapping[str, Iterable[str | None]]) -> dict[str, int]:
    """Of each split the rows whose value is in an earlier split, too; None is the value of none."""
    seen: set[str] = set()
    counts = {}
    for split, values in splits.items():
        held = [value for value in values if value is not None]
        counts[split] = sum(value in seen for value in held)
        seen.update(held)
    return counts


def write_splits(path: Path, rows: Mapping[str, Sequence[int]]) -> None:
    """A CSV file: of one table each row, from 1 on, the split that it is in and its place there.

    rows: of the table, in the order in which each split has them.
    """
    places = {row: (split, place) for split, of_split in rows.items() for place, row in enumerate(of_split)}
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("row", "split", "index"), *((row + 1, *places[row]) for row in sorted(places))])
