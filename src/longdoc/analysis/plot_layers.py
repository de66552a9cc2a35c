"""A trained encoder's attention as a picture."""

import math
from collections.abc import Sequence
from pathlib import Path

from longdoc.analysis.look import QUIET, SOFTMAX, figure, legend
from longdoc.analysis.subjects import Row

OWN = "#332288"


def plot_layers(layers: Sequence[Row], name: str, path: Path) -> None:
    """A row a layer: entropy by head, weight against distance, |q + k|² by head."""
    title = f"What does the trained encoder ({name}) attend to?"
    with figure(path, title, len(layers), 3, 2.0, sharex="col", sharey="col") as (drawn, axes):
        for layer, (entropy, profile, lengths) in zip(layers, axes, strict=True):
            heads = layer["heads"]
            at = [head["head"] for head in heads]
            entropy.axhline(math.log(layer["tokens"]), label=f"uniform: ln {layer['tokens']}", **QUIET)
            entropy.plot(at, [h["softmax_entropy"] for h in heads], "kx", ms=6, label="softmax of the same q and k")
            entropy.plot(at, [h["entropy"] for h in heads], "o", ms=5, color=OWN, label=f"own ({name})")
            entropy.set(ylabel=f"layer {layer['layer']}", xticks=at)
            entropy.set_ylim(0, 1.1 * math.log(layer["tokens"]))
            profile.axhline(1, **QUIET)
            for own, softmax in zip(layer["weight"], layer["softmax_weight"], strict=True):
                profile.plot(layer["distance"], softmax, **SOFTMAX | {"alpha": 0.5})
                profile.plot(layer["distance"], own, color=OWN, alpha=0.8)
            profile.set(xscale="log", yscale="log")
            low, middle, high = zip(*(head["sum_squared"] for head in heads), strict=True)
            lengths.vlines(at, low, high, color=OWN, lw=2, alpha=0.5)
            lengths.plot(at, middle, "o", ms=5, color=OWN)
            lengths.set(yscale="log", xticks=at)
        for axis, text in zip(
            axes[0],
            ("entropy of the weights, nats", "weight, times the mean weight", "|q + k|² / √D: median, 10 to 90 %"),
            strict=True,
        ):
            axis.set_title(text)
        for axis, text in zip(axes[-1], ("head", "distance |i − j|, tokens", "head"), strict=True):
            axis.set_xlabel(text)
        for axis in axes.flat:
            axis.grid(alpha=0.3, linewidth=0.6)
        legend(drawn, axes[0][0], "")
