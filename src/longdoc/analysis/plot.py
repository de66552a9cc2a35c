"""Sharpness, monotonicity, position bias, decay and cost as pictures."""

import math
from collections.abc import Sequence
from pathlib import Path

from longdoc.analysis.look import QUIET, SOFTMAX, color, figure, legend, panels
from longdoc.analysis.parts import LOW
from longdoc.analysis.subjects import SOFTMAX as BASELINE
from longdoc.analysis.subjects import Row

FLOOR = 1e-3  # of the weights shown; zero and negative ones lie on it


def split(rows: Sequence[Row]) -> tuple[dict[str, Row], Row]:
    """The maps' rows by name, and softmax's."""
    by_name = {row["map"]: row for row in rows}
    return by_name, by_name.pop(BASELINE)


def plot_sharpness(rows: Sequence[Row], tokens: int, every: Sequence[str], path: Path) -> None:
    maps, softmax = split(rows)
    title = "Can a map attend to few tokens? Entropy of the weights as queries grow"
    with panels(path, title, [*maps], "|q|, times its first value", "entropy of a query's weights, nats") as (drawn, axes):
        for name, axis in axes.items():
            axis.axhline(math.log(tokens), label=f"uniform over {tokens} tokens: ln {tokens}", **QUIET)
            axis.plot(softmax["factors"], softmax["entropy"], label="softmax", **SOFTMAX)
            axis.plot(maps[name]["factors"], maps[name]["entropy"], color=color(name, every), label="the map", marker="o", ms=3)
            axis.set_xscale("log", base=2)
            axis.set_xticks(softmax["factors"][::2], [f"×{f:g}" for f in softmax["factors"][::2]])
            axis.set_ylim(0, 1.1 * math.log(tokens))
        legend(drawn, axis)


def plot_monotonicity(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    maps, softmax = split(rows)
    title = "Does a larger q·k mean a larger weight? One query's weights"
    with panels(path, title, [*maps], "s = q·k / √D", "weight, times the mean weight") as (drawn, axes):
        for name, axis in axes.items():
            row = maps[name]
            low = min(softmax["scores"])
            if low < LOW:
                axis.axvspan(low, LOW, color="0.93", label=f"s < {LOW:g}, where 1 + s + s²/2 falls with s")
            axis.plot(softmax["scores"], softmax["weights"], label="softmax", **SOFTMAX)
            positive = [max(w, FLOOR) for w in row["weights"]]
            axis.plot(row["scores"], positive, "o", ms=2.5, color=color(name, every), label="the map")
            axis.set_yscale("log")
            axis.set_ylim(FLOOR * 0.7, None)
            axis.text(0.03, 0.97, f"ρ = {row['spearman']:.2f}", transform=axis.transAxes, va="top")
            if row["negative_share"]:
                axis.text(0.97, 0.05, f"{row['negative_share']:.0%} negative", transform=axis.transAxes, ha="right")
        legend(drawn, axis)


def plot_position(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    maps, softmax = split(rows)
    title = "Does distance alone change a weight? Random queries and keys"
    with panels(path, title, [*maps], "distance |i − j|, tokens", "mean weight, times the mean over all distances") as (drawn, axes):
        for name, axis in axes.items():
            row, own = maps[name], color(name, every)
            axis.axhline(1, **QUIET)
            axis.plot(softmax["distance"], softmax["weight"], label="softmax", **SOFTMAX)
            axis.plot(row["distance"], row["weight"], color=own, label="the map, bidirectional")
            if "causal_weight" in row:
                axis.plot(row["causal_distance"], row["causal_weight"], color=own, ls="", marker="o", ms=3, mfc="white", label="causal")
            axis.set_xscale("log")
            axis.set_ylim(0, None)
        legend(drawn, axis)


def plot_decay(rows: Sequence[Row], path: Path) -> None:
    """A panel a decay: each head, or the quantiles of its channels, with its effective window."""
    title = "How far does a decay see, before training?"
    with figure(path, title, 1, len(rows), 2.8) as (drawn, axes):
        for axis, row in zip(axes[0], rows, strict=True):
            for i, (profile, window) in enumerate(zip(row["profiles"], row["windows"], strict=True)):
                axis.plot(row["distances"], profile, color=f"C{i}")
                axis.annotate(f"{window:.0f}", (row["distances"][-1], profile[-1]))
            axis.set(title=row["decay"], xscale="log", xlabel="distance |i − j|, tokens")
        axes[0][0].set_ylabel("share of a weight that is left")


def plot_cost(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    """From which length a map is cheaper than softmax: by operations and, if timed, by the clock."""
    rows = sorted(rows, key=lambda row: row["crossover"], reverse=True)
    timed = any("ratio" in row for row in rows)
    title = "From which length is a map cheaper than softmax? Attention alone"
    with figure(path, title, 1, 1, 0.26 * len(rows) + 0.8) as (drawn, axes):
        axis = axes[0][0]
        for y, row in enumerate(rows):
            own = color(row["map"], every)
            axis.plot(row["crossover"], y, "o", ms=6, color=own, mfc="white")
            axis.annotate(f"{row['flops'] / 1000:.1f} kFLOP", (row["crossover"], y), (-6, 0), textcoords="offset points", ha="right", va="center")
            if timed and row["measured_crossover"]:
                axis.plot([row["crossover"], row["measured_crossover"]], [y, y], color=own, lw=1)
                axis.plot(row["measured_crossover"], y, "o", ms=6, color=own)
        axis.set_yticks(range(len(rows)), [row["map"] for row in rows])
        axis.set_xscale("log", base=2)
        axis.set_xlabel("N, tokens a document")
        axis.grid(axis="x", alpha=0.3, linewidth=0.6)
