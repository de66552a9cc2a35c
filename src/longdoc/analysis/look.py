"""How all pictures look: one colour a map, in panels of equal axes, legible at a width of 900 pixels."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

# Tol's muted scheme (2021) with a brown for its sand: told apart by the colour-blind, and dark enough for a line.
COLORS = ("#332288", "#CC6677", "#117733", "#AA4499", "#44AA99", "#882255", "#999933", "#88CCEE", "#661100")
SOFTMAX = {"color": "black", "linestyle": "--", "linewidth": 1.2}
QUIET = {"color": "0.55", "linestyle": ":", "linewidth": 1.0}
LOOK: Any = {
    "font.size": 8, "axes.titlesize": 8.5, "axes.titleweight": "bold", "axes.spines.top": False,
    "axes.spines.right": False, "figure.titlesize": 11, "legend.frameon": False, "lines.linewidth": 1.6,
}  # fmt: skip
GREY = "0.35"
WIDTH = 9.0  # inches


def color(name: str, names: Sequence[str]) -> str:
    """The colour of a map among all of conf/feature_map, so that it is the same in every picture."""
    return COLORS[sorted(names).index(name) % len(COLORS)]


@contextmanager
def figure(
    path: Path, title: str, rows: int, columns: int, height: float, sharex: Any = True, sharey: Any = True
) -> Iterator[tuple[Any, Any]]:
    """A figure and its array of axes, saved and closed at the end; ``height`` in inches a row."""
    with plt.rc_context(LOOK):
        size = (WIDTH, height * rows + 0.8)
        drawn, axes = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False, sharex=sharex, sharey=sharey
        )
        drawn.suptitle(title)
        yield drawn, axes
        drawn.savefig(path, dpi=200)
        plt.close(drawn)


@contextmanager
def panels(path: Path, title: str, names: Sequence[str], x: str, y: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A figure with a panel a name on common axes: {name: axis}; the last row may have free places."""
    columns = min(len(names), min((4, 5, 6), key=lambda c: (-len(names) % c, c)))  # the fewest empty places
    rows = -(-len(names) // columns)
    with figure(path, title, rows, columns, 1.75) as (drawn, axes):
        flat = axes.flatten()
        for axis in flat[len(names) :]:
            axis.set_visible(False)
        for axis in flat[len(names) - columns : len(names)]:  # the lowest of each column
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(x)
        for name, axis in zip(names, flat, strict=False):
            axis.set_title(name)
            axis.grid(alpha=0.3, linewidth=0.6)
        drawn.supylabel(y, fontsize=9)
        yield drawn, dict(zip(names, flat, strict=False))


def legend(drawn: Any, axes: Sequence[Any], own: str, columns: int = 4) -> None:
    """What the lines mean, once for all panels: grey stands for the maps' colours, of which ``own`` is one."""
    shown: dict[str, Any] = {}
    for handle, label in (pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)):
        if isinstance(handle, Line2D) and handle.get_color() == own:
            fill = handle.get_markerfacecolor()
            line = Line2D([], [])
            line.update_from(handle)
            line.set(color=GREY, markeredgecolor=GREY, markerfacecolor=GREY if fill == own else fill)
            handle = line
        shown.setdefault(label, handle)
    drawn.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=columns)
