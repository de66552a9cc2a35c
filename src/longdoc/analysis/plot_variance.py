"""Bias and variance of random features as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longdoc.analysis.look import color, figure, legend
from longdoc.analysis.subjects import Row
from longdoc.analysis.variance import ALL_AT, ERRORS, JUDGED

LENGTHS = (0.1, 0.3, 1, 3, 8)  # |q + k|² labelled on the axis


def looks(own: str) -> dict[str, dict[str, Any]]:
    """Markers of measured points by the kind of their projections."""
    marker = {"marker": "o", "ms": 4.5, "ls": "", "color": own}
    return {"independent": marker | {"mfc": own}, "orthogonal": marker | {"mfc": "white"}}


def plot_variance(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    """A column a map: relative error against features, bias against features, relative error against |q + k|²."""
    names = list(dict.fromkeys(row["map"] for row in rows))
    title = "How well do random features estimate softmax's exp(q·k / √D)?"
    with figure(path, title, 3, len(names), 2.1, sharex="row", sharey="row") as (drawn, axes):
        for name, column in zip(names, axes.T, strict=True):
            own = color(name, every)
            of_map = [row for row in rows if row["map"] == name]
            by_features = [row for row in of_map if row["sum_squared"] == JUDGED]
            by_length = [row for row in of_map if row["features"] == ALL_AT]
            for axis, points, key in ((column[0], by_features, "features"), (column[2], by_length, "sum_squared")):
                at = [row[key] for row in points]
                formula = [row["formula"] ** 0.5 for row in points]
                axis.plot(at, formula, color=own, lw=1.2, label="formula for independent projections")
                for kind, look in looks(own).items():
                    axis.plot(at, [row[kind]["variance"] ** 0.5 for row in points], label=f"measured, {kind}", **look)
                axis.set(xscale="log", yscale="log")
            for (kind, look), shift in zip(looks(own).items(), (1 / 1.12, 1.12), strict=True):
                at = [row["features"] * shift for row in by_features]
                bias, bars = ([100 * row[kind][key] for row in by_features] for key in ("bias", "bias_error"))
                column[1].errorbar(at, bias, [ERRORS * bar for bar in bars], elinewidth=1, **look)
            column[1].axhline(0, color="0.55", lw=0.8)
            column[1].set_xscale("log")
            for axis in column[:2]:
                ticks = sorted({r["features"] for r in rows})
                axis.set_xticks(ticks, [str(t) for t in ticks])
                axis.minorticks_off()
                axis.set_xlabel("features")
            column[2].axhline(1, color="0.55", lw=0.8)
            column[2].set_xticks(LENGTHS, [f"{length:g}" for length in LENGTHS])
            column[2].minorticks_off()
            column[2].set_xlabel("|q + k|² / √D")
            column[0].set_title(name)
            for axis in column:
                axis.grid(alpha=0.3, linewidth=0.6)
        axes[0][0].set_ylabel(f"relative standard deviation\nat |q + k|²/√D = {JUDGED:g}")
        axes[1][0].set_ylabel(f"bias ± 4 standard errors, %\nat |q + k|²/√D = {JUDGED:g}")
        axes[2][0].set_ylabel(f"relative standard deviation\nof {ALL_AT} features")
        legend(drawn, [axes[0][0]], color(names[0], every))
