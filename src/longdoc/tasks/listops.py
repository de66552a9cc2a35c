"""ListOps of the Long Range Arena, generated from a seed or read from its released files."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from longdoc.tasks.cache import Documents, cached, file_sha256, save_documents
from longdoc.tasks.generated import Generated, choose_source
from longdoc.tasks.listops_files import released_rows
from longdoc.tasks.listops_generator import generate
from longdoc.tasks.listops_language import SYMBOLS, Ids, Rows, references

FOLDER = "data/lra_release/listops-1000"
RELEASED = {"train": "train", "validation": "val", "test": "test"}  # what the released files call the splits
SHOWN = 1000  # rows between two words on how far the reading is


class ListOps(Generated):
    """Expressions of 500 to 2,000 symbols whose value, 0..9, is the label (Tay et al. 2021; see listops_language).

    source: ``generated``, to which all options but ``data`` belong; or ``local``, Long Range Arena's
        ``basic_{train,val,test}.tsv`` in the folder ``data``, whose every label is checked; null is local where
        ``data`` is given.
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
        source: str | None = None,
        data: str | None = None,
        **options: Any,
    ) -> None:
        source, data = choose_source(source, data, FOLDER)
        super().__init__(data=data, **options)
        self.source = source
        if source == "generated" and self.max_length < expression_length - 1:
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

    def encode(self, split: str) -> Path:
        if self.source == "generated":
            return super().encode(split)
        path = self._file(split)
        key = {"task": self.name, "version": 1, "source": "local", "max_length": self.max_length}
        key["data"] = file_sha256(path)
        return cached(self.cache, key, lambda folder: self._read(path, folder)) / "documents"

    def _file(self, split: str) -> Path:
        assert self.data is not None
        path = self.data / f"basic_{RELEASED[split]}.tsv"
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: task.data must name the folder of basic_train.tsv, basic_val.tsv and "
                f"basic_test.tsv, which are in lra_release/listops-1000 of "
                f"https://storage.googleapis.com/long-range-arena/lra_release.gz; task.source=generated needs no files"
            )
        return path

    def _read(self, path: Path, folder: Path) -> None:
        ids: list[Ids] = []
        labels: list[int] = []
        with Console().status(f"reading {path.name}") as status:
            for row, label in released_rows(path, self.max_length):
                ids.append(row)
                labels.append(label)
                if len(ids) % SHOWN == 0:
                    status.update(f"reading {path.name}: {len(ids):,} rows")
        save_documents(folder / "documents", ids, labels, len(SYMBOLS) + 1)

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
