"""What the page shows, as plain JSON: groups of comparable rows, every run, and what could not be read."""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longdoc.results import intervals
from longdoc.results.collect import Problem
from longdoc.results.comparison import (
    ACCURACY,
    SPEED,
    Group,
    Row,
    beside_published,
    compare,
    same_documents,
    summarize,
    variant,
)
from longdoc.results.conditions import conditions_of, conditions_text, measured
from longdoc.results.curves import FILE_NAME, read_curves
from longdoc.results.departures import departures_text
from longdoc.results.record import Record, flatten, settings
from longdoc.results.trials import CHOSEN_BY

_QUANTITIES = ("parameters", "steps", "tokens", SPEED, "peak_memory_mb", "wall_seconds")
_COSTS = (SPEED, "peak_memory_mb")


def gather(found: Mapping[Path, Record], problems: Sequence[Problem], published: bool = False) -> dict[str, Any]:
    """Everything that the page says. ``found`` maps results.json files to their records."""
    groups, unfinished = compare(found.values())
    if published:
        beside_published(groups)
    place: dict[int, tuple[int | None, str]] = {}
    unchosen: set[int] = set()
    for i, shared in enumerate(groups):
        for row in (*shared.rows, *shared.baselines):
            place |= {id(record): (i, row.variant) for trial in row.trials or [row] for record in trial.records}
            unchosen |= {id(record) for trial in row.trials if trial is not row for record in trial.records}
    place |= {id(record): (_group_of(record, groups), variant(record)) for record in unfinished}
    members: dict[int | None, list[dict[str, Any]]] = {}
    for record in found.values():
        if record.get("baseline"):  # its config is another's part
            continue
        members.setdefault(place[id(record)][0], []).append(flatten(settings(record["config"])))
    usual = {group: _usual(configs) for group, configs in members.items() if group is not None}
    base = Path(os.path.commonpath([path.parent for path in found])) if found else Path()
    names = Counter(record["run_id"] for record in found.values())
    runs = []
    for path, record in found.items():
        group, name = place[id(record)]
        run = _run(record, path.parent, base) | {"group": group, "row": name}
        if names[record["run_id"]] > 1:
            run["odd"].append(f"{names[record['run_id']]} runs have this name")
        if id(record) in unchosen:
            run["notes"].append(f"a trial that was not chosen by {CHOSEN_BY}")
        if group is not None and not record.get("baseline"):
            run["differs"] = _differs(record, usual[group])
        runs.append(run)
    return {
        "groups": [_group(group) for group in groups],
        "runs": runs,
        "problems": [{"path": str(problem.path), "reason": problem.reason} for problem in problems],
    }


