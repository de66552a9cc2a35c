"""A run's learning curves from its metrics.csv, thinned out to what a figure can show."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

METRICS = ("val/accuracy", "val/loss", "val/f1_macro", "train/loss")
POINTS = 300  # of a curve
KNOTS = 60  # of the run's way from steps to tokens and seconds
FILE_NAME = "metrics.csv"


def read_curves(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What a figure draws of a run, and what is odd about it, in sentences.

    ``{"axes": {"steps", "tokens", "seconds"}, "series": {metric: {"steps", "values", "mean"?}}}``, lists of numbers;
    the axes are knots from which tokens and seconds of any step are interpolated, ``mean`` is a running mean. Empty
    if the folder has no metrics.csv. A resumed run's parts are joined: what a part has done again counts anew.
    """
    rows: list[dict[str, float]] = []
    try:
        for part in _parts(folder):
            found = _read(part)
            first = min((row["step"] for row in found), default=0.0)
            rows = [row for row in rows if row["step"] < first] + found
    except (OSError, ValueError, csv.Error) as error:
        return {}, [f"{FILE_NAME} cannot be read ({error})"]
    if not rows:
        return {}, []
    notes, series = [], {}
    for metric in METRICS:
        steps, values = _column(rows, metric)
        if bad := int((~np.isfinite(values)).sum()):
            notes.append(f"{metric} is nan at {bad} of {len(values)} steps")
        if len(steps):
            series[metric] = _thinned(steps, values, metric.startswith("train/"))
    return {"axes": _axes(rows), "series": series}, notes


def _parts(folder: Path) -> list[Path]:
    """A resumed run's earlier parts, metrics.1.csv and on, and metrics.csv, the newest."""
    parts: list[Path] = []
    while (part := folder / f"metrics.{len(parts) + 1}.csv").is_file():
        parts.append(part)
    newest = folder / FILE_NAME
    return [*parts, newest] if newest.is_file() else parts


def _read(path: Path) -> list[dict[str, float]]:
    """Rows of numbers; "step" counts the steps done. Of a run still going the last line may be half written."""
    lines = path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    rows = []
    for i, cells in enumerate(csv.DictReader(lines), 2):
        try:
            row = {key: float(cell) for key, cell in cells.items() if key and cell}
            rows.append(row | {"step": row["step"] + 1})
        except (KeyError, ValueError, TypeError):
            raise ValueError(f"line {i} has no step, or a value that is no number") from None
    return rows


def _column(rows: list[dict[str, float]], key: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps, rising, and values of a column where it has any."""
    found = {row["step"]: row[key] for row in rows if key in row}
    steps = sorted(found)
    return np.array(steps, dtype=float), np.array([found[step] for step in steps], dtype=float)


def _axes(rows: list[dict[str, float]]) -> dict[str, list[float | None]]:
    """Tokens and seconds by steps; of older runs, which did not log seconds, those of their training speed."""
    for row in rows:
        if "train/seconds" not in row and row.get("train/tokens_per_second"):
            row["train/seconds"] = row.get("train/tokens", np.nan) / row["train/tokens_per_second"]
    every = np.array(sorted({row["step"] for row in rows}))
    knots = every[np.unique(np.linspace(0, len(every) - 1, KNOTS).round().astype(int))]
    axes: dict[str, list[float | None]] = {"steps": knots.tolist()}
    for name, key in {"tokens": "train/tokens", "seconds": "train/seconds"}.items():
        steps, values = _column(rows, key)
        if len(steps) and steps[0] > 0:  # all start at nothing
            steps, values = np.r_[0.0, steps], np.r_[0.0, values]
        axes[name] = _plain(np.interp(knots, steps, values)) if len(steps) else []
    return axes


def _thinned(steps: NDArray[np.float64], values: NDArray[np.float64], noisy: bool) -> dict[str, Any]:
    kept = _extremes(values, POINTS)
    series: dict[str, Any] = {"steps": steps[kept].astype(int).tolist(), "values": _plain(values[kept])}
    if noisy and len(values) >= 20:
        series["mean"] = _plain(_running_mean(values, len(values) // 20)[kept])
    return series


def _extremes(values: NDArray[np.float64], points: int) -> NDArray[np.intp]:
    """Which values to keep: the first, the last and of each stretch the least and the greatest, or one that is nan."""
    if len(values) <= points:
        return np.arange(len(values))
    kept = {0, len(values) - 1}
    for stretch in np.array_split(np.arange(1, len(values) - 1), (points - 2) // 2):
        finite = stretch[np.isfinite(values[stretch])]
        kept |= (
            {int(finite[values[finite].argmin()]), int(finite[values[finite].argmax()])}
            if len(finite)
            else {int(stretch[0])}
        )
    return np.array(sorted(kept))


def _running_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The mean of the finite values within ``window`` around each."""
    finite = np.isfinite(values)
    sums = np.r_[0.0, np.cumsum(np.where(finite, values, 0.0))]
    counts = np.r_[0, np.cumsum(finite)]
    positions = np.arange(len(values))
    low, high = np.maximum(positions - window // 2, 0), np.minimum(positions + window // 2 + 1, len(values))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums[high] - sums[low]) / (counts[high] - counts[low])


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    """Five significant digits, which no figure exceeds; None for what is not finite."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]
