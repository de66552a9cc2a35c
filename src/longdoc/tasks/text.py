"""Texts with a label, as bytes: is a film review for or against? (LRA's text.)"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from longdoc.tasks.byte_ids import VOCABULARY, to_ids
from longdoc.tasks.cache import cached
from longdoc.tasks.labelled import Labelled
from longdoc.tasks.rows import Refused, to_bytes
from longdoc.tasks.tables import Table
from longdoc.tasks.tf_idf import accuracy
from longdoc.tasks.tokenizers import Bytes, Tokenizer

REVIEWS = {"neg": 0, "pos": 1}


class Text(Labelled):
    """Texts as bytes (UTF-8; a column of bytes as it is), id = byte + 1, of a table's columns ``text`` and ``label``.

    The hub's set, IMDb (Maas et al. 2011), has 25,000 reviews to train on and 25,000 to test on, which is LRA's task
    (arXiv:2011.04006). ``data`` may also be the folder ``aclImdb`` of its release, {train,test}/{neg,pos}/*.txt.
    """

    name = "text"
    value = "text"
    vocab = VOCABULARY
    folder = "data/aclImdb"
    hub_labels: ClassVar = {"stanfordnlp/imdb": list(REVIEWS)}
    how = (
        "a folder with tables {train,test}.{parquet,csv,tsv,jsonl,json} of the columns text and label, or the folder "
        "aclImdb of https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
    )

    @property
    def tokenizer(self) -> Tokenizer:
        return Bytes()

    def ids_of(self, value: Any) -> NDArray[np.uint16]:
        text = to_bytes(value) if isinstance(value, str | bytes | int) else None  # a number in JSON is meant as text
        if text is None:
            raise ValueError(f"{self.columns['text']} holds a {type(value).__name__}, not a string or bytes")
        return to_ids(text)

    def find(self, split: str) -> Table | None:
        assert self.data is not None
        folder = self.data / split
        reviews = all((folder / name).is_dir() for name in REVIEWS)
        return super().find(split) or (Reviews(folder, self.columns) if reviews else None)

    def references(self) -> dict[str, float]:
        """TF-IDF and logistic regression, on what a model sees of each text and on the whole ones."""
        found = super().references()
        key = {"reference": "tf-idf", "version": 1, "train_rows": self.train_rows, "max_length": self.span_length}
        key |= {split: self.place(split).parent.name for split in ("train", "test")}
        place = cached(self.cache, key, self._score)
        return found | json.loads((place / "references.json").read_text())

    def _score(self, folder: Path) -> None:
        train, test = self.documents("train"), self.documents("test")
        with Console().status("fitting TF-IDF and logistic regression, as a reference"):
            found = {"tf_idf": accuracy(train, test, self.train_rows, self.span_length)}
            longest = max(train.lengths.max(), test.lengths.max())
            whole = longest > self.span_length
            found["tf_idf_whole"] = accuracy(train, test, self.train_rows, None) if whole else found["tf_idf"]
        (folder / "references.json").write_text(json.dumps({k: v for k, v in found.items() if v is not None}))


class Reviews(Table):
    """A folder {neg,pos}/*.txt, of IMDb's release: one text a file."""

    def __init__(self, folder: Path, columns: dict[str, str]) -> None:
        self.where, self.columns = folder, columns
        self.files = [
            (path, label) for name, label in REVIEWS.items() for path in sorted((folder / name).glob("*.txt"))
        ]

    def key(self) -> str:
        digest = hashlib.sha256()
        for path, label in self.files:
            digest.update(f"{label} {path.name} ".encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def class_names(self, column: str) -> list[str] | None:
        return list(REVIEWS)

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        for path, label in self.files:
            refused.rows += 1
            values = {self.columns["text"]: path, self.columns["label"]: label}
            yield tuple(v.read_bytes() if isinstance(v := values[name], Path) else v for name in columns)
        refused.check()
