"""Test accuracy of variants against a value of their configs."""

from collections.abc import Iterable, Sequence
from typing import Any

from longdoc.results.comparison import ACCURACY, summarize, variant
from longdoc.results.formats import Grid
from longdoc.results.record import Record, flatten, of_variant, settings

Value = int | float | str


def config_value(record: Record, path: str) -> Any:
    """What stands at ``path``, such as task.pairs, in a record's config; None if there is nothing."""
    node = record["config"]
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node


def pivot(records: Iterable[Record], path: str) -> list[Grid]:
    """A table of finished runs for each task and protocol: a column for each value at ``path``, the best row first.

    A row is a variant with the settings in which its runs of one column differ, a cell the mean over runs that differ
    in nothing but their seed. Notes say what else differs between columns, or between rows of several variants. Runs
    without a value there are left out. Raises ValueError if that leaves none.
    """
    tables: dict[tuple[str, str], list[tuple[Value, Record]]] = {}
    for record in records:
        value = config_value(record, path)
        if record["status"] == "finished" and isinstance(value, Value):
            tables.setdefault((record["task"], record["protocol"]), []).append((value, record))
    if not tables:
        raise ValueError(f"no finished run has a number or a word at {path} in its config")
    return [_grid(*key, tables[key], path) for key in sorted(tables)]


def _grid(task: str, protocol: str, runs: list[tuple[Value, Record]], path: str) -> Grid:
    columns = sorted({value for value, _ in runs}, key=lambda value: (isinstance(value, str), value))
    rows: dict[str, dict[Value, list[Record]]] = {}
    notes: dict[str, None] = {}
    for name in sorted({variant(record) for _, record in runs}):
        members = [(value, record) for value, record in runs if variant(record) == name]
        configs = [flatten(settings(record["config"])) for _, record in members]
        apart, along = _differences([value for value, _ in members], configs, path)
        for (value, record), config in zip(members, configs, strict=True):
            said = [f"{key.rpartition('.')[2]}={config.get(key)}" for key in apart]
            rows.setdefault(", ".join([name, *said]), {}).setdefault(value, []).append(record)
        notes |= dict.fromkeys(f"{key} differs with {path}" for key in along)
    between = (key for key in _between(runs, path) if f"{key} differs with {path}" not in notes)
    notes |= dict.fromkeys(f"{key} differs between rows" for key in between)
    dicts, cells = [], []
    for name in sorted(rows, key=lambda name: (-_mean(rows[name]), name)):
        cells.append([name, *(_cell(rows[name].get(value, [])) for value in columns)])
        for value in columns:
            if found := rows[name].get(value):
                mean, std, n = summarize(record["metrics"].get(ACCURACY) for record in found)
                dicts.append(
                    {"kind": "variant", "variant": name, "task": task, "protocol": protocol, path: value}
                    | {ACCURACY: mean, f"{ACCURACY}_std": std, f"{ACCURACY}_n": n}
                    | {"run_ids": [record["run_id"] for record in found]}
                )
                if n < len(found):
                    notes[f"{name}, {value}: nan in {len(found) - n} of {len(found)} runs, left out of the mean"] = None
    return Grid(
        f"{task} · {protocol} · test accuracy by {path}",
        [f"variant, by {path}", *map(str, columns)],
        cells,
        dicts,
        len(runs),
        _references(runs, columns),
        list(notes),
    )


def _differences(values: Sequence[Value], configs: Sequence[dict[str, Any]], path: str) -> tuple[list[str], list[str]]:
    """Keys whose values differ within a column, and those that differ between columns alone."""
    apart, along = [], []
    for key in dict.fromkeys(key for config in configs for key in config):
        held = {
            value: {str(c.get(key)) for v, c in zip(values, configs, strict=True) if v == value} for value in values
        }
        if any(len(found) > 1 for found in held.values()):
            apart.append(key)
        elif not f".{key}".endswith(f".{path}") and len(set.union(*held.values())) > 1:
            along.append(key)
    return apart, along


def _between(runs: Sequence[tuple[Value, Record]], path: str) -> list[str]:
    """Keys of which variants have other values than one another, though they do not make a variant."""
    flat = [(record, flatten(settings(record["config"]))) for _, record in runs]
    keys = dict.fromkeys(key for _, config in flat for key in config)
    found = []
    for key in keys:
        held: dict[str, set[str]] = {}
        for record, config in flat:
            if key in config or not record.get("baseline"):  # of an encoder's settings a baseline has none
                held.setdefault(variant(record), set()).add(str(config.get(key)))
        unlike = any(values != other for values in held.values() for other in held.values())
        if unlike and not of_variant(key) and not f".{key}".endswith(f".{path}"):
            found.append(key)
    return found


def _references(runs: Sequence[tuple[Value, Record]], columns: Sequence[Value]) -> list[list[str]]:
    """What is reached without training; where the runs of a column saw other documents, each value that there is."""
    rows = []
    for name in dict.fromkeys(name for _, record in runs for name in record["references"]):
        row = [name]
        for column in columns:
            found = [record["references"].get(name) for value, record in runs if value == column]
            row.append(" / ".join(sorted({f"{value:.3f}" for value in found if value is not None})) or "-")
        rows.append(row)
    return rows


def _cell(records: Sequence[Record]) -> str:
    mean = summarize(record["metrics"].get(ACCURACY) for record in records).mean
    return "-" if not records else "nan" if mean is None else f"{mean:.3f}"


def _mean(cells: dict[Value, list[Record]]) -> float:
    return summarize(r["metrics"].get(ACCURACY) for runs in cells.values() for r in runs).mean or 0.0