def _group_of(record: Record, groups: Sequence[Group]) -> int | None:
    """The group that an unfinished run would be of, as far as its record says; None if no or several ones fit."""
    budget = {key: value for key, value in record.get("budget", {}).items() if value is not None}
    documents = {name: split["rows"] for name, split in record.get("splits", {}).items()}
    fitting = [
        i
        for i, group in enumerate(groups)
        if conditions_of(record) == group.conditions
        and budget in ({}, group.budget)
        and documents in ({}, group.documents)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _usual(configs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The value that most configs have for each key, as JSON; "null" where they lack it."""
    keys = dict.fromkeys(key for config in configs for key in config)
    return {key: Counter(_json(config.get(key)) for config in configs).most_common(1)[0][0] for key in keys}


def _differs(record: Record, usual: Mapping[str, str]) -> list[list[str]]:
    """[key, the run's value, the group's usual one] for every value of the run's config that is not usual."""
    config = flatten(settings(record["config"]))
    return [[key, own, value] for key, value in usual.items() if (own := _json(config.get(key))) != value]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _group(group: Group) -> dict[str, Any]:
    shown = sorted([*group.rows, *group.baselines], key=lambda row: -(row.values[ACCURACY].mean or 0))
    others = [(row, row.softmax) for row in shown if row.softmax and row is not row.softmax]
    differences = {row.variant: intervals.of_difference(row, softmax) for row, softmax in others}
    adjusted = intervals.holm({name: found.p for name, found in differences.items() if found.p is not None})
    parts, place = _parts(shown)
    rows = []
    for row, part in zip(shown, place, strict=True):
        made = _row(row) | {"part": part}
        if row in group.baselines:  # which no encoder's speed is held against
            made |= dict.fromkeys(_COSTS)
        if found := differences.get(row.variant):
            made["difference"] |= found._asdict() | {"p_holm": adjusted.get(row.variant)}
        rows.append(made)
    return {
        "title": group.title,
        "subtitle": group.subtitle,
        "conditions": group.conditions
        | {"budget": group.title.rpartition(" · ")[2] if group.rows else None, "documents": group.subtitle},
        "rows": rows,
        "parts": parts,
        "references": {name: summary.mean for name, summary in group.references.items()},
        "published": [
            {"model": row.model, "accuracy": row.accuracies[group.conditions["task"]], "source": row.source}
            for row in group.published
        ],
        "notes": group.notes
        + [f"published: {source}" for source in dict.fromkeys(row.source for row in group.published)]
        + [f"not as published: {sentence}" for sentence in group.differs],
    }


def _parts(rows: Sequence[Row]) -> tuple[list[dict[str, Any]], list[int]]:
    """Rows that saw the same documents, which alone one figure holds: what sets each such part apart, and each row's.

    A task may be of many kinds under one name, such as ``task.pairs``, and a group holds them all.
    """
    parts: list[list[Row]] = []
    place = []
    for row in rows:
        pairs = [[(own, of) for own in row.records for of in part[0].records] for part in parts]
        found = next((i for i, runs in enumerate(pairs) if any(same_documents(*pair) for pair in runs)), len(parts))
        place.append(found)
        parts[found].append(row) if found < len(parts) else parts.append([row])
    return [_part(part, i) for i, part in enumerate(parts, 1)], place


def _part(rows: Sequence[Row], number: int) -> dict[str, Any]:
    of_task = [{key: value for key, value in row.settings.items() if key.startswith("task.")} for row in rows]
    shared = {key: value for key, value in of_task[0].items() if all(other.get(key) == value for other in of_task)}
    records = [record for row in rows for record in row.records]
    names = dict.fromkeys(name for record in records for name in record["references"])
    return {
        "name": ", ".join(f"{key} {value}" for key, value in shared.items()) or f"documents {number}",
        "references": {name: summarize(record["references"].get(name) for record in records).mean for name in names},
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "variant": row.variant,
        "n": len(row.records),
        "seeds": [record["seed"] for record in row.records],
        "accuracy": row.values[ACCURACY]._asdict(),
        "interval": intervals.of_row(row)._asdict(),
        "softmax": row.softmax and row.softmax.variant,
        "difference": {"value": row.accuracy_difference},
        "ratio": row.speed_ratio,
        "like_softmax": row.like_softmax,
        "metrics": {key[5:]: found.mean for key, found in row.values.items() if key.startswith("test/")},
        **{key: row.values[key].mean for key in _QUANTITIES},
        "settings": row.settings,
        "notes": row.notes,
        "by_length": _by_length(row),
        "measured": " · ".join(dict.fromkeys(measured(record) for record in row.records)),
    }


def _by_length(row: Row) -> list[dict[str, Any]]:
    """Each range of lengths, all runs' documents of it taken together; of a single run with Wilson's limits."""
    ranges: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for record in row.records:
        for found in record.get("by_length") or ():
            if found["accuracy"] is not None:
                ranges.setdefault((found["from"], found["to"]), []).append(found)
    rows = []
    for (start, end), runs in sorted(ranges.items()):
        documents = sum(found["documents"] for found in runs)
        right = sum(found["accuracy"] * found["documents"] for found in runs)
        low, high = intervals.wilson(round(right), documents) if len(row.records) == 1 else (None, None)
        rows.append(
            {"from": start, "to": end, "n": len(runs), "documents": round(documents / len(runs))}
            | {"accuracy": right / documents, "low": low, "high": high}
            | {"read": sum(found["read"] for found in runs) / len(runs)}
        )
    return rows


def _run(record: Record, folder: Path, base: Path) -> dict[str, Any]:
    curves, odd = read_curves(folder)
    notes = [] if curves or odd else [f"no {FILE_NAME} beside its record: no curves"]
    if text := departures_text(record.get("departures", {})):
        notes.append(f"departs from {record['protocol']}: {text}")
    metrics, selection = record.get("metrics", {}), record.get("selection", {})
    odd += [f"{name} is nan" for name, value in metrics.items() if value is None]
    return {
        "id": record["run_id"],
        "folder": str(folder.relative_to(base)),
        "status": record["status"],
        "error": record.get("error"),
        "seed": record["seed"],
        "conditions": conditions_text(conditions_of(record)),
        "accuracy": metrics.get(ACCURACY),
        "metrics": metrics,
        "selected_step": selection.get("step"),
        "commit": (record.get("commit") or "")[:10] + ("+" if record.get("dirty") else ""),
        **{key: record.get(key) for key in _QUANTITIES},
        "curves": curves,
        "odd": odd,
        "notes": notes,
        "differs": [],
    }
