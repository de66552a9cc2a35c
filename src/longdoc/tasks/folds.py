"""One fold of several: all documents of a task's splits dealt out anew, each to the test split of one fold."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.cache import Documents, cached, save_documents, save_pairs
from longdoc.tasks.splits import assign

VALIDATION_SHARE = 0.1  # of what is not the fold's test split


def fold_rows(
    labels: NDArray[Any], units: Sequence[str], folds: int, fold: int, seed: int
) -> dict[str, NDArray[np.int64]]:
    """The rows (D,) of each split in fold number ``fold``: stratified, equal ``units`` in one split only.

    Over all folds each row is once in the test split; validation is a tenth of the rest.
    """
    parts = assign(labels, units, [1 / folds] * folds, seed)
    rest = np.flatnonzero(parts != fold)
    held_out = (
        assign(labels[rest], [units[row] for row in rest.tolist()], [1 - VALIDATION_SHARE, VALIDATION_SHARE], seed) == 1
    )
    return {"train": rest[~held_out], "validation": rest[held_out], "test": np.flatnonzero(parts == fold)}


class Pool:
    """The rows of all splits, one split behind the other.

    splits: {name: (labels, units)}: labels (D,), or (D, C) bool; a unit (D,) names what must not be in two splits.
    places: [(name, row)], where each row was.
    """

    def __init__(self, splits: Mapping[str, tuple[NDArray[Any], Sequence[str]]]) -> None:
        self.labels = np.concatenate([labels for labels, _ in splits.values()])
        self.units = [unit for _, units in splits.values() for unit in units]
        self.places = [(name, row) for name, (labels, _) in splits.items() for row in range(len(labels))]
        self._ends = np.cumsum([len(labels) for labels, _ in splits.values()])
        self._names = list(splits)

    @cached_property
    def digest(self) -> str:
        """Changes with what is dealt out: the labels and units of all rows, and their order."""
        return hashlib.sha256(json.dumps([self.labels.tolist(), self.units]).encode()).hexdigest()[:16]

    def fold(self, folds: int, fold: int, seed: int) -> dict[str, NDArray[np.int64]]:
        """``fold_rows``."""
        return fold_rows(self.labels, self.units, folds, fold, seed)

    def by_split(self, rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64] | slice]:
        """Some rows (D,), in order, by the split that they are in and as it counts them."""
        parts = np.split(rows, np.searchsorted(rows, self._ends[:-1]))
        starts = [0, *self._ends[:-1]]
        return {name: part - start for name, part, start in zip(self._names, parts, starts, strict=True)}


def save_rows(
    cache: Path, parts: Sequence[Documents], rows: NDArray[np.int64], vocab_size: int, classes: int | None
) -> Path:
    """The data set of some rows (D,) of several ones behind one another, written once."""
    starts = np.cumsum([0, *map(len, parts)])
    key = {"rows of": [part.content() for part in parts], "version": 1, "rows": rows.tolist()}

    def ids(row: int, side: int = 0) -> NDArray[Any]:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        return parts[part].ids(row - int(starts[part]), side)

    def write(folder: Path) -> None:
        labels = np.concatenate([part.labels for part in parts])[rows]
        if parts[0].pairs:
            pairs = ((ids(row), ids(row, 1), label) for row, label in zip(rows.tolist(), labels, strict=True))
            save_pairs(folder / "documents", pairs, vocab_size, classes)
        else:
            save_documents(folder / "documents", map(ids, rows.tolist()), labels, vocab_size, classes)

    return cached(cache, key, write) / "documents"
