"""What baselines share."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Of documents: class numbers (D,), or with several classes to a document bool (D, C).
Labels = NDArray[Any]


class Texts(Protocol):
    """Texts that are made when they are asked for and read more than once, so that they need not lie in memory.

    Each is a document, unless there are ``pairs`` (D, 2): which two of the texts each document is.
    """

    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...


def pairs_of(texts: Texts) -> NDArray[np.int64] | None:
    """(D, 2) of pairs; None of single texts, as lists are."""
    return getattr(texts, "pairs", None)


class Baseline:
    """Fits documents' texts to their labels and gives logits (D, C), as a classifier does.

    Of one class to a document they are log-probabilities, of several log-odds.

    length: tokens of a document that it reads, the first; None reads the whole.
    """

    reads_text = True
    device = "cpu"

    def __init__(self, length: int | None = None) -> None:
        if length is not None and length < 1:
            raise ValueError(f"baseline.length={length} must be at least 1, or null for whole documents")
        self.length = length

    def fit(
        self, texts: Texts, labels: Labels, held_out: Texts, held_out_labels: Labels, weights: NDArray[np.float64]
    ) -> None:
        """Fits ``texts``; what is to be chosen is chosen by the loss on the documents held out.

        weights: (C,) what a document of each class counts.
        """
        raise NotImplementedError

    def logits(self, texts: Texts) -> NDArray[np.float64]:
        """(D, C)."""
        raise NotImplementedError

    @property
    def parameters(self) -> int:
        """Numbers that were fitted to labels."""
        raise NotImplementedError

    def chosen(self) -> dict[str, Any]:
        """What the documents held out decided, plain values by name."""
        return {}


def loss(logits: NDArray[np.float64], labels: Labels) -> float:
    """Nats a document: cross-entropy; with several classes to a document the mean over classes."""
    if labels.ndim == 2:
        return float(np.logaddexp(0, np.where(labels, -logits, logits)).mean())
    return float((np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(labels)), labels]).mean())


def prior(labels: Labels, classes: int) -> NDArray[np.float64]:
    """Logits (C,) of classes by their number of documents, each class one more than it has."""
    if labels.ndim == 2:
        positive = labels.sum(0)
        return np.log((positive + 1) / (len(labels) - positive + 1))
    counts = np.bincount(labels, minlength=classes) + 1
    return np.log(counts / counts.sum())
