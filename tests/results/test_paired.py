"""Two classifiers on the same documents, against published values and scipy."""

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from longdoc.results.paired import Decided, compare_paired, compare_with, mcnemar, paired_view


def outcome(both: int, gained: int, lost: int, neither: int):
    """What each of two has right: (D,) and (D,)."""
    counts = [both, gained, lost, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        (1, 11, 0.00634765625),  # mlxtend's documentation, scenario A
        (1, 7, 0.0703),  # Fagerland, Lydersen & Laake (2013): airways before and after a transplantation
        (5, 5, 1.0),
        (0, 0, 1.0),
        (0, 1, 1.0),
    ],
)
def test_mcnemar_is_as_published(one, other, p):
    assert mcnemar(one, other) == pytest.approx(p, rel=1e-3)
    assert mcnemar(other, one) == mcnemar(one, other)


def test_the_exact_test_agrees_with_the_chi_square_of_many_documents():
    statistic = (abs(480 - 560) - 1) ** 2 / (480 + 560)  # McNemar (1947), with Edwards's correction
    assert mcnemar(480, 560) == pytest.approx(stats.chi2.sf(statistic, 1), rel=0.02)


def test_the_difference_and_its_limits_are_scipys():
    right, base = outcome(both=40, gained=12, lost=3, neither=5)
    found = compare_paired(right, base)
    assert (found["documents"], found["gained"], found["lost"]) == (60, 12, 3)
    assert found["difference"] == pytest.approx(right.mean() - base.mean())
    difference = right.astype(float) - base
    known = stats.bootstrap((difference,), np.mean, method="percentile", n_resamples=9999, rng=0).confidence_interval
    assert (found["low"], found["high"]) == pytest.approx((known.low, known.high), abs=0.02)
    assert found["p"] == stats.binomtest(3, 15).pvalue
    unpaired = np.hypot(right.std(), base.std()) / np.sqrt(60)
    assert found["high"] - found["low"] < 2 * 1.96 * unpaired  # what is alike in both does not blur the difference


def test_turned_round_it_is_the_opposite():
    right, base = outcome(20, 9, 2, 4)
    one, other = compare_paired(right, base), compare_paired(base, right)
    assert (one["difference"], one["p"]) == (-other["difference"], other["p"])
    assert one["low"] == pytest.approx(-other["high"], abs=0.03)
    same = compare_paired(base, base)
    assert (same["difference"], same["low"], same["high"], same["p"]) == (0, 0, 0, 1)


def test_only_decisions_on_the_same_are_compared():
    right, better = outcome(20, 2, 12, 4)
    base = Decided(right, "aa", ["x", "y"])
    others = [
        base._replace(right=better), base._replace(content="bb"), base._replace(classes=["y", "x"]),
        base._replace(right=None), base,
    ]  # fmt: skip
    found = compare_with(base, others)
    assert [one.get("reason") for one in found] == [
        None, "its documents are others, or encoded otherwise", "its classes are others, or in another order",
        "labelled tokens hang together in their documents", None,
    ]  # fmt: skip
    assert found[0]["p"] == stats.binomtest(2, 14).pvalue
    assert [found[i]["p_holm"] for i in (0, 4)] == [pytest.approx(2 * found[0]["p"]), 1]
    console = Console(width=80, record=True)
    console.print(paired_view("first", list("abcde"), found))
    shown = console.export_text()
    assert "b is not compared with first: its documents are others, or encoded otherwise" in shown
    assert [line.split()[0] for line in shown.splitlines() if "+0." in line] == ["a", "e"]
    assert max(map(len, shown.splitlines())) <= 80
