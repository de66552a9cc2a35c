"""Tasks whose rows lie in a collection: its tables, what stands in their columns, which row is of which split."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from longdoc.tasks.base import SPLITS
from longdoc.tasks.collection import HUB, LabelFolder, find_collection, with_test
from longdoc.tasks.columns import LABEL, TEXT, TextReader, check_columns, guess
from longdoc.tasks.say import say
from longdoc.tasks.scan import Scan, scan
from longdoc.tasks.split_report import repeated, write_splits
from longdoc.tasks.splits import assign, draw
from longdoc.tasks.streamed import Streamed
from longdoc.tasks.tables import Table


class Collected(Streamed):
    """Texts and their labels, of any collection that ``collection.find_collection`` finds. A subclass defines
    ``labels_of``.

    path: the collection. test: another whose test split, or only table, is the test split.
    config, revision: of a set of the hub: its configuration and its commit.
    text: the column of the texts, or several, joined by a blank line; null guesses. label: likewise, never several.
    pairs: the two columns of ``text`` are a pair of documents; null: if there is an ``interaction``.
    separator: between the labels of a cell, where a document has several; in JSON and parquet a list needs none.
    labels: the class names in their order; null takes those of the training table, in natural order.
    group: a column of what must not be in two splits. Where all splits have tables of their own it may be blank.
    validation_share, test_share: of the training table, for the splits that have no table of their own.
    split_seed: with the documents, in whatever order, it decides which become which split.
    errors: ``strict``, or ``replace`` for texts with bytes that are no UTF-8.

    The training table's rows come in an order drawn by ``split_seed``, so that every kind of file gives the same run.
    """

    def __init__(
        self,
        path: str | None,
        test: str | None = None,
        config: str | None = None,
        revision: str | None = None,
        text: str | Sequence[str] | None = None,
        label: str | None = None,
        pairs: bool | None = None,
        interaction: str | None = None,
        separator: str | None = None,
        labels: Sequence[Any] | None = None,
        group: str | None = None,
        validation_share: float = 0.1,
        test_share: float = 0.1,
        split_seed: int = 0,
        errors: str = "strict",
        **options: Any,
    ) -> None:
        if path is None:
            raise ValueError("task.path names no collection: a file, a folder, or hf:NAME of the hub")
        self.pairs = interaction is not None if pairs is None else pairs
        super().__init__(**options)
        self.source = "hub" if path.startswith(HUB) else "local"
        self.path, self.test_path, self.config, self.revision = path, test, config, revision
        self.text = [text] if isinstance(text, str) else text and list(text)
        if self.pairs and (self.text is None or len(self.text) != 2):
            raise ValueError(f"task.text={text}: a pair of documents is two columns: task.text=[first,second]")
        self.label, self.group, self.separator = label, group, separator
        self.labels = None if labels is None else [str(name) for name in labels]
        if self.labels is not None and len(set(self.labels)) < max(2, len(self.labels)):
            raise ValueError(f"task.labels={labels} must name two classes or more, each once")
        self.shares = {"validation": validation_share, "test": test_share}
        for split, share in self.shares.items():
            if not 0 < share < 1:
                raise ValueError(f"task.{split}_share={share} must lie between 0 and 1")
        if validation_share + test_share >= 1:
            raise ValueError(f"task.validation_share={validation_share} and task.test_share={test_share} leave nothing")
        if split_seed < 0:
            raise ValueError(f"task.split_seed={split_seed} must not be negative")
        if errors not in ("strict", "replace"):
            raise ValueError(f"task.errors={errors} must be strict or replace")
        self.split_seed, self.errors = split_seed, errors
        self._scans: dict[str, Scan] = {}
        self._hashes: dict[Table, str] = {}

    def labels_of(self, split: str) -> NDArray[Any]:
        """The classes (D,) of all rows of the split's table, or (D, C) bool where they may have several.

        Raises ValueError for those that the training table has not.
        """
        raise NotImplementedError

    # Where the rows are.

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables by split; a split without one is carved out of train's."""
        tables = find_collection(self.path, self.config, self.revision, self.streaming)
        if self.test_path is None:
            return tables
        other = tables if self.test_path == self.path else find_collection(self.test_path)
        return with_test(tables, other, self.test_path)

    def carved(self, split: str) -> bool:
        """Whether the split is a part of the training table."""
        return split not in self.tables

    def table(self, split: str) -> Table:
        """The table that holds the split's rows, perhaps among others."""
        table = self.tables.get(split) or self.tables.get("train")
        if table is None:
            why = f": task.test={self.test_path} is its table; leave it out, and test rows come out of train's"
            raise FileNotFoundError(
                f"task.path={self.path} has only the splits {', '.join(self.tables)}; no {split}"
                f"{why if self.test_path is not None and self.state is None else ''}"
            )
        return table

    @property
    def text_columns(self) -> list[str]:
        return self._columns["text"]

    def _scan(self, split: str) -> Scan:
        """All rows of the table that the split is in."""
        source = "train" if self.carved(split) else split
        if source not in self._scans:
            columns, table = self._columns, self.table(source)
            # Groups matter where rows are dealt out.
            dealt = self.folds is not None or (source == "train" and len(self.tables) < len(SPLITS))
            group = self.group if dealt or source == "train" or self.group in table.column_names() else None
            wanted = {"task.text": columns["text"], "task.label": [columns["label"]], "task.group": [group]}
            check_columns(table, wanted)
            reader = TextReader(table, columns["text"], self.errors)
            with Console().status(f"reading {table.where}"):
                known = self.labels or ()
                found = scan(
                    self.cache, reader, self._hash(table), columns["label"], group, self.separator, known, dealt
                )
            if found.replaced:
                count = f"{found.replaced:,} texts of {table.where}"
                say(f"{count} had bytes that are not in their encoding, in whose place U+FFFD stands")
            if isinstance(table, LabelFolder) and (others := table.left_out):
                say(f"{table.where}: {len(others):,} files are no <label>/*.txt and left out, as {others[0]}")
            self._scans[source] = found
        return self._scans[source]

    @cached_property
    def _columns(self) -> dict[str, Any]:
        """The column ``label`` and the columns ``text``: the checkpoint's, those given, or those guessed."""
        if self.state is not None:
            return self.state["columns"]
        table = self.table("train")
        taken = [name for name in (*(self.text or []), self.group) if name]
        label = self.label or guess("task.label", LABEL, table, taken)
        text = self.text or [guess("task.text", TEXT, table, [label, *taken])]
        guessed = [f"task.text={text[0]}"] * (not self.text) + [f"task.label={label}"] * (not self.label)
        if guessed:
            say(f"guessed {' and '.join(guessed)} from the columns {', '.join(table.column_names())}")
        return {"text": text, "label": label}

    # Which row is of which split.

    def split_rows(self, split: str) -> NDArray[np.int64]:
        """The rows (D,) of the split's table that are the split's, in the order in which it has them."""
        found = self._scan(split)
        if split != "train" and not self.carved(split):
            return np.arange(len(found.digests))
        drawn = [draw(digest, self.split_seed) for digest in found.digests]
        rows = np.flatnonzero(self._parts == SPLITS.index(split))
        return np.array(sorted(rows.tolist(), key=lambda row: (drawn[row], found.labels[row])), np.int64)

    @cached_property
    def _parts(self) -> NDArray[np.int64]:
        """The split (D,) of each row of the training table, by its place in SPLITS."""
        found, carved = self._scan("train"), [split for split in SPLITS if self.carved(split)]
        if not carved:
            return np.zeros(len(found.digests), np.int64)
        shares, labels = [self.shares[split] for split in carved], self.labels_of("train")
        try:
            parts = assign(labels, found.units, [1 - sum(shares), *shares], self.split_seed)
        except ValueError as error:
            where = self.table("train").where
            raise ValueError(f"{where} gives no {' and no '.join(carved)} split: {error}") from error
        return np.array([SPLITS.index(split) for split in ("train", *carved)])[parts]

    def row_labels(self, split: str) -> NDArray[Any]:
        return self.labels_of(split)[self.split_rows(split)]

    def units(self, split: str) -> list[str]:
        return _of(self._scan(split).units, self.split_rows(split))

    # What stands in them.

    def _key(self, split: str) -> dict[str, Any]:
        """What decides the split's rows and their texts."""
        key: dict[str, Any] = {
            "data": self._hash(self.table(split)),
            "errors": self.errors,
            "separator": self.separator,
            "pairs": self.pairs,
        }
        if split == "train" or self.carved(split):
            carved = {name: share for name, share in self.shares.items() if self.carved(name)}
            key |= {"carved": [split, carved, self.split_seed, self.group]}
        return key

    def _hash(self, table: Table) -> str:
        if table not in self._hashes:  # the files may be large: they are hashed once
            self._hashes[table] = table.key()
        return self._hashes[table]

    def _texts(self, split: str, rows: NDArray[np.int64]) -> Iterator[str]:
        """The texts of some rows of the split's table, in the table's order; of pairs two a row."""
        for texts in TextReader(self.table(split), self._columns["text"], self.errors).of_rows(rows.tolist()):
            yield from texts if self.pairs else ["\n\n".join(texts)]

    def train_texts(self, part: int = 0, parts: int = 1) -> Iterator[tuple[int, list[str]]]:
        rows = self.split_rows("train")[: self.train_rows]
        places = rows.argsort()[part::parts]
        texts = self._texts("train", rows[places])
        for place in places.tolist():
            yield place, [next(texts) for _ in range(1 + self.pairs)]

    # What is said of it.

    def describe(self) -> dict[str, dict[str, Any]]:
        """Also ``duplicate_rows`` and, with ``group``, ``group_rows``: those whose document, or group, is in an earlier
        split, too; of a fold, which keeps groups or else documents whole, only with ``group``."""
        report = super().describe()
        if self.fold is None or self.group is not None:
            scans = {split: self._scan(split) for split in SPLITS}
            found: dict[str, dict[str, Any]] = {
                "duplicate_rows": {split: scan.digests for split, scan in scans.items()},
                "group_rows": {split: scan.groups for split, scan in scans.items() if scan.groups is not None},
            }
            for name, columns in found.items():
                values = {split: _of(column, self.split_rows(split)) for split, column in columns.items()}
                if self.fold is not None:
                    pooled = [value for of_split in values.values() for value in of_split]
                    values = {split: _of(pooled, self.fold_rows(split)) for split in SPLITS}
                for split, count in repeated(values).items():
                    report[split][name] = count
        return report

    def write_splits(self, folder: Path) -> None:
        """splits.csv, if a split comes out of the training table."""
        splits = [split for split in SPLITS if split == "train" or self.carved(split)]
        if len(splits) > 1:
            write_splits(folder / "splits.csv", {split: self.split_rows(split).tolist() for split in splits})


def _of(column: Sequence[Any], rows: NDArray[np.int64]) -> list[Any]:
    return [column[row] for row in rows.tolist()]
