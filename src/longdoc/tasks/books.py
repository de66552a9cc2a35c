"""Whole books: who wrote this one?"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.cache import cached, file_sha256, save_documents
from longdoc.tasks.tokenizers import learn_tokenizer, progress

BATCH = 16  # whole books held in memory at a time


class Books(Task):
    """Documents of whole books in {train,validation,test}.parquet with columns ``text`` and ``label``.

    The tokenizer, byte-level BPE of ``vocab_size`` entries, is trained on the training split and travels in the
    checkpoint. Training reads a random window of each book an epoch; evaluation averages the log-probabilities
    of fixed windows over the whole book.
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
        path = self._file("train")
        labels = pq.read_table(path, columns=["label"])["label"].to_pylist()
        if None in labels:
            raise ValueError(f"{path}, row {labels.index(None)}: the label is missing")
        classes = sorted({str(label) for label in labels})
        texts = partial(self._texts, "train")
        tokenizer = learn_tokenizer("bpe", self.tokenizer_size, texts, self.cache, file_sha256(path))
        return {"classes": classes, "vocab_size": tokenizer.vocab_size, "tokenizer": tokenizer.state["json"]}

    def encode(self, split: str) -> Path:
        assert self.state is not None
        path = self._file(split)
        key = {"task": self.name, "version": 1, "data": file_sha256(path), "state": self.state}
        return cached(self.cache, key, lambda folder: self._encode(split, folder)) / "documents"

    def ids(self, split: str) -> Iterator[NDArray[Any]]:
        """The token ids (N,) of each book."""
        return progress(self.tokenizer.stream(self._texts(split)), split)

    def _encode(self, split: str, folder: Path) -> None:
        save_documents(folder / "documents", self.ids(split), self.labels(split), self.vocab_size)

    def labels(self, split: str) -> list[int]:
        """Each author's number."""
        assert self.state is not None
        number = {name: i for i, name in enumerate(self.state["classes"])}
        labels = []
        for row, label in enumerate(pq.read_table(self._file(split), columns=["label"])["label"].to_pylist()):
            if str(label) not in number:
                raise ValueError(
                    f"{self._file(split)}, row {row}: label {label!r} is not among the training split's: "
                    f"{', '.join(number)}"
                )
            labels.append(number[str(label)])
        return labels
