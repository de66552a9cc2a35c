"""A collection of your own: texts with labels, from wherever they lie."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from longdoc.tasks.base import SPLITS
from longdoc.tasks.cache import cached, save_documents, save_pairs
from longdoc.tasks.class_names import Numbers, natural_order
from longdoc.tasks.collection import HUB, LabelFolder, find_collection
from longdoc.tasks.columns import LABEL, TEXT, TextReader, check_columns, guess
from longdoc.tasks.labels import class_weights, found_words, outside, sense
from longdoc.tasks.scan import Scan, scan
from longdoc.tasks.splits import assign, draw
from longdoc.tasks.spool import Spool
from longdoc.tasks.streamed import Streamed
from longdoc.tasks.tables import Refused, Table
from longdoc.tasks.tokenizers import learn_tokenizer, progress


class OwnDocuments(Streamed):
    """Texts and their labels, of any collection that ``collection.find_collection`` finds.

    path: the collection. test: another whose test split, or only table, is the test split.
    config, revision: of a set of the hub: its configuration and its commit.
    text: the column of the texts, or several, joined by a blank line; null guesses. label: likewise, never several.
    pairs: the two columns of ``text`` are a pair of documents; null: if there is an ``interaction``.
    separator: between the labels of a cell, where a document has several; in JSON and parquet a list needs none.
    labels: the class names in their order; null takes those of the training table, in natural order.
    class_weights: ``balanced``, or the weight of each class by its name, in the training loss; null for none.
    group: a column of what must not be in two splits.
    validation_share, test_share: of the training table, for the splits that have no table of their own.
    split_seed: with the documents, in whatever order, it decides which become which split.
    tokenizer: ``bytes``; ``bpe``, trained on the training split, of ``vocab_size`` entries; or a file or name of the
        hub, see ``tokenizers.find_tokenizer``.
    errors: ``strict``, or ``replace`` for texts with bytes that are no UTF-8.

    The training table's rows come in an order drawn by ``split_seed``, so that every kind of file gives the same run.
    """

    name = "documents"

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
        class_weights: str | dict[str, float] | None = None,
        group: str | None = None,
        validation_share: float = 0.1,
        test_share: float = 0.1,
        split_seed: int = 0,
        errors: str = "strict",
        tokenizer: str = "bpe",
        vocab_size: int = 8192,
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
        self.weights = class_weights
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
        self.tokenizer_name, self.tokenizer_size = tokenizer, vocab_size
        self._scans: dict[str, Scan] = {}
        self._hashes: dict[Table, str] = {}

    # Where the rows are.

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables by split; a split without one is carved out of train's."""
        tables = find_collection(self.path, self.config, self.revision, self.streaming)
        if self.test_path is not None:
            other = tables if self.test_path == self.path else find_collection(self.test_path)
            if list(other) == ["train"]:  # a table that is to be the test split is nothing else
                tables = {split: table for split, table in tables.items() if table is not other["train"]}
                tables["test"] = other["train"]
            elif "test" in other:
                tables["test"] = other["test"]
            else:
                raise ValueError(f"task.test={self.test_path} has no test split, only {', '.join(other)}")
        return tables

    def carved(self, split: str) -> bool:
        """Whether the split is a part of the training table."""
        return split not in self.tables

    def table(self, split: str) -> Table:
        """The table that holds the split's rows, perhaps among others."""
        table = self.tables.get(split) or self.tables.get("train")
        if table is None:
            raise FileNotFoundError(f"task.path={self.path} has only the splits {', '.join(self.tables)}; no {split}")
        return table

    @property
    def text_columns(self) -> list[str]:
        return self._columns["text"]

    def _scan(self, split: str) -> Scan:
        """All rows of the table that the split is in."""
        source = "train" if self.carved(split) else split
        if source not in self._scans:
            columns, table = self._columns, self.table(source)
            group = self.group if source == "train" or self.group in table.column_names() else None
            wanted = {"task.text": columns["text"], "task.label": [columns["label"]], "task.group": [group]}
            check_columns(table, wanted)
            reader = TextReader(table, columns["text"], self.errors)
            with Console().status(f"reading {table.where}"):
                found = scan(self.cache, reader, columns["label"], group, self.separator, self.labels or ())
            if found.replaced:
                count = f"{found.replaced:,} texts of {table.where}"
                say(f"{count} had bytes that are no UTF-8, in whose place U+FFFD stands")
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

    # What is learnt from the training table.

    def learn(self) -> dict[str, Any]:
        """Also ``columns``, ``multi_label``, ``tokenizer``, and ``numbered``: labels are the numbers of the classes."""
        known, key = self._known, self._key("train")
        if self.streaming and self.tokenizer_name == "bpe":
            say(f"the tokenizer is trained on the first {self.tokenizer_documents:,} documents of the stream")
            key |= {"first": self.tokenizer_documents}
        tokenizer = learn_tokenizer(self.tokenizer_name, self.tokenizer_size, self._train_texts, self.cache, key)
        return known | {"vocab_size": tokenizer.vocab_size, "tokenizer": tokenizer.state}

    def _train_texts(self) -> Iterator[str]:
        rows = np.sort(self.split_rows("train"))
        return self._texts("train", rows[: self.tokenizer_documents] if self.streaming else rows)

    @cached_property
    def _known(self) -> dict[str, Any]:
        """What a checkpoint holds, else the classes of the training table and the columns."""
        if self.state is not None:
            return self.state
        found, where, column = self._scan("train"), self.table("train").where, self._columns["label"]
        names = None if self.labels else self.table("train").class_names(column)
        rows = Counter(name for labels in found.labels for name in labels)
        classes = self.labels or names or natural_order(rows)
        if len(classes) < 2:
            raise ValueError(f"{where}: {column} holds one class only, {', '.join(classes)}; it takes two")
        documents = len(found.digests)
        if documents < len(classes) or (documents == len(classes) and len(self.tables) < len(SPLITS)):
            raise ValueError(
                f"{where} has {documents:,} documents of {len(classes):,} classes, by {column}: "
                f"there must be several of each; if that is another column, see task.label"
            )
        if not self.labels and not names:
            say(f"{where}: {found_words(rows)}")
        return {
            "classes": classes,
            "columns": self._columns,
            "multi_label": found.lists,
            "numbered": names is not None,
        }

    def labels_of(self, split: str) -> NDArray[Any]:
        """The classes (D,) of all rows of the split's table, or (D, C) bool where they may have several.

        Raises ValueError for those that the training table has not.
        """
        table, classes, found = self.table(split), self._known["classes"], self._scan(split)
        multi_label, numbers = self._known["multi_label"], Numbers(classes)
        whose = "task.labels" if classes == self.labels else "the training table's"
        # A table's numbers stand for its own names, else for training's, unless these are numbers themselves.
        plain = self._known["numbered"] and not any(isinstance(sense(name), float) for name in classes)
        names = table.class_names(self._columns["label"]) or (classes if plain else [])
        named = {str(number): name for number, name in enumerate(names)}
        several = np.zeros((len(found.labels), len(classes)), bool)
        refused = Refused(table.where)
        for row, labels in enumerate(found.labels):
            refused.rows += 1
            places = {name: numbers.get(named.get(name, name)) for name in labels}
            unknown = next((name for name, place in places.items() if place is None), None)
            if not multi_label and len(labels) != 1:
                refused.add(f"it has {len(labels)} labels; those of the training table have one each")
            elif unknown is not None:
                refused.add(outside(unknown, classes, whose))
            else:
                several[row, [place for place in places.values() if place is not None]] = True
        refused.check()
        return several if multi_label else several.argmax(1)

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
        shares = [self.shares[split] for split in carved]
        labels, units = self.labels_of("train"), found.digests if found.groups is None else found.groups
        try:
            parts = assign(labels, units, [1 - sum(shares), *shares], self.split_seed)
        except ValueError as error:
            where = self.table("train").where
            raise ValueError(f"{where} gives no {' and no '.join(carved)} split: {error}") from error
        return np.array([SPLITS.index(split) for split in ("train", *carved)])[parts]

    # What is made of it.

    def prepare(self) -> None:
        super().prepare()
        assert self.state is not None
        self.multi_label = self.state["multi_label"]

    def prepare_data(self) -> None:
        super().prepare_data()
        self.class_weights = class_weights(self.weights, self.classes, self.train_labels())

    def _key(self, split: str) -> dict[str, Any]:
        """What decides the split's rows and their texts."""
        table = self.table(split)
        if table not in self._hashes:  # the files may be large: they are hashed once
            self._hashes[table] = table.key()
        key: dict[str, Any] = {
            "data": self._hashes[table],
            "errors": self.errors,
            "separator": self.separator,
            "pairs": self.pairs,
        }
        if split == "train" or self.carved(split):
            carved = {name: share for name, share in self.shares.items() if self.carved(name)}
            key |= {"carved": [split, carved, self.split_seed, self.group]}
        return key | self._known

    def encode(self, split: str) -> Path:
        assert self.state is not None
        key = {"task": self.name, "version": 1, "state": self.state} | self._key(split)
        return cached(self.cache, key, lambda folder: self._encode(split, folder)) / "documents"

    def _encode(self, split: str, folder: Path) -> None:
        rows, sides = self.split_rows(split), 1 + self.pairs
        labels, size = self.labels_of(split)[rows], self.tokenizer.vocab_size
        spool = Spool(folder, np.min_scalar_type(size - 1))  # read in the table's order, written in the split's
        for ids in progress(self.tokenizer.stream(self._texts(split, rows)), split):
            spool.append(ids)
        first = sides * rows.argsort().argsort()
        classes = len(self.classes) if self.multi_label else None
        if self.pairs:
            pairs = ((spool[i], spool[i + 1], label) for i, label in zip(first, labels, strict=True))
            save_pairs(folder / "documents", pairs, size, classes)
        else:
            save_documents(folder / "documents", (spool[i] for i in first), labels, size, classes)

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

    def all_train_labels(self) -> NDArray[Any]:
        return self.labels_of("train")[self.split_rows("train")]

    # What is said of it.

    def describe(self) -> dict[str, dict[str, Any]]:
        """Also ``duplicate_rows`` and, with ``group``, ``group_rows``: those whose document, or group, is in an earlier
        split, too; in folds there are none."""
        report = super().describe()
        if self.fold is not None:
            return report
        seen: dict[str, set[str]] = {"duplicate_rows": set(), "group_rows": set()}
        for split in SPLITS:
            found, rows = self._scan(split), self.split_rows(split).tolist()
            for name, column in {"duplicate_rows": found.digests, "group_rows": found.groups}.items():
                if column is not None:
                    values = [column[row] for row in rows]
                    report[split][name] = sum(value in seen[name] for value in values)
                    seen[name].update(values)
        return report

    def write_splits(self, folder: Path) -> None:
        """splits.csv: of the training table each row, from 1 on, its split and its place in that."""
        splits = [split for split in SPLITS if split == "train" or self.carved(split)]
        if splits == ["train"]:
            return
        places = {row: (split, i) for split in splits for i, row in enumerate(self.split_rows(split).tolist())}
        with (folder / "splits.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [("row", "split", "index"), *((row + 1, *places[row]) for row in sorted(places))]
            )


def say(text: str) -> None:
    """A line of what was found in the data."""
    Console(highlight=False, markup=False, soft_wrap=True).print(f"  {text}")
