"""The measurements as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from longdoc.benchmark.environment import conditions
from longdoc.benchmark.report import kib_per_token, show_crossover
from longdoc.benchmark.trial import Point, Settings

# Okabe & Ito (2008): told apart by the colour-blind; markers tell apart what the colours then repeat.
COLORS = ("#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = "os^Dvp"


def plot(settings: Settings, points: list[Point], crossovers: dict[str, dict[str, float | None]], path: Path) -> None:
    """Draws speed, ratio to softmax with the crossovers, and memory; legible at a width of 900 pixels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    mode = settings.modes[0]
    word = "Training" if mode == "train" else "Forward"
    crossing = crossovers.get(mode, {})
    panels: dict[str, Callable[[Point], float | None]] = {
        f"{word} speed, tokens/s": lambda p: p[mode]["tokens_per_second"] if mode in p else None
    }
    if crossing:
        panels[f"{word} speed, times softmax"] = lambda p: p[mode]["ratio"] if mode in p else None
    if settings.memory:
        panels["Training peak memory, KiB/token"] = kib_per_token
    styles: dict[str, dict[str, Any]] = {"softmax": {"color": "black", "linestyle": "--", "marker": "x"}}
    for i, name in enumerate(name for name in settings.variants if name != "softmax"):
        marker = MARKERS[(i + i // len(COLORS)) % len(MARKERS)]
        styles[name] = {"color": COLORS[i % len(COLORS)], "marker": marker}
    ticks = settings.lengths[:1]
    for length in settings.lengths:
        if length >= 3 * ticks[-1]:  # or the labels would touch
            ticks.append(length)

    look: Any = {"font.size": 8.5, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(look):
        figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.8), layout="constrained", squeeze=False)
        for axis, (title, value) in zip(axes[0], panels.items(), strict=True):
            for name in settings.variants:
                curve = [(p["length"], y) for p in points if p["variant"] == name and (y := value(p))]
                label = f"{name} (faster {show_crossover(crossing[name], points)})" if name in crossing else name
                axis.plot([n for n, _ in curve], [y for _, y in curve], label=label, ms=4, lw=1.4, **styles[name])
            axis.set(title=title, xlabel="N, tokens a document", xscale="log", xticks=ticks)
            axis.set_xticklabels([short(n) for n in ticks])
            axis.xaxis.set_minor_locator(NullLocator())
            axis.grid(alpha=0.3, linewidth=0.6)
            if value is kib_per_token:
                axis.set_ylim(bottom=0)
            else:
                axis.set_yscale("log")
                axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: short(y)))
                axis.yaxis.set_minor_locator(NullLocator())
        if crossing:
            axes[0][1].set_title(f"{word} speed, times softmax (★ crossover)")
            for name, start in crossing.items():
                if start is not None and start > settings.lengths[0]:
                    color = styles[name]["color"]
                    axes[0][1].plot(start, 1, "*", ms=11, color=color, markeredgecolor="black", zorder=3)
        figure.suptitle(f"Softmax and linear attention against length: {conditions(settings)}", fontsize=10)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
        figure.savefig(path, dpi=200)
        plt.close(figure)


def short(number: float) -> str:
    """65536 -> 64k and 20000 -> 20k: lengths are powers of two, speeds are not."""
    for unit in (1024, 1000):
        if number >= unit and number % unit == 0:
            return f"{number / unit:g}k"
    return f"{number:g}"
