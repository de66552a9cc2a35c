"""ListOps of the Long Range Arena, generated from a seed."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from longdoc.tasks.cache import Documents, save_documents
from longdoc.tasks.generated import Generated
from longdoc.tasks.listops_generator import generate
from longdoc.tasks.listops_language import SYMBOLS, Rows, references


class ListOps(Generated):
    """Expressions of 500 to 2,000 symbols whose value, 0..9, is the label (Tay et al. 2021; see listops_language).

    sizes, data_seed: as of every generated task; LRA's sizes are 96,000 / 2,000 / 2,000.
    min_length, expression_length: the lengths between which, strictly, an expression's own lies.
    processes: to generate with; the result is the same. One is quickest at LRA's sizes, where others would hardly have
        started before it is done.
    """

    name = "listops"

    def __init__(
        self,
        min_length: int = 500,
        expression_length: int = 2000,
        processes: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if self.max_length < expression_length - 1:
            raise ValueError(
                f"task.max_length={self.max_length} would cut expressions of up to {expression_length - 1} symbols, "
                f"whose value needs all of them; lower task.expression_length with it"
            )
        self.processes = processes
        self.rules |= {"min_length": min_length, "max_length": expression_length}

    def learn(self) -> dict[str, Any]:
        return {
            "classes": [str(digit) for digit in range(10)],
            "vocab_size": len(SYMBOLS) + 1,
            "symbols": list(SYMBOLS),
        }

    def generate(self, folder: Path) -> None:
        with Progress(transient=True) as progress:
            bar = progress.add_task("generating ListOps")
            splits = generate(
                **self.rules,
                processes=self.processes,
                progress=lambda done, total: progress.update(bar, completed=done, total=total),
            )
            for split, rows in splits.items():
                ids = np.split(rows.ids, rows.offsets[1:-1])
                save_documents(folder / split, ids, rows.labels.tolist(), len(SYMBOLS) + 1)

    def references(self) -> dict[str, float]:
        """Chance, majority, root operator, one level, two levels: what shortcuts reach on this very test split."""
        return super().references() | references(*(_rows(self.documents(split)) for split in ("train", "test")))


def _rows(documents: Documents) -> Rows:
    ids = np.concatenate([documents.ids(row) for row in range(len(documents))])
    offsets = np.concatenate([[0], np.cumsum(documents.lengths)])
    return Rows(ids, offsets, documents.labels.astype(np.uint8))
