"""Scores, parameter groups and seeds."""

import math

import pytest
import torch
from reference import classifier
from torch import nn
from torchmetrics.functional.classification import multiclass_accuracy, multiclass_f1_score

from longdoc.attention import SoftmaxAttention
from longdoc.training.module import ClassifierModule, parameter_groups, step_seed
from longdoc.training.scores import Scores, TokenScores, label_weights


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


def tokens(rows, classes=6, length=20):
    """Logits and a batch with labels of tokens, most of them missing, one class absent, the last row filled up."""
    label = torch.where(torch.rand(rows, length) < 0.3, torch.randint(0, classes - 1, (rows, length)), -100)
    weight = torch.ones(rows)
    weight[-1] = 0
    return torch.randn(rows, length, classes), {"index": torch.arange(rows), "label": label, "weight": weight}


def test_scores_of_tokens_are_means_over_the_labelled_ones_whatever_the_batches():
    scores, parts = TokenScores(6), []
    for rows in (2, 5, 3):
        logits, of = tokens(rows)
        scores.update(logits, of)
        parts.append((logits[:-1].flatten(0, 1), of["label"][:-1].flatten()))
    logits, label = (torch.cat(part) for part in zip(*parts, strict=True))
    logits, label = logits[label >= 0], label[label >= 0]
    found = scores.metrics()
    assert found["loss"] == pytest.approx(nn.functional.cross_entropy(logits.double(), label).item(), rel=1e-6)
    for name, score, average in (
        ("accuracy", multiclass_accuracy, "micro"), ("f1_macro", multiclass_f1_score, "macro"),
    ):  # fmt: skip
        assert found[name] == pytest.approx(score(logits, label, 6, average=average).item(), rel=1e-6)
    assert scores.rows == 4


def test_scores_of_tokens_keep_no_more_than_a_few_numbers_a_class():
    scores = TokenScores(6)
    scores.update(*tokens(50))
    kept = [value for value in vars(scores).values() if isinstance(value, torch.Tensor)]
    assert sum(value.numel() for value in kept) == 3 * 6 + 1


def test_missing_labels_and_rows_weigh_nothing():
    label = torch.tensor([[3, -100, 0], [1, 2, -100]])
    weights = label_weights({"label": label, "weight": torch.tensor([1.0, 0.0])})
    assert weights.tolist() == [[1, 0, 1], [0, 0, 0]]
    assert label_weights(batch([0, 1], [2, 0], weight=[1.0, 0.0])).tolist() == [1, 0]


def classify(pooling):
    return ClassifierModule(classifier(SoftmaxAttention, pooling=pooling, dtype=torch.float32), 3)


def test_the_loss_of_tokens_is_the_mean_over_the_labelled_ones_of_the_batch():
    module = classify("none")
    module.log = lambda *_, **__: None
    _, of = tokens(4, classes=3, length=9)
    of |= {"ids": torch.randint(1, 40, (4, 9)), "mask": torch.arange(9) < torch.tensor([9, 4, 7, 9])[:, None]}
    of["label"] = of["label"].masked_fill(~of["mask"], -100)
    logits = module.model(of["ids"], of["mask"])
    losses = [
        -logits[i, j].log_softmax(-1)[of["label"][i, j]].item()
        for i in range(3) for j in range(9) if of["label"][i, j] >= 0
    ]  # fmt: skip
    assert module.training_step(of, 0).item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert isinstance(module.scores, TokenScores)
    assert isinstance(classify("mean").scores, Scores)


def test_a_batch_without_a_labelled_token_has_the_loss_0():
    module = classify("none")
    module.log = lambda *_, **__: None
    of = batch([0], [0]) | {"ids": torch.ones(1, 5, dtype=torch.long), "mask": None}
    of["label"] = torch.full((1, 5), -100)
    loss = module.training_step(of, 0)
    loss.backward()
    assert loss.item() == 0
    assert all(p.grad is None or (p.grad == 0).all() for p in module.parameters())


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


def document_batch(label, weight=None):
    rows = len(label)
    ids = torch.randint(1, 40, (rows, 6), generator=torch.Generator().manual_seed(rows))
    return batch(range(rows), label, weight) | {"ids": ids, "mask": None}


def losses_of(module, of):
    module.log = lambda *_, **__: None
    return module.training_step(of, 0).item(), module.model(of["ids"], of["mask"]).detach().double()


def test_the_loss_of_many_labels_is_the_mean_over_documents_and_classes_without_missing_rows():
    label = [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    model = classifier(SoftmaxAttention, dtype=torch.float32)
    found, logits = losses_of(ClassifierModule(model, 3, multi_label=True), document_batch(label, [1.0, 1.0, 0.0]))
    p = logits.sigmoid().tolist()
    expected = [-math.log(p[i][c] if label[i][c] else 1 - p[i][c]) for i in range(2) for c in range(3)]
    assert found == pytest.approx(sum(expected) / 6, rel=1e-5)


def test_class_weights_weigh_labels_and_not_again_the_batch():
    """A batch of one document counts by its class's weight: divided by the sum of weights it would not."""
    weights = [1.0, 4.0, 0.5]
    module = ClassifierModule(classifier(SoftmaxAttention, dtype=torch.float32), 3, class_weights=weights)
    found, logits = losses_of(module, document_batch([1, 2, 1, 0], [1.0, 1.0, 1.0, 0.0]))
    nll = -logits.log_softmax(-1)
    assert found == pytest.approx((4 * nll[0, 1] + 0.5 * nll[1, 2] + 4 * nll[2, 1]).item() / 3, rel=1e-5)
    found, logits = losses_of(module, document_batch([1]))
    assert found == pytest.approx(-4 * logits.log_softmax(-1)[0, 1].item(), rel=1e-5)


def test_class_weights_of_many_labels_weigh_the_documents_that_have_the_class():
    module = ClassifierModule(
        classifier(SoftmaxAttention, dtype=torch.float32), 3, multi_label=True, class_weights=[3.0, 1.0, 1.0]
    )
    found, logits = losses_of(module, document_batch([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    p = logits.sigmoid()
    losses = -torch.tensor([[3 * p[0, 0].log(), (1 - p[0, 1]).log(), (1 - p[0, 2]).log()], (1 - p[1]).log().tolist()])
    assert found == pytest.approx(losses.mean().item(), rel=1e-5)


def test_class_weights_are_in_no_checkpoint_and_in_no_loss_of_evaluation():
    model = classifier(SoftmaxAttention, dtype=torch.float32)
    plain, weighted = ClassifierModule(model, 3), ClassifierModule(model, 3, class_weights=[9.0, 1.0, 1.0])
    assert plain.state_dict().keys() == weighted.state_dict().keys()
    for module in (plain, weighted):
        module.validation_step(document_batch([0, 1, 2]), 0)
    assert plain.scores.metrics() == weighted.scores.metrics()
