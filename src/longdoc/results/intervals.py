"""How sure an accuracy is, and the difference of two: intervals of 95 % and tests, from runs' records alone."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy import stats

from longdoc.results.comparison import ACCURACY, Row, of_folds
from longdoc.results.record import Record

LEVEL = 0.95
_Z = float(stats.norm.ppf((1 + LEVEL) / 2))


class Interval(NamedTuple):
    """Limits of 95 %, None where there are none; ``method`` says how they came about, or why there are none."""

    low: float | None
    high: float | None
    method: str


class Difference(NamedTuple):
    """Of two accuracies, with limits of 95 % and the p of no difference, None where there is none."""

    low: float | None
    high: float | None
    p: float | None
    method: str


def wilson(right: int, documents: int) -> tuple[float, float]:
    """Limits of a share of ``documents`` independent ones (Wilson, 1927)."""
    share, weight = right / documents, _Z**2 / documents
    middle = (share + weight / 2) / (1 + weight)
    half = _Z * math.sqrt(share * (1 - share) / documents + weight / (4 * documents)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def newcombe(right: int, documents: int, base_right: int, base_documents: int) -> tuple[float, float]:
    """Limits of a difference of two shares of independent documents (Newcombe, 1998, method 10)."""
    (low, high), (base_low, base_high) = wilson(right, documents), wilson(base_right, base_documents)
    share, base = right / documents, base_right / base_documents
    below = math.hypot(share - low, base_high - base)
    return share - base - below, share - base + math.hypot(high - share, base - base_low)


def mean_t(values: Sequence[float]) -> tuple[float, float]:
    """Student's limits of a mean of two values or more."""
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    half = error * float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1))
    return mean - half, mean + half


def welch(values: Sequence[float], base: Sequence[float]) -> tuple[float, float, float] | None:
    """Low, high and two-sided p of a difference of means (Welch, 1947); None if no value differs from its mean."""
    parts = [statistics.variance(of) / len(of) for of in (values, base)]
    if not (squared := sum(parts)):
        return None
    degrees = squared**2 / sum(part**2 / (len(of) - 1) for part, of in zip(parts, (values, base), strict=True))
    difference, error = statistics.fmean(values) - statistics.fmean(base), math.sqrt(squared)
    half = error * float(stats.t.ppf((1 + LEVEL) / 2, degrees))
    p = 2 * float(stats.t.sf(abs(difference) / error, degrees))
    return difference - half, difference + half, p


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p of each of several tests, raised so that all hold together (Holm, 1979)."""
    adjusted, highest, left = {}, 0.0, len(p_values)
    for name, p in sorted(p_values.items(), key=lambda item: item[1]):
        highest = max(highest, min(1.0, p * left))
        adjusted[name] = highest
        left -= 1
    return adjusted


def of_row(row: Row) -> Interval:
    """Of a row's accuracy: over its seeds, or, of one run, by the number of its test documents."""
    accuracies = _accuracies(row)
    if reason := _no_repeats(row, accuracies):
        return Interval(None, None, reason)
    if len(accuracies) > 1:
        return Interval(*mean_t(accuracies), f"Student's t over {len(accuracies)} seeds")
    if limits := of_folds(row.records[0]):
        return Interval(*limits, row.records[0]["folds"]["interval"])
    counts = _counts(row.records[0])
    if isinstance(counts, str):
        return Interval(None, None, counts)
    return Interval(*wilson(*counts), f"Wilson, one run on {counts[1]:,} test documents")


def of_difference(row: Row, base: Row) -> Difference:
    """Of a row's accuracy from ``base``'s, by the seeds of both, or of one run each by the test documents."""
    ours, theirs = _accuracies(row), _accuracies(base)
    for of, values in ((row, ours), (base, theirs)):
        if reason := _no_repeats(of, values):
            return Difference(None, None, None, f"{of.variant}: {reason}")
    if len(ours) > 1 and len(theirs) > 1:
        method = f"Welch's t, {len(ours)} seeds against {len(theirs)}"
        found = welch(ours, theirs)
        return (
            Difference(*found, method) if found else Difference(None, None, None, "none, as seeds do not differ at all")
        )
    if len(ours) != len(theirs):
        return Difference(None, None, None, f"none of {len(ours)} against {len(theirs)} runs, as one run has no spread")
    counts, base_counts = _counts(row.records[0]), _counts(base.records[0])
    if isinstance(counts, str) or isinstance(base_counts, str):
        return Difference(None, None, None, counts if isinstance(counts, str) else str(base_counts))
    table = [[right, documents - right] for right, documents in (counts, base_counts)]
    p = float(stats.fisher_exact(table).pvalue)
    method = f"Newcombe and Fisher's exact test, one run each on {counts[1]:,} test documents, not paired"
    return Difference(*newcombe(*counts, *base_counts), p, method)


def _accuracies(row: Row) -> list[float]:
    values = [record["metrics"].get(ACCURACY) for record in row.records]
    return [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]


def _no_repeats(row: Row, accuracies: list[float]) -> str | None:
    if not accuracies:
        return "none without a test accuracy"
    if len(accuracies) < len(row.records):
        return f"none, as test accuracy is nan in {len(row.records) - len(accuracies)} of {len(row.records)} runs"
    if len({record["seed"] for record in row.records}) < len(row.records):
        return "none, as several runs of one seed are no sample of seeds"
    return None


def _counts(record: Record) -> tuple[int, int] | str:
    """The test documents got right, and all; or why accuracy is not their share."""
    documents, accuracy = record["splits"].get("test", {}).get("rows", 0), record["metrics"][ACCURACY]
    right = accuracy * documents
    if record.get("folds"):
        return "none, as folds share their training documents"
    # An accuracy of labelled tokens or of single labels is of more trials than documents, and they hang together.
    if not documents or record["config"].get("pooling") == "none" or abs(right - round(right)) > 0.01:
        return "none, as accuracy is not a share of the test documents"
    return round(right), documents
