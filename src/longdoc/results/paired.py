"""Two classifiers on the same documents: which of them each gets right that the other does not."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table
from rich.text import Text
from scipy import stats

from longdoc.results.bootstrap import METHOD, drawn_sums, limits
from longdoc.results.intervals import holm

Comparison = dict[str, Any]


class Decided(NamedTuple):
    """What was right (D,) of the documents of a split, None if its tokens have labels; a hash of the documents, and the
    classes."""

    right: NDArray[np.bool_] | None
    content: str
    classes: list[str]


def mcnemar(one: int, other: int) -> float:
    """The two-sided p of no difference, where ``one`` documents were right by one classifier alone, and ``other`` by
    the other alone: McNemar's test, exact by the binomial."""
    return float(stats.binomtest(one, one + other).pvalue) if one + other else 1.0


def compare_paired(right: NDArray[np.bool_], base: NDArray[np.bool_]) -> Comparison:
    """Of what is right (D,) against what the ``base`` has right (D,), of the same documents in the same order.

    ``difference`` of the accuracies with ``low`` and ``high``, its limits of 95 %; ``gained`` and ``lost``, the
    documents right here alone and there alone; ``p``.
    """
    gained, lost = int((right & ~base).sum()), int((base & ~right).sum())
    low, high = limits(drawn_sums((1 * right - base)[:, None])[:, 0] / len(right))
    return {
        "documents": len(right),
        "difference": (gained - lost) / len(right),
        "low": low,
        "high": high,
        "gained": gained,
        "lost": lost,
        "p": mcnemar(gained, lost),
        "method": f"McNemar's exact test; {METHOD}",
    }


def compare_with(base: Decided, others: Sequence[Decided]) -> list[Comparison]:
    """Each of the others against ``base``, with ``p_holm`` for all together; where they have not decided on the same,
    the ``reason`` alone."""
    found: list[Comparison] = []
    for other in others:
        if reason := _reason(base, other):
            found.append({"reason": reason})
        else:
            assert base.right is not None
            assert other.right is not None
            found.append(compare_paired(other.right, base.right))
    adjusted = holm({str(i): one["p"] for i, one in enumerate(found) if "p" in one})
    return [one | ({"p_holm": adjusted[str(i)]} if "p" in one else {}) for i, one in enumerate(found)]


def _reason(base: Decided, other: Decided) -> str | None:
    if base.right is None or other.right is None:
        return "labelled tokens hang together in their documents"
    if base.classes != other.classes:
        return "its classes are others, or in another order"
    if base.content != other.content:
        return "its documents are others, or encoded otherwise"
    return None


def paired_view(base: str, names: Sequence[str], comparisons: Sequence[Comparison]) -> Group:
    """A row a comparison with ``base``, of several with the p that makes up for their number; a line for each that
    cannot be made."""
    table = Table(box=None, pad_edge=False)
    table.add_column("checkpoint", overflow="fold")
    several = sum("p" in found for found in comparisons) > 1
    for name in ("Δ accuracy", "95 %", "gained", "lost", "p", *(["p, Holm"] if several else [])):
        table.add_column(name, justify="right", no_wrap=True)
    lines = []
    for name, found in zip(names, comparisons, strict=True):
        if "reason" in found:
            lines.append(Text(f"{name} is not compared with {base}: {found['reason']}"))
            continue
        between = f"{found['low']:+.3f} to {found['high']:+.3f}"
        p = [_p(found[key]) for key in ("p", "p_holm")[: 1 + several]]
        table.add_row(Text(name), f"{found['difference']:+.3f}", between, str(found["gained"]), str(found["lost"]), *p)
    if not table.row_count:
        return Group(*lines)
    head = Text(f"against {base}; gained and lost are the documents that one of the two alone has right")
    return Group(head, table, *lines)


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"
