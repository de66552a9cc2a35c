"""What tasks share whose documents are labelled rows of a table: where they come from, classes, a validation split."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from longdoc.tasks.base import Task
from longdoc.tasks.cache import cached, resolve, save_documents
from longdoc.tasks.class_names import natural_order
from longdoc.tasks.labels import MISSING, found_words, label_name, outside
from longdoc.tasks.rows import Refused
from longdoc.tasks.tables import TYPES, FileTable, HubTable, Table, find_table, load_hub

SOURCES = ("hub", "local")
SHOWN = 1000  # rows between two words on how far the reading is


class Labelled(Task):
    """Rows of a value and a label. A subclass sets ``value``, ``vocab``, ``folder``, ``how`` and defines ``ids_of``.

    source: ``hub``, a set of the Hugging Face hub; ``local``, tables {train,validation,test} of any of ``TYPES`` in the
        folder ``data``; null is local where ``data`` is given, else hub.
    hub, config, revision: the set's id, its configuration and its commit; null for the default ones.
    data: the folder of source local; null is ``folder``.
    columns: what the tables call the value and ``label``; null for the names of the set.
    labels: the classes, in their order: a table's labels are their names, or where no name is a number their places;
        others are refused. Null takes what there is, and of a set in ``hub_labels`` those.
    validation_share, validation_seed: where there is no validation split, this share of the training split, of each
        class alike, is taken out of it; the test split never serves.

    Without ``labels`` classes are those of the training split: the names that come with it, else the different labels,
    in order, which are told with their rows. -1 stands for no label unless ``labels`` names it.
    """

    value: str  # the column's usual name
    hub_columns: ClassVar[dict[str, str]] = {}  # names on the hub, where they differ
    hub_labels: ClassVar[dict[str, list[str]]] = {}  # the class names of sets on the hub
    vocab: int
    folder: str  # where local tables are looked for by default
    how: str  # to get the local files: what they are, and where from
    version = 1  # of what ``ids_of`` makes of a value

    def __init__(
        self,
        hub: str,
        config: str | None = None,
        revision: str | None = None,
        source: str | None = None,
        data: str | None = None,
        columns: dict[str, str | None] | None = None,
        labels: list[str] | None = None,
        validation_share: float = 0.1,
        validation_seed: int = 0,
        **options: Any,
    ) -> None:
        source = source or ("hub" if data is None else "local")
        if source not in SOURCES:
            raise ValueError(f"task.source={source} is not one of {', '.join(SOURCES)}")
        if source == "hub" and data is not None:
            raise ValueError(f"task.source=hub reads task.hub={hub}, not task.data={data}; leave one of the two out")
        super().__init__(data=data if source == "hub" else data or self.folder, **options)
        if not 0 < validation_share < 1:
            raise ValueError(f"task.validation_share={validation_share} must lie between 0 and 1")
        if validation_seed < 0:
            raise ValueError(f"task.validation_seed={validation_seed} must not be negative")
        self.source = source
        self.hub, self.config, self.revision = hub, config, revision
        self.labels = None if labels is None else [label_name(label, missing=("",)) for label in labels]
        if self.labels is not None and len(set(self.labels)) < max(2, len(self.labels)):
            raise ValueError(f"task.labels={labels} must name two classes or more, each once")
        self.columns = {name: name for name in (self.value, "label")}
        for name in columns or {}:
            if name not in self.columns:
                raise ValueError(f"task.columns.{name} does not exist; its names are {', '.join(self.columns)}")
        self.columns |= self.hub_columns if source == "hub" else {}
        self.columns |= {name: column for name, column in (columns or {}).items() if column is not None}
        self.share, self.carving_seed = validation_share, validation_seed
        self._tables: dict[str, Table | None] = {}
        self._hub_tables: dict[str, HubTable] = {}
        self._keys: dict[str, dict[str, Any]] = {}

    # What a task defines.

    def ids_of(self, value: Any) -> NDArray[np.uint16]:
        """The token ids (N,) of a value of the table, never None; raises ValueError, saying why, for one that has none.

        The row is then refused: named, and counted.
        """
        raise NotImplementedError

    def find(self, split: str) -> Table | None:
        """The split's table among local files."""
        assert self.data is not None
        path = find_table(self.data, split)
        return None if path is None else FileTable(path)

    # What every such task does.

    @property
    def text_columns(self) -> list[str]:
        return [self.columns[self.value]]

    def _found(self, split: str) -> Table | None:
        if split not in self._tables:
            if self.source == "local":
                self._tables[split] = self.find(split)
            else:
                if not self._hub_tables:
                    with Console().status(f"loading {self.hub}"):
                        self._hub_tables = self._load()
                self._tables[split] = self._hub_tables.get(split)
        return self._tables[split]

    def _load(self) -> dict[str, HubTable]:
        try:
            return load_hub(self.hub, self.config, self.revision)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{error}; task.source=local reads {resolve(self.folder)}, or task.data in its place: {self.how}"
            ) from error

    def table(self, split: str) -> Table:
        """The table that holds the split's rows: without one of its own, validation's are in train's."""
        found = self._found("train" if self.carved(split) else split)
        if found is None and self.source == "hub":
            raise FileNotFoundError(f"task.hub={self.hub} has the splits {', '.join(self._hub_tables)}; no {split}")
        if found is None:
            assert self.data is not None
            raise FileNotFoundError(
                f"{self.data.resolve() / split}.{{{','.join(TYPES)}}} is missing: task.data must name {self.how}; "
                f"task.source=hub downloads {self.hub}"
            )
        return found

    def carved(self, split: str) -> bool:
        """Whether the split is a part of the training table."""
        return split != "test" and self._found("validation") is None

    def learn(self) -> dict[str, Any]:
        """Also ``numbered``: whether labels are the numbers of the classes instead of their names."""
        table, column = self.table("train"), self.columns["label"]
        names = table.class_names(column)
        known = self.hub_labels.get(self.hub) if self.source == "hub" else None
        expected = self.labels or known
        if names != expected and (names or known) and expected:
            raise ValueError(
                f"{table.where}: the labels of the column {column} are {', '.join(names or ['no names'])}, not "
                f"{', '.join(expected)}: task.labels must name those"
            )
        if given := names or expected:
            numbered = bool(names) or not any(name.lstrip("-").isdecimal() for name in given)
            return {"classes": given, "vocab_size": self.vocab, "numbered": numbered}
        rows: Counter[str] = Counter()
        refused = Refused(table.where)
        for (value,) in table.rows([column], refused):
            try:
                rows[label_name(value)] += 1
            except ValueError as error:
                refused.add(str(error))
        classes = natural_order(rows)
        print(f"{table.where}: {found_words(rows)}")
        return {"classes": classes, "vocab_size": self.vocab, "numbered": False}

    def class_numbers(self, split: str) -> NDArray[np.int64]:
        """The classes (D,) of all rows of the split's table; raises ValueError for those that training has not."""
        assert self.state is not None
        classes, table = self.state["classes"], self.table(split)
        numbers = {name: i for i, name in enumerate(classes)}
        missing = [name for name in MISSING if name not in classes]
        whose = "task.labels" if classes == self.labels else "the training split's"
        # A table's numbers stand for its own names, whose order may be another than the training split's.
        names = table.class_names(self.columns["label"]) or (classes if self.state["numbered"] else [])
        named, labels = {str(i): name for i, name in enumerate(names)}, []
        refused = Refused(table.where)
        for (value,) in table.rows([self.columns["label"]], refused):
            try:
                name = label_name(value, missing)
                name = named.get(name, name)
                if name not in numbers:
                    raise ValueError(outside(name, classes, whose))
                labels.append(numbers[name])
            except ValueError as error:
                refused.add(str(error))
        return np.array(labels, np.int64)

    def chosen(self, split: str, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows (D,) of the split's table, of the classes ``labels`` (D,), are the split's."""
        if not self.carved(split):
            return np.ones(len(labels), bool)
        return carve(labels, self.share, self.carving_seed) == (split == "validation")

    def encode(self, split: str) -> Path:
        assert self.state is not None
        if split not in self._keys:  # the files may be large: they are hashed once
            key = {"task": self.name, "version": self.version, "data": self.table(split).key()}
            key |= {"columns": self.columns, "state": self.state}
            if self.carved(split):
                key |= {"carved": [split, self.share, self.carving_seed]}
            self._keys[split] = key
        return cached(self.cache, self._keys[split], lambda folder: self._encode(split, folder)) / "documents"

    def _encode(self, split: str, folder: Path) -> None:
        with Console().status(f"encoding the {split} split") as status:
            labels = self.class_numbers(split)
            chosen = self.chosen(split, labels)
            if not chosen.any():
                raise ValueError(
                    f"task.validation_share={self.share} leaves {split} no row of the {len(labels):,} of "
                    f"{self.table(split).where}: there must be more, or a validation table"
                )

            def ids() -> Iterator[NDArray[np.uint16]]:
                for row, found in enumerate(self._ids(self.table(split))):
                    if row % SHOWN == 0:
                        status.update(f"encoding the {split} split: {row:,} rows")
                    if chosen[row]:
                        yield found

            save_documents(folder / "documents", ids(), labels[chosen], self.vocab)

    def _ids(self, table: Table) -> Iterator[NDArray[np.uint16]]:
        refused, column = Refused(table.where), self.columns[self.value]
        nothing = np.empty(0, np.uint16)
        for (value,) in table.rows([column], refused):
            ids = nothing
            if value is None:
                refused.add(f"{column} is missing")
            else:
                try:
                    ids = self.ids_of(value)
                except ValueError as error:
                    refused.add(str(error))
            yield ids  # also of a refused row, so that rows keep their places


def carve(labels: NDArray[np.int64], share: float, seed: int) -> NDArray[np.bool_]:
    """Labels (D,) -> (D,), True for a share of each class, rounded, chosen by the seed alone."""
    drawn = np.random.PCG64(seed).random_raw(len(labels))  # a stream that numpy promises not to change
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        chosen[rows[np.argsort(drawn[rows], kind="stable")][: round(share * len(rows))]] = True
    return chosen
