"""Bias and variance of random features as a picture."""

from collections.abc import Sequence
from pathlib import Path

from longdoc.analysis.look import color, figure, legend
from longdoc.analysis.subjects import Row
from longdoc.analysis.variance import ALL_AT, JUDGED


def plot_variance(rows: Sequence[Row], every: Sequence[str], path: Path) -> None:
    """A column a map: relative error against features, bias against features, relative error against |q + k|²."""
    names = list(dict.fromkeys(row["map"] for row in rows))
    title = "How well do random features estimate softmax's exp(q·k / √D)?"
    with figure(path, title, 3, len(names), 2.1, sharex="row", sharey="row") as (drawn, axes):
        for name, column in zip(names, axes.T, strict=True):
            own = color(name, every)
            for orthogonal, fill, word in ((False, own, "independent"), (True, "white", "orthogonal")):
                of_map = [r for r in rows if r["map"] == name and r["orthogonal"] == orthogonal]
                by_features = [r for r in of_map if r["sum_squared"] == JUDGED]
                by_length = [r for r in of_map if r["features"] == ALL_AT]
                look = {"marker": "o", "ms": 4.5, "ls": "", "color": own, "mfc": fill}
                for axis, points, key in ((column[0], by_features, "features"), (column[2], by_length, "sum_squared")):
                    at = [r[key] for r in points]
                    if not orthogonal:
                        formula = [r["formula"] ** 0.5 for r in points]
                        axis.plot(at, formula, color=own, lw=1.2, label="formula for independent projections")
                    axis.plot(at, [r["variance"] ** 0.5 for r in points], label=f"measured, {word}", **look)
                    axis.set(xscale="log", yscale="log")
                shift = 1.12 if orthogonal else 1 / 1.12
                column[1].errorbar(
                    [r["features"] * shift for r in by_features], [100 * r["bias"] for r in by_features],
                    [400 * r["bias_error"] for r in by_features], elinewidth=1, **look,
                )  # fmt: skip
            column[1].axhline(0, color="0.55", lw=0.8)
            column[1].set_xscale("log")
            for axis in column[:2]:
                ticks = sorted({r["features"] for r in rows})
                axis.set_xticks(ticks, [str(t) for t in ticks])
                axis.minorticks_off()
                axis.set_xlabel("features")
            column[2].set_xlabel("|q + k|² / √D")
            column[0].set_title(name)
            for axis in column:
                axis.grid(alpha=0.3, linewidth=0.6)
        axes[0][0].set_ylabel(f"relative error\nat |q + k|²/√D = {JUDGED:g}")
        axes[1][0].set_ylabel(f"bias ± 4 standard errors, %\nat |q + k|²/√D = {JUDGED:g}")
        axes[2][0].set_ylabel(f"relative error\nof {ALL_AT} features")
        axes[2][0].axhline(1, color="0.55", lw=0.8)
        legend(drawn, axes[0][0])
