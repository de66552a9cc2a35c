"""Scores, parameter groups and seeds."""

import math

import pytest
import torch
from torch import nn

from longdoc.training.module import Scores, parameter_groups, step_seed


def batch(index, label, weight=None):
    weight = torch.ones(len(index)) if weight is None else torch.tensor(weight)
    return {"index": torch.tensor(index), "label": torch.tensor(label), "weight": weight}


@pytest.mark.parametrize("size", [1, 3, 10])
def test_metrics_of_an_unbalanced_split_with_a_class_missing_do_not_depend_on_the_batch_size(size):
    """Nine of class 0, one of class 1, none of class 2, and a model that always says 0: the micro accuracy is 0.9; F1
    is 18/19 for class 0 and 0 for class 1; class 2 is neither there nor predicted and does not count."""
    labels = [0] * 9 + [1]
    logits = torch.tensor([2.0, 0.0, 0.0]).repeat(10, 1)
    scores = Scores(3)
    for i in range(0, 10, size):
        rows = list(range(i, min(10, i + size)))
        scores.update(logits[rows], batch(rows, [labels[r] for r in rows]))
    metrics = scores.metrics()
    assert metrics["accuracy"] == pytest.approx(0.9)
    assert metrics["f1_macro"] == pytest.approx(18 / 19 / 2)
    normaliser = math.log(math.exp(2) + 2)
    assert metrics["loss"] == pytest.approx((9 * (normaliser - 2) + normaliser) / 10)


def test_windows_of_a_document_are_averaged_as_log_probabilities():
    scores = Scores(2)
    first, second = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 3.0]])
    scores.update(first, batch([5], [1]))
    scores.update(second, batch([5], [1]))
    rows, labels, log_probabilities = scores.documents()
    expected = ((first.log_softmax(-1) + second.log_softmax(-1)) / 2).log_softmax(-1).double()
    assert rows.tolist() == [5]
    assert labels.tolist() == [1]
    torch.testing.assert_close(log_probabilities, expected, atol=1e-6, rtol=0)


def test_missing_rows_of_a_batch_are_not_scored():
    scores = Scores(2)
    scores.update(torch.tensor([[0.0, 1.0], [9.0, 0.0]]), batch([0, 0], [1, 1], weight=[1.0, 0.0]))
    assert scores.metrics()["accuracy"] == 1.0


def test_only_matrices_decay():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.LayerNorm(4))
    decayed, rest = parameter_groups(model, 0.1)
    assert [tuple(p.shape) for p in decayed["params"]] == [(5, 4), (4, 4)]
    assert decayed["weight_decay"] == 0.1
    assert {tuple(p.shape) for p in rest["params"]} == {(4,)}
    assert rest["weight_decay"] == 0.0


def test_step_seeds_differ_and_are_the_same_everywhere():
    assert len({step_seed(seed, step) for seed in range(3) for step in range(50)}) == 150
    assert step_seed(1, 2) == 3719260088301377541
