"""Sharpness, monotonicity and position bias of every mixer on the same queries and keys."""

from collections.abc import Sequence
from statistics import mean

from torch import Tensor

from longdoc.analysis.measures import causal, distance_profile, entropy, spearman
from longdoc.analysis.subjects import Mixers, Row, is_causal, weights

SHOWN_KEYS = 64
LOW = -1.0  # below it the Taylor kernel 1 + s + s²/2 rises again
FEWEST_LOW = 8
NEAR, FAR = 1 / 16, 1 / 2  # of the document


def sharpness(mixers: Mixers, q: Tensor, k: Tensor, factors: Sequence[float]) -> list[Row]:
    """Mean entropy of the weights, in nats, as queries grow by each factor.

    Softmax tends to 0. A map with bounded key features cannot (entropy >= ln N - ln(max / min)), and one that is
    homogeneous, such as relu, does not see |q| at all.
    """
    rows = []
    for name, mixer in mixers.items():
        found = [weights(mixer, q * factor, k) for factor in factors]
        rows.append({
            "map": name,
            "factors": list(factors),
            "entropy": [entropy(w).mean().item() for w in found],
            "negative_share": [(w < 0).double().mean().item() for w in found],
        })  # fmt: skip
    return rows


def monotonicity(mixers: Mixers, q: Tensor, k: Tensor) -> list[Row]:
    """Spearman's correlation of a query's weights with s = q·k / sqrt(D), the mean over queries and heads.

    ``spearman_low`` is that among keys with s < -1; ``scores`` and ``weights`` are one query's, every few keys,
    weights in multiples of the plain mean's.
    """
    scores = q @ k.mT / q.shape[-1] ** 0.5
    order = scores[0, 0, 0].argsort()[:: max(1, k.shape[2] // SHOWN_KEYS)]
    rows = []
    for name, mixer in mixers.items():
        found = weights(mixer, q, k)
        by_head = spearman(scores, found).mean(-1)[0]
        rows.append({
            "map": name,
            "spearman": by_head.mean().item(),
            "by_head": by_head.tolist(),
            "spearman_low": _spearman_low(scores, found),
            "negative_share": (found < 0).double().mean().item(),
            "scores": scores[0, 0, 0, order].tolist(),
            "weights": (k.shape[2] * found[0, 0, 0, order]).tolist(),
        })  # fmt: skip
    return rows


def _spearman_low(scores: Tensor, found: Tensor) -> float | None:
    """Among keys with s < -1 only, which differ from query to query: the first head's queries with enough of them."""
    pairs = [(s[s < LOW], w[s < LOW]) for s, w in zip(scores[0, 0], found[0, 0], strict=True)]
    values = [spearman(s, w).item() for s, w in pairs if len(s) >= FEWEST_LOW]
    return mean(values) if values else None


def position_bias(mixers: Mixers, q: Tensor, k: Tensor) -> list[Row]:
    """Mean share of a query's reading against distance, bidirectional and causal, times the number of tokens it sees.

    ``near_over_far`` divides the mean over the nearest sixteenth of the document by that over its far half: 1 where
    a map knows no positions.
    """
    rows = []
    for name, mixer in mixers.items():
        found = weights(mixer, q, k)
        row: Row = {"map": name} | _profile(found, "", False)
        rows.append(row | (_profile(causal(found), "causal_", True) if is_causal(mixer) else {}))
    return rows


def _profile(found: Tensor, prefix: str, is_causal: bool) -> Row:
    distances, relative = distance_profile(found, is_causal)
    n = found.shape[-1]
    near, far = relative[distances < NEAR * n], relative[distances >= FAR * n]
    return {
        f"{prefix}distance": distances.tolist(),
        f"{prefix}weight": relative.tolist(),
        f"{prefix}near_over_far": (near.mean() / far.mean()).item(),
    }
