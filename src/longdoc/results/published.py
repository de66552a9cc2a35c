"""Published accuracies of Long Range Arena, each under the protocol that it was obtained with.

The numbers stand in published.csv, in percent: F where the authors say that the model does no better than chance,
nothing where they say nothing. ``mark``: V was read in a primary source, V2 in a secondary one.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "pathx")
OWN = "own"  # the protocol of papers whose settings no other shares
FAILED = "F"


@dataclass(frozen=True)
class Published:
    """A row of a published table; ``accuracies`` are shares of 1, None for a model that fails."""

    protocol: str
    model: str
    accuracies: dict[str, float | None]
    mark: str
    source: str

    def average(self, count: int) -> float | None:
        """Over the first ``count`` tasks (5: without Path-X; 6: with it), None unless there is a number for each."""
        values = [self.accuracies.get(task) for task in TASKS[:count]]
        found = [value for value in values if value is not None]
        return sum(found) / count if len(found) == count else None


@cache
def published() -> tuple[Published, ...]:
    """Every row, in the order of the file."""
    return tuple(_rows())


def _rows() -> Iterator[Published]:
    with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cells = {task: row[task] for task in TASKS if row[task]}
            accuracies = {task: None if cell == FAILED else round(float(cell) / 100, 4) for task, cell in cells.items()}
            yield Published(row["protocol"], row["model"], accuracies, row["mark"], row["source"])


def of(protocol: str, task: str) -> list[Published]:
    """The rows of a protocol that have something to say of a task, the best first."""
    rows = [row for row in published() if row.protocol == protocol and task in row.accuracies]
    return sorted(rows, key=lambda row: -(row.accuracies[task] or 0.0))
