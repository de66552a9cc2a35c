"""Accuracy by the length of documents: what reading more of a long one buys."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from longdoc.results.comparison import ACCURACY, summarize, variant
from longdoc.results.conditions import conditions_of
from longdoc.results.formats import Grid
from longdoc.results.record import Record, flatten, settings

Bins = list[dict[str, Any]]
Edges = tuple[tuple[int, int, int], ...]  # from, to and documents of bins


def by_length(tokens: NDArray[np.int64], read: NDArray[np.int64], right: NDArray[np.bool_]) -> Bins:
    """Of documents of ``tokens`` (D,) tokens, ``read`` (D,) of them read: those of 512 to 1,023, of 1,024 to 2,047, ...

    A bin has ``from`` and ``to``, both inclusive, ``documents``, ``accuracy``, and ``read``, the share of their tokens
    that was read. Bins are of powers of two, so that runs may be compared, and none is empty.
    """
    bins = []
    power = np.frexp(tokens)[1]  # of 512 to 1,023 it is 10
    for p in np.unique(power).tolist():
        of = power == p
        total = int(tokens[of].sum())
        bins.append(
            {
                "from": 2 ** (p - 1) if p else 0,
                "to": 2**p - 1,
                "documents": int(of.sum()),
                "accuracy": float(right[of].mean()),
                "read": int(read[of].sum()) / total if total else 1.0,
            }
        )
    return bins


def length_table(bins: Bins) -> Table | None:
    """A row a bin; None if documents do not differ in length."""
    if len(bins) < 2:
        return None
    table = Table(box=None, pad_edge=False)
    for name in ("tokens", "documents", "accuracy", "read"):
        table.add_column(name, justify="right")
    for found in bins:
        accuracy = f"{found['accuracy']:.3f}"
        table.add_row(_range(found), f"{found['documents']:,}", accuracy, f"{found['read']:.0%}")
    return table


def compare_lengths(records: Iterable[Record]) -> list[Grid]:
    """A table for the runs of each test split: accuracy of each variant in all bins, the best row first.

    Runs that differ in their seed alone are a row, with the means; rows of one variant have the settings in which they
    differ, but for the length, in their names. Raises ValueError if no finished run has bins.
    """
    tables: dict[tuple[str, str, Edges], dict[tuple[str, str], list[Record]]] = {}
    for record in records:
        if record["status"] == "finished" and record.get("by_length"):
            edges = tuple((found["from"], found["to"], found["documents"]) for found in record["by_length"])
            rows = tables.setdefault((record["task"], record["protocol"], edges), {})
            rows.setdefault((variant(record), record["config_hash"]), []).append(record)
    if not tables:
        raise ValueError("no finished run says how accurate it is by length")
    return [_grid(*key, list(tables[key].values())) for key in sorted(tables)]


def _grid(task: str, protocol: str, edges: Edges, rows: list[list[Record]]) -> Grid:
    ranges = [f"{_range({'from': start, 'to': end})} ({documents:,})" for start, end, documents in edges]
    cells, dicts, notes = [], [], []
    rows = sorted(rows, key=lambda of: -(_mean(record["metrics"].get(ACCURACY) for record in of) or 0))
    for members, name in zip(rows, _names([members[0] for members in rows]), strict=True):
        first = members[0]
        length, test = conditions_of(first)["max_length"], first["splits"]["test"]
        share = 1 - test["truncated_tokens"] / max(test["tokens"], 1)
        bins = list(zip(*(record["by_length"] for record in members), strict=True))
        whole = summarize(record["metrics"].get(ACCURACY) for record in members)
        numbers = [whole.mean, *(_mean(found["accuracy"] for found in same) for same in bins)]
        row = [name, f"{length:,}" if isinstance(length, int) else "whole", f"{share:.0%}"]
        cells.append([*row, *("nan" if value is None else f"{value:.3f}" for value in numbers)])
        shared = {"task": task, "protocol": protocol, "variant": name, "max_length": length, "n": len(members)}
        dicts += [
            shared
            | {"from": start, "to": end, "documents": documents}
            | {key: _mean(found[key] for found in same) for key in ("accuracy", "read")}
            for (start, end, documents), same in zip(edges, bins, strict=True)
        ]
        if nan := len(members) - whole.n:
            notes.append(f"{name}: {ACCURACY} is nan in {nan} of {len(members)} runs, left out of the mean")
    title = f"{task} · {protocol} · test accuracy by tokens of a document (documents)"
    return Grid(title, ["variant", "at once", "read", "all", *ranges], cells, dicts, sum(map(len, rows)), notes=notes)


def _names(rows: Sequence[Record]) -> list[str]:
    """The variants of rows, given by their first runs, and in what those of one variant differ."""
    variants = [variant(record) for record in rows]
    flat = [flatten(settings(record["config"])) for record in rows]
    names = []
    for own, config in zip(variants, flat, strict=True):
        alike = [other for other, of in zip(flat, variants, strict=True) if of == own]
        keys = dict.fromkeys(key for other in alike for key in other if key != "task.max_length")  # a column's
        apart = [key for key in keys if any(other.get(key) != config.get(key) for other in alike)]
        names.append(", ".join([own, *(f"{key.rpartition('.')[2]}={config.get(key)}" for key in apart)]))
    return names


def _mean(values: Iterable[Any]) -> float | None:
    return summarize(values).mean


def _range(found: dict[str, Any]) -> str:
    return f"{found['from']:,}–{found['to']:,}" if found["to"] else "0"
