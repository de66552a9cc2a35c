"""What all tasks share: encode -> cache -> buckets -> batches."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from longdoc.tasks.buckets import ENDLESS, BatchSize, Bucket, Collate, EvalSampler, Span, TrainSampler, spread_windows
from longdoc.tasks.cache import PROJECT, Documents, resolve
from longdoc.tasks.folds import Pool, save_rows
from longdoc.tasks.streaming import TrainStream
from longdoc.tasks.tokenizers import Tokenizer, from_state

SPLITS = ("train", "validation", "test")
TRUNCATIONS = ("head", "head+tail", "windows", "none")


def _differ(labels: NDArray[Any]) -> bool:
    return bool((labels != labels[:1]).any())


class _Spans(Dataset):
    """Hands a sampler's spans to the collate function, which reads the documents."""

    def __getitem__(self, span: Span) -> Span:
        return span


class Task(pl.LightningDataModule):
    """A task is data, an encoding to integer ids and a way to cut documents into what a model sees.

    A subclass sets ``name`` and defines ``learn`` and ``encode``. Id 0 is padding. ``source`` says where
    its documents come from: files (local), a generator (generated) or a hub. ``token_labels`` says that each token has
    a label, or none, instead of each document; such a task needs ``pooling=none``. ``causal_only`` says that a token's
    label can be read off later tokens. ``pairs`` says that a row is two documents, each cut to ``max_length`` tokens,
    and has one label. ``multi_label`` says that a row has any number of the classes instead of
    one. ``class_weights`` (C,), if any, say what a label of each class counts in the training loss alone; of
    ``multi_label``, what a row that has the class counts against one that has not.

    max_length: tokens of a document that a model sees at once.
    truncation: what is read of a longer one: its ``head``; ``head+tail``, its first and its last ``max_length / 2``
        tokens, one behind the other; ``windows``, random ones in training and fixed ones in evaluation; or, with
        ``none``, the whole document at once.
    batch_tokens: padded tokens a batch, the budget that decides the rows of each bucket; a longer document, as with
        ``none``, is a batch of its own.
    batch_rows: rows a batch in its place, the same in every bucket; one of the two is null.
    buckets: the number of different lengths of training, each of which is compiled.
    train_rows: only so many rows of the training split; null for all.
    folds: all documents, whatever split they are in, are dealt out into so many parts, each the test split of one run.
        fold: which one this is; null for all, one after another.
    validation_windows, test_windows: fixed windows a document whose log-probabilities are averaged; null covers it.
    """

    name: str
    source = "local"
    token_labels = False
    multi_label = False
    class_weights: NDArray[np.floating] | None = None
    pairs = False
    causal_only = False
    ahead: tuple[str, ...] = SPLITS  # the splits that are encoded before the training

    def __init__(
        self,
        max_length: int,
        seed: int,
        batch_tokens: int | None = None,
        batch_rows: int | None = None,
        truncation: str = "windows",
        buckets: int = 4,
        data: str | None = None,
        cache: str = "data/cache",
        workers: int = 0,
        train_rows: int | None = None,
        validation_windows: int | None = None,
        test_windows: int | None = None,
        folds: int | None = None,
        fold: int | None = None,
    ) -> None:
        super().__init__()
        options = {"buckets": buckets, "train_rows": train_rows, "batch_rows": batch_rows, "max_length": max_length}
        options |= {"validation_windows": validation_windows, "test_windows": test_windows}
        for name, value in options.items():
            if value is not None and value < 1:
                raise ValueError(f"task.{name}={value} must be at least 1")
        if (batch_tokens is None) == (batch_rows is None):
            raise ValueError(
                f"task.batch_tokens={batch_tokens} and task.batch_rows={batch_rows}: "
                f"one must be a number, the other null"
            )
        if truncation not in TRUNCATIONS:
            raise ValueError(f"task.truncation={truncation} must be one of {', '.join(TRUNCATIONS)}")
        if self.pairs and truncation == "windows":
            raise ValueError(
                f"task.truncation=windows: {self.name} has pairs, each read in one row: head, head+tail or none"
            )
        if batch_tokens is not None and truncation != "none" and batch_tokens < max_length * (1 + self.pairs):
            row = "one pair of documents" if self.pairs else "one row"
            raise ValueError(f"task.batch_tokens={batch_tokens} must hold {row} of task.max_length={max_length}")
        self.max_length, self.seed, self.bucket_count = max_length, seed, buckets
        self.batch_size = BatchSize(batch_tokens, batch_rows)
        self.truncation = truncation
        self.span_length = ENDLESS if truncation == "none" else max_length
        self.data = None if data is None else resolve(data)
        self.cache = PROJECT / cache
        self.workers, self.train_rows = workers, train_rows
        self.limits: dict[str, int | None] = {"validation": validation_windows, "test": test_windows}
        if truncation != "windows":
            self.limits = dict.fromkeys(SPLITS, 1)
        if folds is not None and folds < 2:
            raise ValueError(f"task.folds={folds} must be at least 2, or null for the splits as they are")
        if fold is not None and (folds is None or not 0 <= fold < folds):
            raise ValueError(f"task.fold={fold} must be one of the task.folds={folds}, counted from 0")
        if folds is not None and self.token_labels:
            raise ValueError(f"task.folds={folds} deals out documents that have labels, not labels of tokens")
        self.folds, self.fold = folds, fold
        self.dealt: str | None = None  # the pool's digest where a checkpoint says it
        self.state: dict[str, Any] | None = None
        self._documents: dict[str, Documents] = {}
        self._tokenizer: Tokenizer | None = None

    # What a task defines.

    def learn(self) -> dict[str, Any]:
        """From the training split: ``classes`` (names), ``vocab_size`` and what else encoding needs, plain values.

        What depends on texts, as a tokenizer, is learnt from the rows of ``train_places``, of a fold the fold's own.
        """
        raise NotImplementedError

    def encode(self, split: str) -> Path:
        """The cached Arrow data set of a split, encoded by ``self.state``."""
        raise NotImplementedError

    def references(self) -> dict[str, float]:
        """Test accuracies that need no model, by name, to stand beside a result.

        The majority is the training split's most frequent class, of ``multi_label`` its most frequent set of classes.
        """
        train, test = self.train_labels(), self.documents("test")
        if self.multi_label:
            sets, times = np.unique(train, axis=0, return_counts=True)
            return {"majority": float((test.labels == sets[times.argmax()]).all(1).mean())}
        majority = np.bincount(train).argmax()
        return {"chance": 1 / len(self.classes), "majority": float((test.every_label() == majority).mean())}

    def row_labels(self, split: str) -> NDArray[Any]:
        """The labels (D,) or (D, C) of a split as it is, before folds; without encoding it where ``learn`` needs it."""
        return Documents(self.encode(split)).labels

    def units(self, split: str) -> Sequence[str]:
        """Likewise, of each row what must not be in two folds: the document itself, or its group."""
        documents = Documents(self.encode(split))
        return [documents.digest(row) for row in range(len(documents))]

    def write_splits(self, folder: Path) -> None:
        """Records in a run's folder which row became which split, where the task itself has drawn that."""

    # What every task does.

    def prepare(self) -> None:
        """Learns the encoding unless a checkpoint's is in place."""
        if self.state is None:
            self.state = self.learn()

    def prepare_data(self) -> None:
        """Builds the cache: Lightning's hook, in one process a machine."""
        self.prepare()
        for split in self.ahead:
            self.encode(split)
        labels = self.documents("train").labels if "train" in self.ahead else np.empty(0)
        if self.train_rows and not _differ(labels[: self.train_rows]) and _differ(labels):
            raise ValueError(
                f"task.train_rows={self.train_rows}: the first {self.train_rows} rows are all of one class, as of "
                f"files sorted by label; take more, or shuffle them"
            )

    @property
    def classes(self) -> list[str]:
        self.prepare()
        assert self.state is not None
        return self.state["classes"]

    @property
    def vocab_size(self) -> int:
        self.prepare()
        assert self.state is not None
        return self.state["vocab_size"]

    @property
    def tokenizer(self) -> Tokenizer:
        """What encodes a text; raises TypeError where documents are no texts."""
        self.prepare()
        assert self.state is not None
        if "tokenizer" not in self.state:
            raise TypeError(f"task={self.name} has documents that are no texts: it can neither encode nor decode them")
        if self._tokenizer is None:
            self._tokenizer = from_state(self.state["tokenizer"])
        return self._tokenizer

    def encode_texts(self, texts: Iterable[str]) -> list[NDArray[Any]]:
        """The token ids (N,) of each text, as in the splits; raises TypeError where documents are no texts."""
        return self.tokenizer.encode(texts)

    def decode(self, ids: NDArray[Any] | Sequence[int]) -> str:
        """The text of some token ids; raises TypeError where documents are no texts."""
        return self.tokenizer.decode(ids)

    @property
    def text_columns(self) -> list[str]:
        """The columns of a table in which the texts of a row are; of pairs there are two."""
        return ["text"]

    def documents(self, split: str) -> Documents:
        """The encoded split."""
        self.prepare()
        if split not in self._documents:
            self._documents[split] = Documents(self.place(split))
        return self._documents[split]

    def place(self, split: str) -> Path:
        """The data set of a split: as it is encoded, or as the fold has it."""
        if self.fold is None:
            return self.encode(split)
        self.prepare()
        parts = [Documents(self.encode(name)) for name in SPLITS]
        classes = len(self.classes) if self.multi_label else None
        return save_rows(self.cache, parts, self.fold_rows(split), self.vocab_size, classes)

    @cached_property
    def pool(self) -> Pool:
        """The rows of all splits, which folds deal out."""
        return Pool({split: (self.row_labels(split), self.units(split)) for split in SPLITS})

    def fold_rows(self, split: str) -> NDArray[np.int64]:
        """Which rows (D,) of the pool are a split in this fold; ``split_seed``, if the task has one, decides.

        Raises ValueError where a checkpoint's fold was dealt from another pool.
        """
        assert self.folds is not None
        assert self.fold is not None
        if self.dealt is not None and self.dealt != self.pool.digest:
            raise ValueError(
                f"task.fold={self.fold} was dealt from other documents than are there now, so that nothing says which "
                f"of these it was not trained on: train it again, or score it on others"
            )
        return self.pool.fold(self.folds, self.fold, getattr(self, "split_seed", 0))[split]

    def train_places(self) -> dict[str, NDArray[np.int64] | slice]:
        """Where the training rows are, by split: of the training split all, of a fold some (D,) of each."""
        return {"train": slice(None)} if self.fold is None else self.pool.by_split(self.fold_rows("train"))

    def hold(self, split: str, documents: Documents) -> None:
        """Takes encoded documents from elsewhere for a split of another name, to be read as the test split's are."""
        self._documents[split], self.limits[split] = documents, self.limits.get("test")

    def train_labels(self) -> NDArray[Any]:
        """The labels of the training rows: the documents' (D,) or (D, C), or those that tokens have in a row."""
        documents = self.documents("train")
        return documents.labels[: self.train_rows] if self.multi_label else documents.every_label(self.train_rows)

    def content(self, split: str) -> str:
        """What changes with a split's documents."""
        return self.documents(split).content()

    def train_sampler(self, start: int = 0) -> TrainSampler | TrainStream:
        """The stream of training batches from batch ``start`` on."""
        sides = self.documents("train").sides[: self.train_rows]
        size, count = self.batch_size, self.bucket_count
        return TrainSampler(sides, self.span_length, size, count, self.seed, start, self.truncation == "windows")

    def train_shapes(self) -> tuple[Bucket, ...]:
        """Every shape that a training batch can have."""
        return self.train_sampler().shapes.buckets

    def train_dataloader(self) -> DataLoader:
        trainer = self.trainer  # of a resumed run it already knows how far that one was
        start = 0 if trainer is None else trainer.global_step * trainer.accumulate_grad_batches
        return self.loader("train", self.train_sampler(start))

    def eval_dataloader(self, split: str) -> DataLoader:
        """Fixed windows of every document of a split; where tokens have labels, no token is in two of them."""
        documents, limit = self.documents(split), self.limits.get(split)
        spans = spread_windows(documents.lengths, self.span_length, limit, overlap=not self.token_labels)
        return self.loader(split, EvalSampler(spans, self.batch_size, sides=1 + self.pairs))

    def val_dataloader(self) -> DataLoader:
        return self.eval_dataloader("validation")

    def test_dataloader(self) -> DataLoader:
        return self.eval_dataloader("test")

    def loader(self, split: str, sampler: TrainSampler | TrainStream | EvalSampler) -> DataLoader:
        """The batches of a sampler."""
        shapes = None if isinstance(sampler, EvalSampler) else sampler.shapes
        return DataLoader(
            _Spans(),
            batch_sampler=sampler,
            collate_fn=Collate(self.documents(split), shapes, self.truncation == "head+tail"),
            num_workers=self.workers,
            persistent_workers=self.workers > 0,
        )

    def describe(self) -> dict[str, dict[str, Any]]:
        """Each split's ``counts``."""
        return {split: self.counts(split) for split in SPLITS}

    def counts(self, split: str) -> dict[str, Any]:
        """Rows and tokens, rows with an empty document, and how much of how many is never read; None if not known."""
        lengths = self.documents(split).sides[: self.train_rows if split == "train" else None]
        limit = self.limits.get(split)  # none for training, whose windows reach everything in the end
        seen = lengths if limit is None else np.minimum(lengths, limit * self.span_length)
        return {
            "rows": len(lengths),
            "tokens": int(lengths.sum()),
            "empty_rows": int((lengths == 0).any(1).sum()),
            "truncated_rows": int((seen < lengths).any(1).sum()),
            "truncated_tokens": int((lengths - seen).sum()),
        }
