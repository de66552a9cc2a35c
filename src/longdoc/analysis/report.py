"""The parts of an analysis as tables for the terminal."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from longdoc.analysis.subjects import Row


def table(title: str, columns: Mapping[str, str], rows: Sequence[Row]) -> Table:
    """One row a map; ``columns`` are heading and key. Narrow, since a pipe is taken for 80 columns wide."""
    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for i, heading in enumerate(columns):
        grid.add_column(heading, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(show(row.get(key)) for key in columns.values()))
    return grid


def show(value: Any) -> str:
    """Two or three digits; nothing where nothing is known."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if 0 < abs(value) < 0.01:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def of_variance(rows: Sequence[Row]) -> Table:
    columns = {
        "map": "map", "F": "features", "|q+k|²": "sum_squared", "formula": "formula", "indep.": "independent",
        "orthog.": "orthogonal", "bias": "bias", "within": "within_theory",
    }  # fmt: skip
    kinds = ("independent", "orthogonal")
    shown = [
        row | {kind: row[kind]["variance"] for kind in kinds}
        | {"bias": max((row[kind]["bias"] / row[kind]["bias_error"] for kind in kinds), key=abs)}
        for row in rows
    ]  # fmt: skip
    return table(
        "Random features against exp(q·k/√D): relative variance; bias in standard errors; |q+k|² over √D",
        columns,
        shown,
    )


def of_sharpness(rows: Sequence[Row], tokens: int) -> Table:
    factors = rows[0]["factors"]
    shown = [{"map": row["map"], **dict(zip(factors, row["entropy"], strict=True))} for row in rows]
    title = f"Mean entropy of the weights, nats, by the factor on q (uniform: ln {tokens} = {math.log(tokens):.2f})"
    return table(title, {"map": "map"} | {f"×{factor:g}": factor for factor in factors}, shown)


def of_monotonicity(rows: Sequence[Row]) -> Table:
    columns = {
        "map": "map", "mean": "spearman", "lowest head": "lowest", "highest head": "highest", "s < -1": "spearman_low",
        "negative weights": "negative_share",
    }  # fmt: skip
    shown = [row | {"lowest": min(row["by_head"]), "highest": max(row["by_head"])} for row in rows]
    return table("Spearman's correlation of a query's weights with s = q·k/√D", columns, shown)


def of_position(rows: Sequence[Row]) -> Table:
    columns = {"map": "map", "bidirectional": "near_over_far", "causal": "causal_near_over_far"}
    return table("Mean weight near / far (nearest sixteenth, far half of the document)", columns, rows)


def of_decays(rows: Sequence[Row]) -> Table:
    columns = {"decay": "decay", "shortest": "shortest", "longest": "longest"}
    return table("Effective windows of decays before training, tokens to one side", columns, rows)


def of_cost(rows: Sequence[Row], head_dim: int) -> Table:
    columns = {"map": "map", "F": "features", "FLOP": "flops", "fewer from": "crossover"}
    title = f"Operations a token and head (D = {head_dim}), and the N from which softmax takes more"
    if "ratio" not in rows[0]:
        return table(title, columns, rows)
    columns |= {f"N={n}": n for n in rows[0]["ratio"]} | {"faster from": "measured_crossover"}
    return table(f"{title}; speed / softmax's", columns, [row | row["ratio"] for row in rows])


def of_layers(layers: Sequence[Row], name: str) -> Table:
    columns = {
        "layer": "layer", "head": "head", "entropy": "entropy", "softmax's": "softmax_entropy",
        "Spearman with q·k": "spearman", "negative": "negative_share", "median |q+k|²": "median",
        "90 %": "high",
    }  # fmt: skip
    rows = [
        {"layer": layer["layer"], **head, "median": head["sum_squared"][1], "high": head["sum_squared"][2]}
        for layer in layers
        for head in layer["heads"]
    ]
    uniform = layers[0]["uniform"]
    return table(
        f"{name} on {layers[0]['tokens']} tokens; uniform weights have the entropy {uniform:.2f}", columns, rows
    )
