"""Scoring documents and tokens: one loss, accuracy, F1 and calibration, however the batches were cut."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torchmetrics.functional.classification import multilabel_average_precision

from longdoc.training.reliability import calibration_error

Batch = dict[str, Any]
THRESHOLD = 0.5  # from which probability on a document has a label, where nothing better is known


def label_weights(batch: Batch) -> Tensor:
    """What each label counts in a loss, in the labels' shape (B,), (B, N) or (B, C): 0 for missing rows and labels."""
    label = batch["label"]
    return batch["weight"].reshape(-1, *[1] * (label.ndim - 1)) * (label >= 0)


class Counts(NamedTuple):
    """Of each class (C,): how often it was predicted rightly, predicted, and there."""

    right: Tensor
    predicted: Tensor
    labelled: Tensor

    @property
    def f1(self) -> Tensor:
        """F1 (C,), nan for a class that is neither there nor predicted."""
        return 2 * self.right.double() / (self.predicted + self.labelled)

    @property
    def f1_macro(self) -> float:
        """The mean F1 of the classes that are there or predicted, as scikit-learn's with ``zero_division=nan``."""
        return self.f1.nanmean().item()

    @property
    def f1_micro(self) -> float:
        """F1 of all decisions together; nan if nothing is there and nothing predicted."""
        return (2 * self.right.sum().double() / (self.predicted.sum() + self.labelled.sum())).item()

    def per_class(self) -> dict[str, list[float]]:
        """precision, recall, f1 and support, a number a class; nan where there was nothing to count."""
        return {
            "precision": (self.right.double() / self.predicted).tolist(),
            "recall": (self.right.double() / self.labelled).tolist(),
            "f1": self.f1.tolist(),
            "support": self.labelled.tolist(),
        }


class Scores:
    """Averages the log-probabilities of a document's windows, then scores documents with one class each."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.parts: list[tuple[Tensor, Tensor, Tensor]] = []

    def update(self, logits: Tensor, batch: Batch) -> None:
        """logits (B, C) of a batch with labels (B,)."""
        real = batch["weight"] > 0
        self.parts.append((batch["index"][real].cpu(), batch["label"][real].cpu(), self._of_window(logits[real].cpu())))

    def _of_window(self, logits: Tensor) -> Tensor:
        return F.log_softmax(logits.double(), -1)

    @property
    def rows(self) -> int:
        """The number of documents seen."""
        return len({row for index, _, _ in self.parts for row in index.tolist()})

    def _means(self) -> tuple[Tensor, Tensor, Tensor]:
        if not self.parts:
            raise ValueError("no document was scored: the split has none")
        index, label, windows = (torch.cat(part) for part in zip(*self.parts, strict=True))
        rows, inverse = index.unique(return_inverse=True)
        total = torch.zeros(len(rows), self.classes, dtype=torch.float64).index_add_(0, inverse, windows)
        labels = label.new_empty(len(rows), *label.shape[1:])
        labels[inverse] = label
        return rows, labels, total / inverse.bincount()[:, None]

    def documents(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows (D,), labels (D,) and normalised log-probabilities (D, C) of the documents seen, in row order."""
        rows, labels, mean = self._means()
        return rows, labels, mean.log_softmax(-1)

    def probabilities(self) -> tuple[Tensor, Tensor]:
        """Rows (D,) and probabilities (D, C) of the documents seen, in row order."""
        rows, _, log_probabilities = self.documents()
        return rows, log_probabilities.exp()

    def right(self) -> Tensor:
        """Whether each document (D,) seen, in row order, was given its class; of several, all of them and no other."""
        labels, predicted = self.decisions()
        return predicted == labels

    def decisions(self) -> tuple[Tensor, Tensor]:
        """The class (D,) of each document seen, in row order, and the one that it is given."""
        _, labels, log_probabilities = self.documents()
        return labels, log_probabilities.argmax(-1)

    def certainty(self) -> tuple[Tensor, Tensor]:
        """The probability (n,) of each decision, here of the likeliest class, and whether it came true."""
        _, _, log_probabilities = self.documents()
        return log_probabilities.exp().amax(-1), self.right()

    def counts(self) -> Counts:
        """How often each class was predicted and there."""
        labels, predicted = self.decisions()
        of = (labels[predicted == labels], predicted, labels)
        return Counts(*(classes.bincount(minlength=self.classes) for classes in of))

    def per_class(self) -> dict[str, list[float]]:
        """Columns of a table of classes: precision, recall, f1, support."""
        return self.counts().per_class()

    def metrics(self) -> dict[str, float]:
        """loss (nats a document), accuracy (micro), f1_macro, and ece, the calibration error of the likeliest class."""
        _, labels, log_probabilities = self.documents()
        return {
            "loss": F.nll_loss(log_probabilities, labels).item(),
            "accuracy": self.right().double().mean().item(),
            "f1_macro": self.counts().f1_macro,
            "ece": calibration_error(*self.certainty()),
        }


