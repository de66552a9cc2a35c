"""Pairs of documents: does one cite the other? (LRA's retrieval.)"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.byte_ids import VOCABULARY, to_ids
from longdoc.tasks.cache import cached, file_sha256, save_pairs
from longdoc.tasks.cosine import cosines, threshold
from longdoc.tasks.pairs import Pair, id_pairs, released_pairs, text_pairs
from longdoc.tasks.tables import TYPES, find_table
from longdoc.tasks.tokenizers import Bytes, Tokenizer

RELEASED = {"train": "train", "validation": "eval", "test": "test"}  # what the released files call the splits
PREFIX = "new_aan_pairs."
SHOWN = 1000  # pairs between two words on how far the reading is


class Retrieval(Task):
    """Pairs of documents as bytes (UTF-8), id = byte + 1; label 1 if one cites the other, else 0.

    data: a folder with one of these, for every split:

    * Long Range Arena's ``new_aan_pairs.{train,eval,test}.tsv`` (arXiv:2011.04006), as they lie in ``tsv_data`` of its
      release: no header, no quotes, lines of label, two ids and two texts between tabs. Texts are taken as they stand.
      (LRA's own reader cuts them at 10,000 bytes, and then at max_length, so that up to 10,000 nothing differs.)
    * ``documents.{parquet,csv,tsv,jsonl,json}`` of ids and texts, and tables ``{train,validation,test}`` of two ids and
      a label.
    * tables ``{train,validation,test}`` of two texts and a label.

    columns: the tables' columns where they are not called ``id`` and ``text`` (of documents), ``id1`` and ``id2``, or
        ``text1`` and ``text2``, and ``label`` (of pairs). Texts are strings, or bytes that stay as they are.

    Each document of a pair is cut by itself.
    """

    name = "retrieval"
    pairs = True

    def __init__(self, data: str, source: str = "local", columns: dict[str, str] | None = None, **options: Any) -> None:
        super().__init__(data=data, **options)
        if source != "local":
            raise ValueError(
                f"task.source={source}: no public copy of these pairs is known; task.source=local reads the released "
                f"files, or tables of your own"
            )
        self.columns = {name: name for name in ("id", "text", "id1", "id2", "text1", "text2", "label")}
        for name in columns or {}:
            if name not in self.columns:
                raise ValueError(f"task.columns.{name} does not exist; its names are {', '.join(self.columns)}")
        self.columns |= columns or {}
        self._keys: dict[str, dict[str, Any]] = {}

    @property
    def tokenizer(self) -> Tokenizer:
        return Bytes()

    @property
    def text_columns(self) -> list[str]:
        return [self.columns["text1"], self.columns["text2"]]

    def learn(self) -> dict[str, Any]:
        return {"classes": ["0", "1"], "vocab_size": VOCABULARY}

    def _table(self, name: str) -> Path | None:
        assert self.data is not None
        return find_table(self.data, name)

    def _files(self, split: str) -> list[Path]:
        """The split's file, and where it names documents by ids theirs."""
        assert self.data is not None
        released = {name: self.data / f"{PREFIX}{RELEASED[name]}.tsv" for name in SPLITS}
        if released[split].is_file():
            return [released[split]]
        found, documents = self._table(split), self._table("documents")
        if found is None:
            raise FileNotFoundError(
                f"{released[split]} is missing, and so is {split}.{{{','.join(TYPES)}}} beside it: task.data must name "
                f"a folder with either for every split; the released files are in lra_release/tsv_data of "
                f"https://storage.googleapis.com/long-range-arena/lra_release.gz"
            )
        if other := next((path for path in released.values() if path.is_file()), None):
            raise ValueError(
                f"{found} lies beside {other}, of another layout: either {released[split].name} is missing, or the "
                f"files {PREFIX}* belong elsewhere"
            )
        return [found] if documents is None else [found, documents]

    def _pairs(self, files: list[Path]) -> Iterator[Pair]:
        names = self.columns
        if files[0].name.startswith(PREFIX):
            return released_pairs(files[0])
        if len(files) == 2:
            pairs, documents = files
            return id_pairs(
                pairs, documents, (names["id1"], names["id2"], names["label"]), (names["id"], names["text"])
            )
        return text_pairs(files[0], (names["text1"], names["text2"], names["label"]))

    def encode(self, split: str) -> Path:
        if split not in self._keys:  # the files are large: they are hashed once
            hashes = [file_sha256(path) for path in self._files(split)]
            self._keys[split] = {"task": self.name, "version": 1, "data": hashes, "columns": self.columns}
        return cached(self.cache, self._keys[split], lambda folder: self._encode(split, folder)) / "pairs"

    def _encode(self, split: str, folder: Path) -> None:
        with Console().status(f"encoding the {split} split") as status:

            def rows() -> Iterator[tuple[NDArray[np.uint16], NDArray[np.uint16], int]]:
                for number, (a, b, label) in enumerate(self._pairs(self._files(split))):
                    if number % SHOWN == 0:
                        status.update(f"encoding the {split} split: {number:,} pairs")
                    yield to_ids(a), to_ids(b), label

            save_pairs(folder / "pairs", rows(), VOCABULARY)

    def references(self) -> dict[str, float]:
        """TF-IDF: pairs are called 1 above the cosine that is right most often on the training split."""
        splits = ("train", "test")
        key = {"reference": "tf-idf cosine", "version": 1, "train_rows": self.train_rows, "length": self.span_length}
        key |= {split: self.encode(split).parent.name for split in splits}
        place = cached(self.cache, key, self._score_cosines)
        return super().references() | json.loads((place / "references.json").read_text())

    def _score_cosines(self, folder: Path) -> None:
        with Console().status("scoring TF-IDF cosines, as a reference"):
            train, test = self.documents("train"), self.documents("test")
            found = {}
            if scores := cosines(train, test, self.train_rows, self.span_length):
                of_train, of_test = scores
                least = threshold(of_train, train.labels[: self.train_rows])
                found["tf_idf_cosine"] = float(((of_test > least) == (test.labels == 1)).mean())
        (folder / "references.json").write_text(json.dumps(found))
