"""Intervals and tests against scipy's and published values."""

import pytest
from results.records import made
from scipy import stats

from longdoc.results import intervals
from longdoc.results.comparison import Row, compare

SOFTMAX = [0.40, 0.44, 0.45]
ELU = [0.50, 0.52, 0.57]


def rows(*records: dict) -> dict[str, Row]:
    (group,), _ = compare(records)
    return {row.variant: row for row in group.rows}


@pytest.mark.parametrize(("right", "documents"), [(59, 60), (740, 2000), (0, 10), (10, 10)])
def test_wilson_is_scipys(right, documents):
    known = stats.binomtest(right, documents).proportion_ci(method="wilson")
    assert intervals.wilson(right, documents) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(
    ("counts", "known"),
    [((56, 70, 48, 80), (0.0524, 0.3339)), ((9, 10, 3, 10), (0.1705, 0.8090)), ((10, 10, 0, 20), (0.6791, 1.0))],
)
def test_newcombe_is_as_published(counts, known):
    """Newcombe (1998), table II, method 10: cases a, b and g."""
    assert intervals.newcombe(*counts) == pytest.approx(known, abs=5e-5)


def test_means_of_seeds_are_scipys():
    known = stats.t.interval(0.95, 2, loc=stats.tmean(ELU), scale=stats.sem(ELU))
    assert intervals.mean_t(ELU) == pytest.approx(known)
    found = stats.ttest_ind(ELU, SOFTMAX, equal_var=False)
    limits = found.confidence_interval(0.95)
    assert intervals.welch(ELU, SOFTMAX) == pytest.approx((limits.low, limits.high, found.pvalue))
    assert intervals.welch([0.5, 0.5], [0.4, 0.4]) is None


def test_holm():
    adjusted = intervals.holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})  # Holm's own steps: 4, 3, 2, 1 times
    assert adjusted == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})
    assert intervals.holm({"a": 0.7, "b": 0.9}) == {"a": 1.0, "b": 1.0}


def test_several_seeds_are_compared_by_seeds():
    records = [made("softmax", seed=i, accuracy=a) for i, a in enumerate(SOFTMAX)]
    found = rows(*records, *(made(seed=i, accuracy=a) for i, a in enumerate(ELU)))
    assert intervals.of_row(found["elu"]) == (*intervals.mean_t(ELU), "Student's t over 3 seeds")
    difference = intervals.of_difference(found["elu"], found["softmax"])
    assert difference == (*intervals.welch(ELU, SOFTMAX), "Welch's t, 3 seeds against 3")


def test_one_run_each_is_compared_by_test_documents():
    found = rows(made("softmax", accuracy=0.4), made(accuracy=0.43))
    assert intervals.of_row(found["elu"])[:2] == intervals.wilson(860, 2000)
    difference = intervals.of_difference(found["elu"], found["softmax"])
    assert difference[:2] == intervals.newcombe(860, 2000, 800, 2000)
    assert difference.p == pytest.approx(stats.fisher_exact([[860, 1140], [800, 1200]]).pvalue)
    assert "2,000 test documents, not paired" in difference.method


def test_where_there_is_no_interval_the_reason_is_said():
    found = rows(made("softmax", seed=1), made("softmax", seed=2), made(accuracy=0.43))
    difference = intervals.of_difference(found["elu"], found["softmax"])
    assert difference == (None, None, None, "none of 1 against 2 runs, as one run has no spread")
    twice = rows(made(accuracy=0.4), made(accuracy=0.5))["elu"]
    assert intervals.of_row(twice) == (None, None, "none, as several runs of one seed are no sample of seeds")
    part = rows(made(seed=1, accuracy=None), made(seed=2))["elu"]
    assert intervals.of_row(part) == (None, None, "none, as test accuracy is nan in 1 of 2 runs")
    nan = rows(made(accuracy=None))["elu"]
    assert intervals.of_row(nan) == (None, None, "none without a test accuracy")


def test_accuracy_of_tokens_has_no_interval_by_documents():
    none = (None, None, "none, as accuracy is not a share of the test documents")
    tokens = made(accuracy=1.0)
    tokens["config"]["pooling"] = "none"
    assert intervals.of_row(rows(tokens)["elu"]) == none
    assert intervals.of_row(rows(made(accuracy=0.12345))["elu"]) == none
