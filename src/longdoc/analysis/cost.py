"""What attention alone costs: operations by formula, seconds by the clock, and where softmax is overtaken."""

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from longdoc.analysis.subjects import SOFTMAX, Mixers, Row, joined
from longdoc.speed import crossover


def cost(mixers: Mixers, head_dim: int, heads: int) -> list[Row]:
    """Floating point operations a token and head, a multiplication and an addition counted as two.

    Softmax: 4 N D. Linear attention: 4 F D for keys times values and queries times the state, 4 F for the normaliser,
    and the map's own matrix products (4 D F for a projection to F features). ``crossover`` is the N from which
    softmax takes more.
    """
    rows = []
    for name, mixer in mixers.items():
        if name == SOFTMAX:
            continue
        features = mixer.feature_map.feature_dim
        flops = 4 * features * head_dim + 4 * features + map_flops(mixer.feature_map, head_dim, heads)
        rows.append({"map": name, "features": features, "flops": flops, "crossover": flops / (4 * head_dim)})
    return rows


def map_flops(feature_map: Any, head_dim: int, heads: int, tokens: int = 64) -> float:
    """Matrix products in a map of one query and one key of a head, read off a run."""
    dtype = next((t.dtype for t in feature_map.parameters()), torch.float32)
    x = torch.zeros(1, heads, tokens, head_dim, dtype=dtype)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        feature_map.query(x)
        feature_map.key(x)
    return counter.get_total_flops() / (tokens * heads)


def time_mixers(
    mixers: Mixers, head_dim: int, heads: int, lengths: Sequence[int], tokens: int, rounds: int,
    compiled: bool = False,
) -> dict[str, dict[int, float]]:  # fmt: skip
    """Median seconds of a forward pass in float32 over ``tokens`` in documents of each length: {name: {N: seconds}}.

    All take turns, round by round, so that whatever else the machine does meets all; the first round is not counted.
    """
    found: dict[str, dict[int, float]] = {name: {} for name in mixers}
    mixers = {name: mixer.float() for name, mixer in mixers.items()}
    for n in lengths:
        q, k, v = torch.randn(3, max(1, tokens // n), heads, n, head_dim)
        x = joined(q)
        calls = {name: torch.compile(m, dynamic=False) if compiled else m for name, m in mixers.items()}
        seconds: dict[str, list[float]] = {name: [] for name in mixers}
        for _ in range(1 + rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                with torch.no_grad():
                    call(q, k, v, x)
                seconds[name].append(time.perf_counter() - start)
        for name in mixers:
            found[name][n] = median(seconds[name][1:])
        torch.compiler.reset()
    return found


def add_measured(rows: Sequence[Row], seconds: Mapping[str, Mapping[int, float]]) -> None:
    """Puts ratios of speed to softmax and the measured crossover into the rows of ``cost``."""
    for row in rows:
        ratio = {n: seconds[SOFTMAX][n] / own for n, own in seconds[row["map"]].items()}
        row["ratio"] = ratio
        row["measured_crossover"] = crossover([*ratio], [*ratio.values()])
