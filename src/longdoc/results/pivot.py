"""Test accuracy of variants against a value of their configs, as GitHub Markdown."""

from collections.abc import Iterable
from typing import Any

from longdoc.results.comparison import ACCURACY, summarize, variant
from longdoc.results.record import Record


def config_value(record: Record, path: str) -> Any:
    """What stands at ``path``, such as task.pairs, in a record's config; None if there is nothing."""
    node = record["config"]
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node


def pivot(records: Iterable[Record], path: str) -> str:
    """A table of finished runs: a row for each task and variant, a column for each value at ``path``.

    A cell is the mean over runs that differ in nothing but their seed; other differences are set apart by a slash.
    Runs without a value there are left out. Raises ValueError if that leaves none.
    """
    rows: dict[tuple[str, str], dict[Any, dict[str, list[Record]]]] = {}
    columns = set()
    for record in records:
        value = config_value(record, path)
        if record["status"] == "finished" and isinstance(value, int | float | str):
            cells = rows.setdefault((record["task"], variant(record)), {})
            cells.setdefault(value, {}).setdefault(record["config_hash"], []).append(record)
            columns.add(value)
    if not columns:
        raise ValueError(f"no finished run has a number or a word at {path} in its config")
    order = sorted(columns, key=lambda value: (isinstance(value, str), value))
    lines = [f"| task | variant, by {path} | " + " | ".join(map(str, order)) + " |"]
    lines.append("| --- | --- |" + " ---: |" * len(order))
    for (task, name), cells in sorted(rows.items(), key=lambda row: (row[0][0], -_mean(row[1]))):
        lines.append(f"| {task} | {name} | " + " | ".join(_cell(cells.get(value, {})) for value in order) + " |")
    return "\n".join(lines) + "\n"


def _cell(groups: dict[str, list[Record]]) -> str:
    means = [summarize(record["metrics"].get(ACCURACY) for record in members).mean for members in groups.values()]
    return " / ".join("nan" if mean is None else f"{mean:.3f}" for mean in means) or "-"


def _mean(cells: dict[Any, dict[str, list[Record]]]) -> float:
    accuracies = [r["metrics"].get(ACCURACY) for groups in cells.values() for runs in groups.values() for r in runs]
    return summarize(accuracies).mean or 0.0
