"""What length buys, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Okabe & Ito (2008): told apart by the colour-blind; markers tell apart what the colours then repeat.
_COLORS = ("#E69F00", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
_MARKERS = "os^Dvp"


def plot_lengths(scored: Sequence[dict[str, Any]], path: Path) -> None:
    """Accuracy, and tokens a second, against the tokens read of a document, a line for each checkpoint.

    scored: ``name``, ``accuracy``, ``tokens_per_document``, the mean of those read, ``tokens_per_second``, and
    ``max_length``, None for whole documents.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(found["name"] for found in scored))
    look: Any = {"font.size": 8.5, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}
    panels = {"accuracy": "Accuracy", "tokens_per_second": "Tokens/s"}
    with plt.rc_context(look):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        for axis, (key, title) in zip(axes, panels.items(), strict=True):
            for i, name in enumerate(names):
                points = sorted(
                    (found["tokens_per_document"], found[key], found["max_length"] is None)
                    for found in scored
                    if found["name"] == name
                )
                style = {"color": _COLORS[i % len(_COLORS)], "marker": _MARKERS[i % len(_MARKERS)]}
                axis.plot([x for x, *_ in points], [y for _, y, _ in points], label=name, ms=4, lw=1.4, **style)
                for x, y, whole in points:
                    if whole:
                        axis.annotate("whole", (x, y), xytext=(0, -11), textcoords="offset points", ha="center")
            axis.set(title=title, xlabel="tokens read of a document, mean", xscale="log")
            axis.set_ylim(0, 1.02 if key == "accuracy" else None)
            axis.grid(alpha=0.3)
        axes[0].legend(frameon=False)
        figure.savefig(path, dpi=150)
        plt.close(figure)
