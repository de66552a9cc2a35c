"""Sharpness, monotonicity, position bias, decay and cost as pictures."""

import math
from collections.abc import Sequence
from pathlib import Path

from longdoc.analysis.look import COLORS, QUIET, SOFTMAX, color, figure, legend, panels
from longdoc.analysis.parts import LOW
from longdoc.analysis.subjects import SOFTMAX as BASELINE
from longdoc.analysis.subjects import Row
from longdoc.benchmark.plot import short

FLOOR, TOP = 1e-3, 50.0  # of the weights shown; zero and negative ones lie on the floor


def split(rows: Sequence[Row]) -> tuple[dict[str, Row], Row]:
    """The maps' rows by name, and softmax's."""
    by_name = {row["map"]: row for row in rows}
    return by_name, by_name.pop(BASELINE)


def plot_sharpness(rows: Sequence[Row], tokens: int, every: Sequence[str], path: Path) -> None:
    maps, softmax = split(rows)
    title = "Can a map attend to few tokens? Entropy of the weights as queries grow"
    with panels(path, title, [*maps], "factor on the query q", "entropy of a query's weights, nats") as (drawn, axes):
        for name, axis in axes.items():
            axis.axhline(math.log(tokens), label=f"uniform over {tokens} tokens: ln {tokens}", **QUIET)
            axis.plot(softmax["factors"], softmax["entropy"], label="softmax", **SOFTMAX)
            own = color(name, every)
            axis.plot(maps[name]["factors"], maps[name]["entropy"], "o-", ms=3, color=own, label="the map")
            axis.set_xscale("log", base=2)
            axis.set_xticks(softmax["factors"][::2], [f"×{f:g}" for f in softmax["factors"][::2]])
            axis.set_ylim(0, 1.1 * math.log(tokens))
        legend(drawn, [axis], color(name, every))


def plot_monotonicity(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    maps, softmax = split(rows)
    title = "Does a larger q·k mean a larger weight? One query's weights; ρ: Spearman, its head's mean"
    with panels(path, title, [*maps], "s = q·k / √D", "weight, times the mean weight") as (drawn, axes):
        for name, axis in axes.items():
            row = maps[name]
            low = min(softmax["scores"])
            if low < LOW:
                axis.axvspan(low, LOW, color="0.93", label=f"s < {LOW:g}, where 1 + s + s²/2 falls with s")
            axis.plot(softmax["scores"], softmax["weights"], label="softmax", **SOFTMAX)
            shown = [max(weight, FLOOR) for weight in row["weights"]]
            label = f"the map ({FLOOR:g} or less: on the lowest line)"
            axis.plot(row["scores"], shown, "o", ms=2.5, color=color(name, every), label=label)
            axis.set(yscale="log", ylim=(FLOOR * 0.6, TOP))
            rank = f"ρ = {row['by_head'][0]:.2f}".replace("-0.00", "0.00")
            box = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
            axis.text(0.04, 0.96, rank, transform=axis.transAxes, va="top", bbox=box)
            if row["negative_share"]:
                axis.text(0.97, 0.1, f"{row['negative_share']:.0%} negative", transform=axis.transAxes, ha="right")
        legend(drawn, [axis], color(name, every))


def plot_position(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    maps, softmax = split(rows)
    title = "Does distance alone change a weight? Random queries and keys"
    with panels(path, title, [*maps], "distance |i − j|, tokens", "weight, times the mean weight") as (drawn, axes):
        for name, axis in axes.items():
            row, own = maps[name], color(name, every)
            axis.axhline(1, **QUIET)
            axis.plot(softmax["distance"], softmax["weight"], label="softmax", **SOFTMAX)
            axis.plot(row["distance"], row["weight"], color=own, label="the map, bidirectional")
            if "causal_weight" in row:
                at, weight = row["causal_distance"], row["causal_weight"]
                axis.plot(at, weight, "o", ms=3, color=own, mfc="white", label="causal")
            axis.set(xscale="log", ylim=(0, 2))
        legend(drawn, [axis], color(name, every))


def plot_decays(rows: Sequence[Row], tokens: int, path: Path) -> None:
    """A panel a decay, a line a head, or a channel of it."""
    title = f"How far does a decay see before training? Effective windows in a document of {tokens} tokens"
    with figure(path, title, 1, len(rows), 2.6) as (_, axes):
        for axis, row in zip(axes[0], rows, strict=True):
            for head, (profiles, windows) in enumerate(zip(row["profiles"], row["windows"], strict=True)):
                by_channel = isinstance(windows, list)
                lines = profiles if by_channel else [profiles]
                few = f"{min(windows):.0f} to {max(windows):.0f}" if by_channel else f"{windows:.0f}"
                look = {"color": COLORS[head % len(COLORS)]} | ({"lw": 0.6, "alpha": 0.6} if by_channel else {})
                for i, line in enumerate(lines):
                    axis.plot(row["distances"], line, label=f"head {head}: {few}" if i == 0 else None, **look)
            axis.set(title=row["decay"], xscale="log", xlabel="distance |i − j|, tokens", ylim=(0, 1.02))
            axis.legend(title="window, tokens", loc="lower left", fontsize=7, title_fontsize=7)
            axis.grid(alpha=0.3, linewidth=0.6)
        axes[0][0].set_ylabel("share of a weight that is left")


def plot_cost(rows: Sequence[Row], every: Sequence[str], how: str, path: Path) -> None:
    """From which length a map is cheaper than softmax: by operations and, if timed, by the clock; ``how`` it was."""
    rows = sorted(rows, key=lambda row: row["crossover"], reverse=True)
    title = "From which length is linear attention cheaper than softmax? Attention alone"
    with figure(path, title, 1, 1, 0.2 * len(rows) + 0.5) as (drawn, axes):
        axis = axes[0][0]
        for y, row in enumerate(rows):
            own, ends = color(row["map"], every), [row["crossover"]]
            axis.plot(ends, y, "o", ms=6, color=own, mfc="white", zorder=3, label="fewer operations (formula)")
            if measured := row.get("measured_crossover"):
                ends.append(measured)
                axis.plot(measured, y, "o", ms=6, color=own, label=f"less time ({how})")
            axis.plot(ends, [y] * len(ends), color=own, lw=1)
            text = f"{row['flops'] / 1000:.3g} kFLOP a token and head"
            if "ratio" in row:
                first, last = min(row["ratio"]), max(row["ratio"])
                ends_off = {None: f", slower up to {short(last)}", first: f", faster from {first} or less"}
                text += ends_off.get(measured, "")
            axis.annotate(text, (max(ends), y), (8, 0), textcoords="offset points", va="center", color="0.3")
        axis.set_yticks(range(len(rows)), [row["map"] for row in rows])
        axis.set_xscale("log", base=2)
        right = max(max(row["crossover"], row.get("measured_crossover") or 0) for row in rows)
        axis.set_xlim(None, right * 4)
        axis.xaxis.set_major_formatter(lambda n, _: short(n))
        axis.set_xlabel("N, tokens a document")
        axis.grid(axis="x", alpha=0.3, linewidth=0.6)
        legend(drawn, [axis], color(rows[0]["map"], every))
