"""The record of several folds: means, and how sure they are."""

import statistics
from collections.abc import Sequence
from typing import Any

from longdoc.results.intervals import mean_t
from longdoc.results.record import Record

_SUMS = ("steps", "tokens", "train_seconds", "validation_seconds", "compile_seconds", "wall_seconds")
_OF_ONE = ("per_class", "by_length", "temperature", "selection")


def combine(records: Sequence[Record]) -> Record:
    """One record of all folds: metrics and references are means, ``folds`` has their values and intervals.

    The interval is Student's of the mean over folds, of 95 %. Folds share most of their training documents, so that it
    is somewhat narrow (Bengio & Grandvalet, 2004).
    """
    first = records[0]
    found: dict[str, dict[str, Any]] = {}
    for name in first["metrics"]:
        values = [record["metrics"].get(name) for record in records]
        if None not in values:
            low, high = mean_t(values)
            found[name] = {"values": values, "low": low, "high": high}
    whole: dict[str, Any] = {key: value for key, value in first.items() if key not in _OF_ONE}
    for key in _SUMS:
        if first.get(key) is not None:
            whole[key] = sum(record[key] for record in records)
    speeds = [record["tokens_per_second"] for record in records if record["tokens_per_second"] is not None]
    return whole | {
        "metrics": {name: statistics.fmean(of["values"]) for name, of in found.items()},
        "references": {
            name: statistics.fmean(record["references"][name] for record in records) for name in first["references"]
        },
        "tokens_per_second": statistics.fmean(speeds) if speeds else None,
        "peak_memory_mb": max(record["peak_memory_mb"] for record in records),
        "folds": {"number": len(records), "interval": "Student's t over folds, 95 %", "metrics": found},
    }
