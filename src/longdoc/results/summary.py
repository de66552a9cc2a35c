"""Scored checkpoints for the terminal: all that is known of one, and a line for each of several."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from longdoc.results.confusion import confusion_table
from longdoc.results.lengths import length_table
from longdoc.results.metrics import absent, class_table, metrics_text, reliability_table

Scored = dict[str, Any]  # the record of a scored checkpoint, or of one that failed


def reading(record: Scored) -> str:
    """How long documents are read: ``windows 4,096``, or ``whole``."""
    if record["truncation"] == "none":
        return "whole"
    return record["truncation"] + ("" if record["max_length"] is None else f" {record['max_length']:,}")


def short_names(paths: Sequence[str]) -> list[str]:
    """What tells paths apart: without the folders that all begin with, as much as no other path begins with."""
    parts = [PurePath(path).parts for path in paths]
    if len(set(parts)) == 1:
        return [of[-1] for of in parts]
    start, shortest = 0, min(map(len, parts))
    while start < shortest - 1 and len({of[start] for of in parts}) == 1:
        start += 1
    names = []
    for own in parts:
        others = {of for of in parts if of != own}
        end = start + 1
        while end < len(own) and any(of[:end] == own[:end] for of in others):
            end += 1
        names.append(str(PurePath(*own[start:end])))
    return names


def full_view(record: Scored, prefix: str) -> Group:
    """The metrics with their intervals, and the tables; ``prefix`` is that of the metrics, such as test."""
    if record["error"]:
        return Group(Text(record["checkpoint"], "bold"), Text(f"  {record['error']}", "red"))
    share = record["tokens_read"] / max(record["tokens"], 1)
    speed = f"{record['tokens_per_second'] / 1000:,.1f}k tokens/s"
    metrics = metrics_text(record["metrics"], prefix)
    lines = [
        f"{record['task']}, {record['variant']}, {record['rows']:,} rows: {metrics}",
        f"reads {reading(record)}: {share:.1%} of all tokens, {speed}",
    ]
    if intervals := record["intervals"]:
        said = (
            f"{name.removeprefix(prefix + '/')} {of['low']:.3f} to {of['high']:.3f}" for name, of in intervals.items()
        )
        lines.append(f"95 %: {', '.join(said)}")
    tables: list[Table | None] = [length_table(record["by_length"])]
    if columns := record["per_class"]:
        tables.insert(0, class_table(columns))
        if missing := absent(columns):
            lines.append(f"in no document of the {record['split']} split: {', '.join(missing)}")
        if record["confusion"]:
            tables.append(confusion_table(columns["class"], record["confusion"]))
    tables.append(reliability_table(record["reliability"]))
    parts: list[RenderableType] = [Text(record["checkpoint"], "bold")]
    parts += [Padding(Text(line), (0, 0, 0, 2), expand=False) for line in lines]
    parts += [Padding(table, (1, 0, 0, 2), expand=False) for table in tables if table is not None]
    return Group(*parts, Text())


def summary_table(records: Sequence[Scored], names: Sequence[str], prefix: str) -> Group:
    """A row a record, and below them the errors of those that failed."""
    table = Table(box=None, pad_edge=False)
    for name in ("checkpoint", "variant"):
        table.add_column(name, overflow="fold")
    for name in ("accuracy", "95 %", "macro F1", "tokens/s"):
        table.add_column(name, justify="right", no_wrap=True)
    errors = []
    for name, record in zip(names, records, strict=True):
        if record["error"]:
            table.add_row(Text(name), "failed", style="red")
            errors.append(Text(f"{name}: {record['error']}", "red"))
            continue
        accuracy, f1 = (f"{record['metrics'][f'{prefix}/{metric}']:.3f}" for metric in ("accuracy", "f1_macro"))
        found = record["intervals"].get(f"{prefix}/accuracy")
        between = f"{found['low']:.3f} to {found['high']:.3f}" if found else ""
        table.add_row(Text(name), record["variant"], accuracy, between, f1, f"{record['tokens_per_second']:,.0f}")
    return Group(table, *errors)
