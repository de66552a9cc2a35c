"""Whole books: who wrote this one?"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.cache import cached, file_sha256, save_documents
from longdoc.tasks.class_names import check_classes, class_numbers, natural_order, plain
from longdoc.tasks.labels import found_words, label_name
from longdoc.tasks.rows import Refused
from longdoc.tasks.say import say
from longdoc.tasks.tables import FileTable
from longdoc.tasks.tokenizers import learn_tokenizer, progress

BATCH = 16  # whole books held in memory at a time


class Books(Task):
    """Documents of whole books in {train,validation,test}.parquet with columns ``text`` and ``label``.

    The classes are the training split's labels. The tokenizer, byte-level BPE of ``vocab_size`` entries, is trained on
    its texts, of a fold on the fold's, and travels in the checkpoint. Training reads a random window of each book an
    epoch; evaluation averages the log-probabilities of fixed windows over the whole book.
    """

    name = "books"

    def __init__(self, data: str, vocab_size: int = 8192, **options: Any) -> None:
        super().__init__(data=data, **options)
        self.tokenizer_size = vocab_size

    def _file(self, split: str) -> Path:
        assert self.data is not None
        path = self.data / f"{split}.parquet"
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: task.data must name a folder with {', '.join(SPLITS)} as .parquet files, "
                f"each with the columns text and label"
            )
        schema = pq.read_schema(path)
        if not {"text", "label"} <= set(schema.names):
            raise ValueError(f"{path} has the columns {', '.join(schema.names)}; it needs text and label")
        kind = schema.field("text").type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise ValueError(f"{path}: the column text holds {kind}; it must hold strings")
        if not pq.read_metadata(path).num_rows:
            raise ValueError(f"{path} has no rows")
        return path

    def _texts(self, split: str) -> Iterator[str]:
        for batch in pq.ParquetFile(self._file(split)).iter_batches(BATCH, columns=["text"]):
            yield from (text or "" for text in batch.column(0).to_pylist())

    def learn(self) -> dict[str, Any]:
        return {"classes": self._known_classes} | self.learn_tokenizer()

    def learn_tokenizer(self) -> dict[str, Any]:
        """``vocab_size`` and ``tokenizer``, its JSON."""
        key: Any = file_sha256(self._file("train"))
        if self.fold is not None:
            key = {split: file_sha256(self._file(split)) for split in SPLITS} | {"fold": [self.folds, self.fold]}
        tokenizer = learn_tokenizer("bpe", self.tokenizer_size, self._train_texts, self.cache, key)
        return {"vocab_size": tokenizer.vocab_size, "tokenizer": tokenizer.state["json"]}

    def _train_texts(self) -> Iterator[str]:
        for split, places in self.train_places().items():
            chosen = None if isinstance(places, slice) else set(places.tolist())
            yield from (text for row, text in enumerate(self._texts(split)) if chosen is None or row in chosen)

    @cached_property
    def _known_classes(self) -> list[str]:
        """A checkpoint's, else those of the training split."""
        if self.state is not None:
            return self.state["classes"]
        names, path = self._labels("train"), self._file("train")
        classes = natural_order(rows := Counter(names))
        check_classes(classes, len(names), path, "label")
        say(f"{path}: {found_words(rows)}")
        return classes

    def encode(self, split: str) -> Path:
        assert self.state is not None
        path = self._file(split)
        key = {"task": self.name, "version": 1, "data": file_sha256(path), "state": self.state}
        return cached(self.cache, key, lambda folder: self._encode(split, folder)) / "documents"

    def ids(self, split: str) -> Iterator[NDArray[Any]]:
        """The token ids (N,) of each book."""
        return progress(self.tokenizer.stream(self._texts(split)), split)

    def _encode(self, split: str, folder: Path) -> None:
        save_documents(folder / "documents", self.ids(split), self.row_labels(split), self.vocab_size)

    def _labels(self, split: str) -> list[str]:
        """The name of each book's label."""
        path, names = self._file(split), []
        refused = Refused(path)
        for (value,) in FileTable(path).rows(["label"], refused):
            try:
                names.append(label_name(plain(value), missing=("",)))
            except ValueError as error:
                refused.add(str(error))
        return names

    def row_labels(self, split: str) -> NDArray[np.int64]:
        names = ([name] for name in self._labels(split))
        return class_numbers(names, self._known_classes, self._file(split), "the training split's")

    def units(self, split: str) -> list[str]:
        return [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for text in self._texts(split)]