class MultiLabelScores(Scores):
    """Averages the log-odds of a document's windows, then scores documents with any number of classes each.

    Of a class alone this is what ``Scores`` does with two: the mean of log-probabilities, normalised.

    thresholds: (C,), the probability from which on a document has a label; None is 0.5 for all.
    """

    def __init__(self, classes: int, thresholds: Sequence[float] | None = None) -> None:
        super().__init__(classes)
        self.thresholds = torch.tensor([THRESHOLD] * classes if thresholds is None else thresholds, dtype=torch.float64)

    def _of_window(self, logits: Tensor) -> Tensor:
        return logits.double()

    def documents(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows (D,), labels (D, C) of 0 and 1 and log-odds (D, C) of the documents seen, in row order."""
        return self._means()

    def probabilities(self) -> tuple[Tensor, Tensor]:
        rows, _, log_odds = self.documents()
        return rows, log_odds.sigmoid()

    def decisions(self) -> tuple[Tensor, Tensor]:
        """Which labels each document has, and which it is given, (D, C) bool."""
        _, labels, log_odds = self.documents()
        return labels > 0, log_odds.sigmoid() >= self.thresholds

    def certainty(self) -> tuple[Tensor, Tensor]:
        """The probability of each class of each document, (D·C,), and whether it has it."""
        _, labels, log_odds = self.documents()
        return log_odds.sigmoid().flatten(), (labels > 0).flatten()

    def right(self) -> Tensor:
        labels, predicted = self.decisions()
        return (labels == predicted).all(-1)

    def counts(self) -> Counts:
        labels, predicted = self.decisions()
        return Counts((labels & predicted).sum(0), predicted.sum(0), labels.sum(0))

    def average_precision(self) -> Tensor:
        """(C,), nan for a class that no document has: it has no ranking to be right about."""
        _, labels, log_odds = self.documents()
        there = (labels > 0).any(0)
        found = torch.full((self.classes,), torch.nan, dtype=torch.float64)
        if there.any():
            kept = log_odds[:, there].sigmoid(), labels[:, there].long()
            found[there] = multilabel_average_precision(*kept, int(there.sum()), average="none").double()
        return found

    def per_class(self) -> dict[str, list[float]]:
        """Also average_precision and threshold."""
        more = {"average_precision": self.average_precision(), "threshold": self.thresholds}
        return super().per_class() | {name: column.tolist() for name, column in more.items()}

    def metrics(self) -> dict[str, float]:
        """loss (nats a decision), accuracy (of the whole set of labels), f1_micro, f1_macro (of the classes that are
        there or predicted), map (mean average precision of the classes that are there) and ece (of all decisions)."""
        _, labels, log_odds = self.documents()
        counts = self.counts()
        return {
            "loss": F.binary_cross_entropy_with_logits(log_odds, labels.double()).item(),
            "accuracy": self.right().double().mean().item(),
            "f1_micro": counts.f1_micro,
            "f1_macro": counts.f1_macro,
            "map": self.average_precision().nanmean().item(),
            "ece": calibration_error(*self.certainty()),
        }


class TokenScores:
    """Scores labelled tokens by sums alone: log-probabilities of a large vocabulary would fill the memory."""

    def __init__(self, classes: int) -> None:
        self.loss = torch.zeros((), dtype=torch.float64)
        self.right, self.predicted, self.labelled = torch.zeros(3, classes, dtype=torch.long)
        self.seen: set[int] = set()

    @property
    def rows(self) -> int:
        """The number of documents seen."""
        return len(self.seen)

    def update(self, logits: Tensor, batch: Batch) -> None:
        """logits (B, N, C) of a batch with labels (B, N)."""
        known = label_weights(batch) > 0
        logits, label = logits[known].float(), batch["label"][known]
        predicted = logits.argmax(-1)
        self.seen.update(batch["index"][batch["weight"] > 0].tolist())
        self.loss += F.cross_entropy(logits, label, reduction="none").double().sum().cpu()
        classes = len(self.right)
        for counts, of in (
            (self.right, label[predicted == label]), (self.predicted, predicted), (self.labelled, label),
        ):  # fmt: skip
            counts += torch.bincount(of.cpu(), minlength=classes)

    def counts(self) -> Counts:
        """How often each class was predicted and there."""
        return Counts(self.right, self.predicted, self.labelled)

    def per_class(self) -> dict[str, list[float]]:
        """Columns of a table of classes: precision, recall, f1, support."""
        return self.counts().per_class()

    def metrics(self) -> dict[str, float]:
        """loss (nats) and accuracy of a labelled token, and f1_macro over the classes there or predicted."""
        tokens = self.labelled.sum()
        return {
            "loss": (self.loss / tokens).item(),
            "accuracy": (self.right.sum().double() / tokens).item(),
            "f1_macro": self.counts().f1_macro,
        }
