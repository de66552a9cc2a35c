"""How sure a number of one split is, by drawing its documents anew (Efron, 1979): limits of 95 %, percentiles."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.results.intervals import LEVEL, wilson

DRAWS, AT_ONCE, SEED = 2000, 100, 0
METHOD = f"bootstrap over documents, {DRAWS:,} draws, percentiles"


def drawn_sums(rows: NDArray) -> NDArray[np.float64]:
    """Sums (DRAWS, K) over as many documents as there are, drawn with replacement: rows (D, K), one a document."""
    distinct, times = np.unique(rows, axis=0, return_counts=True)  # documents alike are drawn together
    rng, shares = np.random.default_rng(SEED), times / times.sum()
    parts = [rng.multinomial(len(rows), shares, AT_ONCE) @ distinct.astype(float) for _ in range(DRAWS // AT_ONCE)]
    return np.concatenate(parts)


def limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of values (DRAWS,)."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return low, high


def f1_limits(labels: NDArray, predicted: NDArray, classes: int) -> dict[str, tuple[float, float]]:
    """Limits of ``f1_macro`` and ``f1_micro`` by the classes (D,) that documents have and are given, or of those with
    any number of classes by (D, C) bool.

    As in the scores, a macro F1 is the mean over the classes that are there or predicted, in each draw.
    """
    tables = [(of if of.ndim == 2 else np.eye(classes, dtype=bool)[of]) for of in (labels, predicted)]
    there, given = (table.astype(np.int8) for table in tables)  # an eighth of what int64 takes
    twice, both = np.split(drawn_sums(np.hstack([2 * (there & given), there + given])), 2, axis=1)
    f1 = np.divide(twice, both, out=np.zeros_like(twice), where=both > 0)
    macro = f1.sum(1) / np.maximum((both > 0).sum(1), 1)
    micro = twice.sum(1) / np.maximum(both.sum(1), 1)
    return {"f1_macro": limits(macro), "f1_micro": limits(micro)}


def metric_intervals(
    names: Iterable[str], labels: NDArray, predicted: NDArray, classes: int
) -> dict[str, dict[str, Any]]:
    """``low``, ``high`` and ``method`` of those metrics of a split that have limits; arguments as of ``f1_limits``.

    Accuracy, a share of documents, has Wilson's, as in every comparison: of documents that are all right the
    bootstrap draws no wrong one, and would be certain.
    """
    right = labels == predicted if labels.ndim == 1 else (labels == predicted).all(1)
    found = {"accuracy": (*wilson(int(right.sum()), len(right)), "Wilson, by the number of documents")}
    found |= {name: (*of, METHOD) for name, of in f1_limits(labels, predicted, classes).items()}
    return {name: dict(zip(("low", "high", "method"), found[name], strict=True)) for name in names if name in found}
