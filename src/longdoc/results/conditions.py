"""What runs must share to be compared, and what their speeds depend on, in words."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from longdoc.results.record import Record

WHOLE = "whole documents"  # the length of runs that cut none

# With budget and documents, what runs must share to be compared. Older runs do not say the source of their documents.
GROUP_CONDITIONS = ("task", "data", "protocol", "max_length", "encoder", "source")

# What a speed depends on besides the variant.
SPEED_CONDITIONS = ("device", "cpu", "threads", "precision", "compiled")


def conditions_of(record: Record) -> dict[str, Any]:
    """``GROUP_CONDITIONS`` of a run; the length is ``WHOLE`` where documents of any length are read in one row."""
    found = {key: record.get(key) for key in GROUP_CONDITIONS} | {"data": data_name(record)}
    uncut = record["config"].get("task", {}).get("truncation") == "none" and not record.get("baseline")
    return found | ({"max_length": WHOLE} if uncut else {})


def data_name(record: Record) -> str | None:
    """What a run's collection is called: ``reviews.csv``, ``set config`` of the hub; None where the task says it."""
    task = record["config"].get("task", {})
    given = task.get("path") or task.get("data")
    if given is None:
        return None
    name = PurePath(given).name
    config = task.get("config")
    return None if name == record["task"] else f"{name} {config}" if config else name


def conditions_text(conditions: Mapping[str, Any]) -> str:
    """Task · data · protocol · length · encoder · source, of a group or of a run."""
    task, data, protocol, length, encoder, source = (conditions.get(key) for key in GROUP_CONDITIONS)
    parts = [task, data, protocol, f"{length:,} tokens" if isinstance(length, int) else length, encoder, source]
    return " · ".join(str(part) for part in parts if part is not None)


def budget_text(budget: Mapping[str, float]) -> str:
    parts = []
    for key, value in budget.items():
        if key != "max_time":
            unit = {"max_tokens": "training tokens"}.get(key, key.removeprefix("max_"))  # a length is in tokens, too
            parts.append(f"{value:,.15g} {unit}")
        elif value >= 3600:
            parts.append(f"{value / 3600:.3g} h")
        else:
            parts.append(f"{value / 60:.3g} min" if value >= 60 else f"{value:.3g} s")
    return ", ".join(parts) or "no limit"


def measured(record: Record) -> str:
    """Where and how a run was trained: AMD EPYC, 2 threads, bf16-mixed, compiled."""
    device, cpu, threads, precision, compiled = (record.get(key) for key in SPEED_CONDITIONS)
    where = f"{cpu}, {threads} thread{'' if threads == 1 else 's'}" if device == "cpu" and cpu else str(device)
    return f"{where}, {precision}, {'compiled' if compiled else 'not compiled'}"
