"""Limits by drawing documents anew, against scipy's."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from longdoc.results.bootstrap import DRAWS, drawn_sums, f1_limits, limits, metric_intervals
from longdoc.results.intervals import wilson

RNG = np.random.default_rng(0)
LABELS = RNG.choice(4, 60, p=[0.6, 0.3, 0.1, 0.0])  # no document has class 3
GIVEN = np.where(RNG.random(60) < 0.7, LABELS, RNG.integers(4, size=60))


def scipys(statistic, *samples, draws=500):
    """Percentiles of ``statistic`` over the rows of all samples together."""

    def of_rows(rows):
        return statistic(*(sample[rows] for sample in samples))

    options = {"vectorized": False, "n_resamples": draws, "method": "percentile", "rng": np.random.default_rng(1)}
    return stats.bootstrap((np.arange(len(samples[0])),), of_rows, **options).confidence_interval


def test_documents_are_drawn_as_often_as_there_are_documents_and_with_replacement():
    sums = drawn_sums(np.array([[1, 0], [0, 1], [0, 1], [0, 1]]))
    assert sums.shape == (DRAWS, 2)
    assert set(sums.sum(1)) == {4}
    assert sums[:, 0].mean() == pytest.approx(1, abs=0.1)
    assert sums[:, 0].var() == pytest.approx(4 * 0.25 * 0.75, abs=0.1)


def test_limits_of_a_mean_are_scipys():
    right = (LABELS == GIVEN)[:, None]
    known = scipys(np.mean, right[:, 0], draws=DRAWS)
    assert limits(drawn_sums(right)[:, 0] / 60) == pytest.approx((known.low, known.high), abs=0.02)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_limits_of_f1_are_scipys_of_scikit_learns(average):
    """Not all draws hold all classes: the mean is over those that a draw has or gives."""
    known = scipys(lambda labels, given: f1_score(labels, given, average=average), LABELS, GIVEN)
    found = f1_limits(LABELS, GIVEN, 4)[f"f1_{average}"]
    assert found == pytest.approx((known.low, known.high), abs=0.03)


def test_documents_with_any_number_of_classes_are_drawn_whole():
    rng = np.random.default_rng(2)
    labels = rng.random((50, 3)) < [0.8, 0.3, 0.1]
    given = labels ^ (rng.random((50, 3)) < 0.2)
    known = scipys(lambda a, b: f1_score(a, b, average="macro", zero_division=np.nan), labels, given)
    assert f1_limits(labels, given, 3)["f1_macro"] == pytest.approx((known.low, known.high), abs=0.03)
    whole = int((labels == given).all(1).sum())
    assert metric_intervals(["accuracy"], labels, given, 3)["accuracy"]["high"] == wilson(whole, 50)[1]


def test_where_all_is_right_accuracy_is_not_certain():
    found = metric_intervals(["loss", "accuracy", "f1_macro"], LABELS, LABELS, 4)
    assert found.keys() == {"accuracy", "f1_macro"}
    assert (found["accuracy"]["low"], found["accuracy"]["high"]) == wilson(60, 60)
    assert found["accuracy"]["low"] < 1
    assert f1_limits(LABELS, LABELS, 4) == f1_limits(LABELS, LABELS, 4)  # of one seed
