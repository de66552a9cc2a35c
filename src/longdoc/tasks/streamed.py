"""Tasks whose training split may be a stream."""

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray
from torch import distributed
from torch.utils.data import DataLoader

from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.buckets import EvalSampler, TrainSampler
from longdoc.tasks.streaming import TrainStream


class Streamed(Task):
    """A subclass defines ``train_texts``, ``row_labels`` and ``_key``.

    streaming: training documents are read and encoded as they are needed, see ``TrainStream``; validation and test
        are encoded ahead as ever. How often each token is seen, and how much is cut, is then not counted.
    shuffle_buffer: documents that are shuffled together.
    tokenizer_documents: of a stream, the first so many train a tokenizer.
    """

    def __init__(
        self, streaming: bool = False, shuffle_buffer: int = 1000, tokenizer_documents: int = 10_000, **options: Any
    ) -> None:
        super().__init__(**options)
        for name, value in {"shuffle_buffer": shuffle_buffer, "tokenizer_documents": tokenizer_documents}.items():
            if value < 1:
                raise ValueError(f"task.{name}={value} must be at least 1")
        if streaming and self.truncation == "none":
            raise ValueError(
                "task.truncation=none: task.streaming=true fixes the lengths of batches before it knows those of the "
                "documents; head, head+tail or windows"
            )
        if streaming and self.folds is not None:
            raise ValueError(
                f"task.folds={self.folds}: task.streaming=true never has all documents at hand, which folds deal out; "
                f"one of the two"
            )
        self.streaming, self.shuffle_buffer, self.tokenizer_documents = streaming, shuffle_buffer, tokenizer_documents
        if streaming:
            self.ahead = SPLITS[1:]

    def train_texts(self, part: int = 0, parts: int = 1) -> Iterator[tuple[int, list[str]]]:
        """Of the training rows part, part + parts, ... in the order of reading: the place of its label, the texts."""
        raise NotImplementedError

    def _key(self, split: str) -> dict[str, Any]:
        """Plain values that change with a split's rows and texts."""
        raise NotImplementedError

    def train_labels(self) -> NDArray[Any]:
        return self.row_labels("train")[: self.train_rows] if self.streaming else super().train_labels()

    def content(self, split: str) -> str:
        if not self.streaming or split != "train":
            return super().content(split)
        return hashlib.sha256(json.dumps(self._key(split), sort_keys=True).encode()).hexdigest()[:16]

    def counts(self, split: str) -> dict[str, Any]:
        if not self.streaming or split != "train":
            return super().counts(split)
        unknown = dict.fromkeys(("tokens", "empty_rows", "truncated_rows", "truncated_tokens"))
        return {"rows": len(self.train_labels())} | unknown

    def _read(self, part: int, parts: int) -> Iterator[tuple[int, tuple[NDArray[Any], ...]]]:
        if self.truncation == "head":
            for number, of_row in self.train_texts(part, parts):
                yield number, tuple(self.tokenizer.head(text, self.max_length) for text in of_row)
            return
        numbers: list[int] = []

        def texts() -> Iterator[str]:
            for number, of_row in self.train_texts(part, parts):
                numbers.append(number)
                yield from of_row

        ids = self.tokenizer.stream(texts())
        for document in ids:
            more = [next(ids) for _ in range(self.pairs)]
            yield numbers.pop(0), (document, *more)

    def train_sampler(self, start: int = 0) -> TrainSampler | TrainStream:
        if not self.streaming:
            return super().train_sampler(start)
        together = distributed.is_available() and distributed.is_initialized()
        return TrainStream(
            self._read,
            self.row_labels("train"),
            self.max_length,
            self.batch_size,
            self.bucket_count,
            self.seed,
            self.shuffle_buffer,
            sides=1 + self.pairs,
            start=start,
            random=self.truncation == "windows",
            ends=self.truncation == "head+tail",
            rank=distributed.get_rank() if together else 0,
            ranks=distributed.get_world_size() if together else 1,
        )

    def loader(self, split: str, sampler: TrainSampler | TrainStream | EvalSampler) -> DataLoader:
        if not isinstance(sampler, TrainStream):
            return super().loader(split, sampler)
        return DataLoader(
            sampler,
            batch_size=None,
            num_workers=self.workers,
            persistent_workers=self.workers > 0,
            worker_init_fn=one_thread,
        )


def one_thread(worker: int) -> None:
    """Processes that share the documents encode in no threads, which those forked from one with threads could not."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
