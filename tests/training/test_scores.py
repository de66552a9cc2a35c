"""Metrics against scikit-learn and torchmetrics, at any batch size."""

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
)
from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

from longdoc.training.scores import MultiLabelScores, Scores, TokenScores

DOCUMENTS, CLASSES, ABSENT = 40, 5, 3


def batch(index, label, weight=None):
    weight = torch.ones(len(index)) if weight is None else torch.tensor(weight)
    return {"index": torch.as_tensor(index), "label": torch.as_tensor(label), "weight": weight}


def feed(scores, logits, labels, size):
    """In batches of ``size`` rows, each filled up with one row that is missing."""
    for start in range(0, len(labels), size):
        rows = [*range(start, min(start + size, len(labels))), 0]
        scores.update(logits[rows], batch(rows, labels[rows], [1.0] * (len(rows) - 1) + [0.0]))
    return scores


@pytest.fixture(scope="module", name="multi")
def _multi():
    """Log-odds and labels: class 0 in most documents, 4 in one, 3 in none but predicted, some without a label."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.rand(DOCUMENTS, CLASSES, generator=generator) < torch.tensor([0.9, 0.4, 0.1, 0.0, 0.0])
    labels[7, 4] = True
    labels[[3, 9]] = False
    logits = 2 * torch.randn(DOCUMENTS, CLASSES, generator=generator) + 2 * labels
    return logits, labels.float()


@pytest.mark.parametrize("size", [1, 3, DOCUMENTS])
def test_scores_of_many_labels_are_those_of_scikit_learn_at_any_batch_size(multi, size):
    logits, labels = multi
    found = feed(MultiLabelScores(CLASSES), logits, labels, size).metrics()
    truth, probabilities = labels.numpy().astype(int), logits.double().sigmoid().numpy()
    predicted = (probabilities >= 0.5).astype(int)
    there = [c for c in range(CLASSES) if c != ABSENT]
    assert not truth[:, ABSENT].any()
    assert predicted[:, ABSENT].any()
    expected = {
        "loss": np.mean([log_loss(truth[:, c], probabilities[:, c], labels=[0, 1]) for c in range(CLASSES)]),
        "accuracy": accuracy_score(truth, predicted),
        "f1_micro": f1_score(truth, predicted, average="micro"),
        "f1_macro": f1_score(truth, predicted, average="macro", zero_division=np.nan),
        "map": average_precision_score(truth[:, there], probabilities[:, there], average="macro"),
        "ece": binary_calibration_error(logits.double().sigmoid().flatten(), labels.flatten().int(), 15).item(),
    }
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_class_that_is_absent_is_marked_and_not_counted_as_a_zero(multi):
    logits, labels = multi
    table = feed(MultiLabelScores(CLASSES), logits, labels, 7).per_class()
    truth, predicted = labels.numpy().astype(int), (logits > 0).numpy().astype(int)
    expected = precision_recall_fscore_support(truth, predicted, zero_division=np.nan)
    for name, column in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert table[name] == pytest.approx(column.tolist(), nan_ok=True)
    assert (table["support"][ABSENT], table["support"][4]) == (0, 1)
    assert [math.isnan(value) for value in table["average_precision"]] == [c == ABSENT for c in range(CLASSES)]
    silent = feed(MultiLabelScores(CLASSES), logits - 100 * torch.eye(CLASSES)[ABSENT], labels, 7)
    assert math.isnan(silent.per_class()["f1"][ABSENT])  # neither there nor predicted
    assert silent.metrics()["f1_macro"] == pytest.approx(
        np.mean([f1_score(truth[:, c], predicted[:, c]) for c in range(CLASSES) if c != ABSENT])
    )


def test_thresholds_decide_and_change_neither_loss_nor_ranking(multi):
    logits, labels = multi
    thresholds = [0.9, 0.3, 0.5, 0.99, 0.2]
    found = feed(MultiLabelScores(CLASSES, thresholds), logits, labels, 6)
    usual = feed(MultiLabelScores(CLASSES), logits, labels, 6).metrics()
    predicted = (logits.double().sigmoid().numpy() >= np.array(thresholds)).astype(int)
    metrics = found.metrics()
    assert metrics["accuracy"] == pytest.approx(accuracy_score(labels.numpy(), predicted))
    assert metrics["f1_micro"] == pytest.approx(f1_score(labels.numpy(), predicted, average="micro"))
    assert metrics["f1_micro"] != usual["f1_micro"]
    assert [metrics[name] for name in ("loss", "map", "ece")] == [usual[name] for name in ("loss", "map", "ece")]
    assert found.per_class()["threshold"] == thresholds


def test_windows_of_a_document_with_many_labels_are_averaged_as_log_odds():
    scores, label = MultiLabelScores(2), torch.tensor([[1.0, 0.0]])
    for logits in ([[4.0, -1.0]], [[-1.0, -2.0]]):
        scores.update(torch.tensor(logits), batch([5], label))
    scores.update(torch.tensor([[9.0, 9.0]]), batch([2], label))
    rows, labels, log_odds = scores.documents()
    assert (rows.tolist(), labels.tolist()) == ([2, 5], [[1, 0], [1, 0]])
    assert log_odds.tolist() == [[9, 9], [1.5, -1.5]]
    assert scores.probabilities()[1][1].tolist() == pytest.approx([1 / (1 + math.exp(-1.5)), 1 / (1 + math.exp(1.5))])
    assert scores.rows == 2


def test_a_split_without_any_label_has_no_map_but_a_loss():
    found = feed(MultiLabelScores(3), torch.full((4, 3), -1.0), torch.zeros(4, 3), 2).metrics()
    assert math.isnan(found["map"])
    assert math.isnan(found["f1_micro"])
    assert found["accuracy"] == 1
    assert found["loss"] == pytest.approx(math.log(1 + math.exp(-1)))


@pytest.mark.parametrize("size", [1, 3, DOCUMENTS])
def test_scores_of_one_label_are_those_of_scikit_learn_at_any_batch_size(size):
    """Nine of ten documents are of class 0, one is of class 1; class 2 is predicted alone, class 3 not even that."""
    generator = torch.Generator().manual_seed(1)
    labels = (torch.arange(DOCUMENTS) % 10 == 7).long()
    logits = 2 * torch.randn(DOCUMENTS, 4, generator=generator) + 2 * torch.eye(4)[labels]
    logits[:, 3] -= 100
    scores = feed(Scores(4), logits, labels, size)
    probabilities = logits.double().softmax(-1)
    truth, predicted = labels.numpy(), probabilities.argmax(-1).numpy()
    assert (np.bincount(truth).tolist(), set(predicted)) == ([36, 4], {0, 1, 2})
    assert scores.metrics() == pytest.approx(
        {
            "loss": log_loss(truth, probabilities.numpy(), labels=range(4)),
            "accuracy": accuracy_score(truth, predicted),
            "f1_macro": f1_score(truth, predicted, average="macro"),
            "ece": multiclass_calibration_error(probabilities, labels, 4, 15).item(),
        },
        abs=1e-6,
    )
    assert scores.counts().f1_micro == pytest.approx(f1_score(truth, predicted, average="micro"))
    expected = precision_recall_fscore_support(truth, predicted, labels=range(4), zero_division=np.nan)
    for name, column in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert scores.per_class()[name] == pytest.approx(column.tolist(), nan_ok=True)
    torch.testing.assert_close(scores.probabilities()[1], probabilities, atol=1e-6, rtol=0)


def test_who_always_says_the_larger_class_is_right_in_nine_of_ten():
    labels = (torch.arange(DOCUMENTS) % 10 == 7).long()
    found = feed(Scores(3), torch.tensor([[1.0, 0.0, 0.0]]).expand(DOCUMENTS, 3), labels, 7).metrics()
    assert found["accuracy"] == 0.9
    assert found["f1_macro"] == pytest.approx((2 * 36 / 76 + 0) / 2)


def test_the_table_of_classes_of_tokens_is_that_of_scikit_learn():
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(4, 9, 3, generator=generator)
    labels = torch.randint(0, 3, (4, 9), generator=generator)
    scores = TokenScores(3)
    scores.update(logits, batch(range(4), labels))
    expected = precision_recall_fscore_support(labels.flatten(), logits.argmax(-1).flatten())
    for name, column in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert scores.per_class()[name] == pytest.approx(column.tolist())


def test_without_a_document_there_is_no_score():
    for scores in (Scores(2), MultiLabelScores(2)):
        assert scores.rows == 0
        with pytest.raises(ValueError, match=r"^no document was scored: the split has none$"):
            scores.metrics()
