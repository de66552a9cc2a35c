"""One fold of several: all documents of a task's splits dealt out anew, each to the test split of one fold."""

from collections.abc import Sequence
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
    """The documents of all splits in a row.

    splits: {name: (documents, units)}; a unit (D,) names what must not be in two splits, None the document itself.
    """

    def __init__(self, splits: dict[str, tuple[Documents, Sequence[str] | None]]) -> None:
        self.parts = [documents for documents, _ in splits.values()]
        if any(documents.token_labels is not None for documents in self.parts):
            raise ValueError("task.folds deals out documents that have labels, not labels of tokens")
        self.places = [(name, row) for name, (documents, _) in splits.items() for row in range(len(documents))]
        self.labels = np.concatenate([documents.labels for documents in self.parts])
        self.starts = np.cumsum([0, *map(len, self.parts)])
        self.units = [
            unit
            for documents, units in splits.values()
            for unit in (units if units is not None else map(documents.digest, range(len(documents))))
        ]

    def ids(self, row: int, side: int = 0) -> NDArray[Any]:
        """The token ids (N,) of a document."""
        part = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.parts[part].ids(row - int(self.starts[part]), side)

    def save(self, cache: Path, rows: NDArray[np.int64], vocab_size: int, classes: int | None) -> Path:
        """The data set of some rows, written once."""
        key = {"rows of": [part.content() for part in self.parts], "version": 1, "rows": rows.tolist()}

        def write(folder: Path) -> None:
            labels = self.labels[rows]
            if self.parts[0].pairs:
                pairs = ((self.ids(row), self.ids(row, 1), self.labels[row]) for row in rows.tolist())
                save_pairs(folder / "documents", pairs, vocab_size, classes)
            else:
                save_documents(folder / "documents", map(self.ids, rows.tolist()), labels, vocab_size, classes)

        return cached(cache, key, write) / "documents"
