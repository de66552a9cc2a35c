"""Learning curves as lines of text, for a terminal."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.results.comparison import Group
from longdoc.results.curves import read_curves
from longdoc.results.record import Record

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 48
NAME = 22  # letters at most, so that a line is of 80
_METRICS = ("val/accuracy", "val/loss", "train/loss")


def sparkline(values: Sequence[float] | NDArray[np.float64], low: float, high: float) -> str:
    """A bar for each value between ``low`` and ``high``, a space for one that is nan."""
    steps = (high - low) / len(BARS) or 1.0
    return "".join(
        " " if math.isnan(value) else BARS[min(len(BARS) - 1, max(0, int((value - low) / steps)))] for value in values
    )


def sparklines(group: Group, found: Mapping[Path, Record]) -> list[str]:
    """A headline and a line for each row with curves: its mean over the row's runs, against steps; [] without any.

    found: the records by their results.json, as ``collect_paths`` gives them. All lines of a group share both scales.
    """
    folders = {id(record): path.parent for path, record in found.items()}
    read = {
        row.variant: [read_curves(folders[id(record)])[0].get("series", {}) for record in row.records]
        for row in group.rows
    }
    metric = next((m for m in _METRICS if any(m in series for runs in read.values() for series in runs)), None)
    if metric is None:
        return []
    curves = {name: [series[metric] for series in runs if metric in series] for name, runs in read.items()}
    last = max(series["steps"][-1] for runs in curves.values() for series in runs)
    means = {name: _mean([_resampled(series, last) for series in runs]) for name, runs in curves.items() if runs}
    finite = np.concatenate(list(means.values()))
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return [f"{metric} is nan throughout"]
    low, high = float(finite.min()), float(finite.max())
    width = min(NAME, max(map(len, means)))
    lines = [f"{metric}, {low:.3f} to {high:.3f}, over {last:,} steps"]
    for name, values in means.items():
        end = values[np.isfinite(values)]
        text = f"{end[-1]:.3f}" if len(end) else "nan"
        # Of a long name both ends, which tell it from others.
        short = name if len(name) <= NAME else f"{name[: NAME // 2 - 1]}…{name[-NAME // 2 :]}"
        lines.append(f"{short:{width}} {sparkline(values, low, high)} {text}")
    return lines


def _resampled(series: Mapping[str, Any], last: int) -> NDArray[np.float64]:
    """Values at WIDTH steps from the first to ``last``; nan past the run's end."""
    steps = np.array(series["steps"], dtype=float)
    values = np.array([math.nan if value is None else value for value in series.get("mean", series["values"])])
    return np.interp(np.linspace(steps[0], last, WIDTH), steps, values, right=math.nan)


def _mean(curves: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """At each place the mean of the runs that are there."""
    stacked = np.stack(curves)
    known = np.isfinite(stacked).sum(0)
    return np.where(known > 0, np.nansum(stacked, 0) / np.maximum(known, 1), math.nan)
