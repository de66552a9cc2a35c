"""A trained encoder's attention as a picture."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.ticker import LogLocator, NullLocator

from longdoc.analysis.look import COLORS, QUIET, SOFTMAX, color, figure, legend
from longdoc.analysis.subjects import Row

FEATURES = 64
LIMIT = math.log(1 + FEATURES)  # (e^a - 1) / m = 1


def plot_layers(layers: Sequence[Row], name: str, every: Sequence[str], path: Path) -> None:
    """A row a layer: entropy by head, weight against distance, |q + k|² by head."""
    title = f"What does the trained encoder ({name}) attend to?"
    own = color(name, every) if name in every else COLORS[0]
    with figure(path, title, len(layers), 3, 2.0, sharex="col", sharey="col") as (drawn, axes):
        for layer, (entropy, profile, lengths) in zip(layers, axes, strict=True):
            heads = layer["heads"]
            at = [head["head"] for head in heads]
            low, middle, high = zip(*(head["sum_squared"] for head in heads), strict=True)
            lengths.axhline(LIMIT, color="0.55", lw=1, label=f"FAVOR+'s standard error with {FEATURES} features: 100 %")
            lengths.vlines(at, low, high, color=own, lw=2, alpha=0.5)
            lengths.plot(at, middle, "o", ms=5, color=own)
            lengths.set(yscale="log")
            lengths.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            entropy.axhline(layer["uniform"], label=f"uniform over {layer['tokens']} tokens", **QUIET)
            entropy.plot(at, [head["entropy"] for head in heads], "o", ms=5, color=own, label=f"own ({name})")
            entropy.plot(at, [head["softmax_entropy"] for head in heads], "kx", ms=6, label="softmax of the same q, k")
            entropy.set(ylabel=f"layer {layer['layer']}", ylim=(0, 1.1 * layer["uniform"]))
            profile.axhline(1, **QUIET)
            for weight, softmax in zip(layer["weight"], layer["softmax_weight"], strict=True):
                profile.plot(layer["distance"], softmax, **SOFTMAX | {"alpha": 0.5})
                profile.plot(layer["distance"], weight, color=own, alpha=0.8)
            profile.set(xscale="log", yscale="log")
            profile.yaxis.set_major_locator(LogLocator(base=2))
            for axis in (entropy, lengths):
                axis.set(xticks=at, xlim=(-0.5, len(at) - 0.5))
            for axis in (profile, lengths):
                axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
                axis.yaxis.set_minor_locator(NullLocator())
        _at_least(axes[0][1], 0.5, 2)
        _at_least(axes[0][2], 1, 10)
        texts = ("entropy of the weights, nats", "weight, times the mean weight", "|q + k|² / √D: median, 10 to 90 %")
        for axis, text in zip(axes[0], texts, strict=True):
            axis.set_title(text)
        for axis, text in zip(axes[-1], ("head", "distance |i − j|, tokens; a line a head", "head"), strict=True):
            axis.set_xlabel(text)
        for axis in axes.flat:
            axis.grid(alpha=0.3, linewidth=0.6)
        legend(drawn, axes[0], "")


def _at_least(axis: Any, low: float, high: float) -> None:
    """Widens a narrow range, in which noise would look like a finding."""
    bottom, top = axis.get_ylim()
    axis.set_ylim(min(bottom, low), max(top, high))
