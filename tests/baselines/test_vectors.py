"""Logistic regression on vectors that are given: scikit-learn's own, of single texts and of pairs."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from longdoc.baselines.vectors import VectorBaseline


class Given(VectorBaseline):
    """Texts are the names of vectors."""

    def __init__(self, given):
        super().__init__(None, [10])
        self.given = given

    def vectors(self, texts):
        return np.stack([self.given[text] for text in texts])

    def together(self, a, b):
        return abs(a - b)


class Pairs(list):
    """Texts, and which two each document is."""

    def __init__(self, texts, pairs):
        super().__init__(texts)
        self.pairs = pairs


GIVEN = {f"{i}": vector for i, vector in enumerate(np.random.default_rng(0).normal(size=(40, 4)))}


def oracle(known, labels, unseen):
    return LogisticRegression(C=10, max_iter=1000).fit(known, labels).predict_log_proba(unseen)


def test_single_texts_are_regressed_as_scikit_learn_does():
    names, values = list(GIVEN), np.stack(list(GIVEN.values()))
    labels = (values[:, 0] > 0).astype(int)
    model = Given(GIVEN)
    model.fit(names[:30], labels[:30], (), labels[:0], np.ones(2))
    np.testing.assert_allclose(model.logits(names[30:]), oracle(values[:30], labels[:30], values[30:]), atol=1e-6)
    assert (model.parameters, model.chosen()) == (5, {"cost": 10})


def test_pairs_are_regressed_on_what_both_vectors_make_together(monkeypatch):
    monkeypatch.setattr("longdoc.baselines.vectors.CHUNK", 7)
    values = np.stack(list(GIVEN.values()))
    rows = np.random.default_rng(1).integers(40, size=(60, 2))
    differences = abs(values[rows[:, 0]] - values[rows[:, 1]])
    labels = (differences[:, 0] > 1).astype(int)
    model = Given(GIVEN)
    model.fit(Pairs(GIVEN, rows[:50]), labels[:50], (), labels[:0], np.ones(2))
    expected = oracle(differences[:50], labels[:50], differences[50:])
    np.testing.assert_allclose(model.logits(Pairs(GIVEN, rows[50:])), expected, atol=1e-6)
