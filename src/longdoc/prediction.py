"""Classifying new documents, by the way that evaluation takes."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from longdoc.evaluation import Follow, evaluate
from longdoc.export import Loaded
from longdoc.models.whole import BUDGET, refusal
from longdoc.tasks.base import Task
from longdoc.tasks.buckets import Span
from longdoc.tasks.cache import UNLABELLED, Documents, save_documents, save_pairs
from longdoc.training.module import ClassifierModule
from longdoc.training.scores import MultiLabelScores, Scores

Document = str | tuple[str, str]
SPLIT = "new"  # what the task calls the documents that it is given


@dataclass(frozen=True)
class Prediction:
    """What a classifier says of one document.

    label: the likeliest class; of a multi-label checkpoint all classes whose probability reaches their threshold.
    probabilities: of each class, by name. tokens: of the document. tokens_read: those that a window covered.
    """

    label: str | list[str]
    probabilities: dict[str, float]
    tokens: int
    tokens_read: int
    truncated: bool


def predict(
    loaded: Loaded,
    texts: Iterable[Document],
    max_length: int | None = None,
    whole: bool = False,
    device: str | None = None,
    follow: Follow = iter,
) -> list[Prediction]:
    """A prediction for each text, or pair of texts, in order; they may come as a stream and are never all in memory.

    They are cut, batched and scored as an evaluation does the test split's: the same text gives the same numbers.

    max_length: tokens that a model sees at once; None for those of the training.
    whole: it sees whole documents at once, however long; very long ones are read in pieces, with the same result.
    follow: hands the batches on, and may tell of them.

    Raises TypeError if the checkpoint's documents are no texts, ValueError if its labels are not the documents', or if
    a document is too long for the model.
    """
    task, texts = task_of_texts(loaded, max_length, whole), iter(texts)
    first = next(texts, None)
    if first is None:
        return []
    with tempfile.TemporaryDirectory(prefix="longdoc-") as folder:
        documents = encode(task, chain([first], texts), Path(folder) / "documents")
        longest = int(documents.lengths.max())
        if task.truncation == "none" and longest > BUDGET and (reason := refusal(loaded.model)) is not None:
            raise ValueError(f"a document has {longest:,} tokens: {reason}")
        task.hold(SPLIT, documents)
        scores = evaluate(loaded, task, SPLIT, device, follow)
        assert isinstance(scores, Scores)
        return predictions(task, SPLIT, scores)


def task_of_texts(loaded: Loaded, max_length: int | None = None, whole: bool = False) -> Task:
    """The checkpoint's task, if it classifies texts; raises TypeError or ValueError if it does not."""
    task = loaded.task(max_length=max_length, truncation="none" if whole else None)
    if task.tokenizer and task.token_labels:
        raise ValueError(f"a checkpoint of task={task.name} classifies tokens, not documents")
    return task


def encode(task: Task, texts: Iterable[Document], place: Path) -> Documents:
    """Texts, or pairs, as the task's splits are encoded, without labels; ``place`` holds them."""
    classes = len(task.classes) if task.multi_label else None
    if not task.pairs:
        save_documents(place, task.tokenizer.stream(map(_single, texts)), None, task.vocab_size, classes)
        return Documents(place)
    ids = task.tokenizer.stream(text for pair in texts for text in _pair(pair))
    label: Any = UNLABELLED if classes is None else np.zeros(classes, bool)
    save_pairs(place, ((a, b, label) for a, b in zip(ids, ids, strict=True)), task.vocab_size, classes)
    return Documents(place)


def _single(text: Document) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a document is a string, not a {type(text).__name__}")
    return text


def _pair(texts: Document) -> tuple[str, str]:
    if isinstance(texts, str) or len(texts) != 2:
        raise TypeError("a document is a pair of strings, for that is what the checkpoint classifies")
    return texts


def predictions(task: Task, split: str, scores: Scores) -> list[Prediction]:
    """What ``scores`` say of each document of a split, in order."""
    tokens, read = tokens_of(task, split)
    return [
        Prediction(label, probabilities, there, seen, seen < there)
        for (label, probabilities), there, seen in zip(
            decisions(task, scores), tokens.tolist(), read.tolist(), strict=True
        )
    ]


def tokens_of(task: Task, split: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens (D,) of each document of a split, and how many of them an evaluation reads."""
    sampler: Any = task.eval_dataloader(split).batch_sampler
    sides = task.documents(split).sides
    return sides.sum(1), tokens_read((span for batch in sampler.batches for span in batch), sides)


def decisions(task: Task, scores: Scores) -> list[tuple[str | list[str], dict[str, float]]]:
    """Of each document that was scored its label, or labels, and the probabilities of the classes."""
    _, probabilities = scores.probabilities()
    if isinstance(scores, MultiLabelScores):
        labels: list[Any] = [names(task, row) for row in scores.decisions()[1].numpy()]
    else:
        labels = [task.classes[number] for number in probabilities.argmax(-1).tolist()]
    rows = [dict(zip(task.classes, row, strict=True)) for row in probabilities.tolist()]
    return list(zip(labels, rows, strict=True))


def score_windows(loaded: Loaded, task: Task, logits: Tensor) -> Scores:
    """The scores of one document without a label, whose windows have the logits (W, C)."""
    module = ClassifierModule(
        loaded.model, len(task.classes), multi_label=task.multi_label, thresholds=loaded.thresholds
    )
    windows = len(logits)
    label = torch.zeros(logits.shape if task.multi_label else (windows,), dtype=torch.long)
    batch = {"index": torch.zeros(windows, dtype=torch.long), "label": label, "weight": torch.ones(windows)}
    assert isinstance(module.scores, Scores)
    module.scores.update(logits, batch)
    return module.scores


def names(task: Task, row: NDArray[Any]) -> list[str]:
    """The classes that a row (C,) of truth values has."""
    return [name for name, true in zip(task.classes, row, strict=True) if true]


def tokens_read(spans: Iterable[Span], sides: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many tokens (D,) of documents of ``sides`` (D, S) tokens are in at least one span, which cuts all sides."""
    read, reached = np.zeros(len(sides), np.int64), np.zeros(len(sides), np.int64)
    for row, start, length in sorted(spans):
        edges = np.minimum([[max(start, reached[row])], [max(start + length, reached[row])]], sides[row])
        read[row] += np.diff(edges, axis=0).sum()
        reached[row] = max(start + length, reached[row])
    return read
