"""A comparison of runs: like beside like, means with their spread, and in words what makes rows unlike."""

import csv
import io
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rich import box, console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from longdoc.results.record import Record, settings

ACCURACY = "test/accuracy"
SPEED = "tokens_per_second"
QUANTITIES = ("parameters", "epochs", "steps", "tokens", SPEED, "peak_memory_mb", "wall_seconds")

# With budget and documents, what runs must share to be compared.
_GROUP_CONDITIONS = ("task", "protocol", "max_length", "encoder")

# What a speed depends on besides the variant; other commits are worth a note too.
_SPEED_CONDITIONS = ("device", "cpu", "threads", "precision", "compiled")
_NOTED_CONDITIONS = (*_SPEED_CONDITIONS, "commit")

# Where a variant stands in a config: two variants differ here by their nature.
_VARIANT_KEYS = ("encoder.attention", "attention", "feature_map", "decay")

_HEADERS = ("variant", "n", "test acc", "Δ acc", "params", "steps", "tokens", "tok/s", "speed", "MB")
_LEGEND = "± sample standard deviation over n runs; Δ acc, speed: against softmax in the same group"
_UNFINISHED = "Not finished, in no mean"


class Summary(NamedTuple):
    """Mean and sample standard deviation of ``n`` numbers; no mean without a number, no spread below two."""

    mean: float | None
    std: float | None
    n: int


@dataclass
class Row:
    """The runs of one variant under one set of settings.

    ``settings`` are those that another row of the group has otherwise. ``speed_ratio`` and
    ``accuracy_difference`` are against softmax, None where the group has none; ``like_softmax`` says whether
    the two speeds were measured under the same conditions.
    """

    variant: str
    records: list[Record]
    values: dict[str, Summary]
    settings: dict[str, Any] = field(default_factory=dict)
    speed_ratio: float | None = None
    accuracy_difference: float | None = None
    like_softmax: bool = True
    notes: list[str] = field(default_factory=list)


@dataclass
class Group:
    """Rows that may be compared: one task, protocol, length, encoder, budget and number of documents."""

    conditions: dict[str, Any]  # task, protocol, max_length, encoder
    budget: dict[str, float]
    documents: dict[str, int]
    rows: list[Row]
    references: dict[str, Summary]
    notes: list[str]

    @property
    def title(self) -> str:
        """Task · protocol · length · encoder · budget."""
        return f"{_conditions_text(self.conditions)} · {_budget_text(self.budget)}"

    @property
    def subtitle(self) -> str:
        """How many documents each split holds."""
        return ", ".join(f"{name} {rows:,}" for name, rows in self.documents.items()) + " documents"


def variant(record: Record) -> str:
    """``softmax``, or the feature map and, if there is one, the decay: ``favor+selective``."""
    if record["attention"] == "softmax":
        return "softmax"
    name = record["feature_map"] or record["attention"]
    return name if record["decay"] in (None, "none") else f"{name}+{record['decay']}"


def summarize(values: Iterable[Any]) -> Summary:
    """Mean and spread of the finite numbers among ``values``."""
    numbers = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return Summary(
        statistics.fmean(numbers) if numbers else None,
        statistics.stdev(numbers) if len(numbers) > 1 else None,
        len(numbers),
    )


def compare(records: Iterable[Record]) -> tuple[list[Group], list[Record]]:
    """Groups of what may be compared, and the records without final numbers: failed, running, interrupted.

    Groups are ordered by task, protocol and length, rows by test accuracy, the best first.
    """
    groups: dict[tuple, list[Record]] = {}
    unfinished = []
    for record in records:
        if record["status"] == "finished":
            groups.setdefault(_group_key(record), []).append(record)
        else:
            unfinished.append(record)
    made = [_group(members) for members in groups.values()]
    return sorted(made, key=_group_order), unfinished


def _budget(record: Record) -> dict[str, float]:
    return {key: value for key, value in sorted(record["budget"].items()) if value is not None}


def _documents(record: Record) -> dict[str, int]:
    return {name: split["rows"] for name, split in record["splits"].items()}


def _group_key(record: Record) -> tuple:
    conditions = tuple(record[key] for key in _GROUP_CONDITIONS)
    return *conditions, tuple(_budget(record).items()), tuple(sorted(_documents(record).items()))


def _group_order(group: Group) -> tuple:
    task, protocol, length, _ = group.conditions.values()
    return task, protocol, length or 0, group.title, group.subtitle


def _group(records: list[Record]) -> Group:
    by_row: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_row.setdefault((variant(record), record["config_hash"]), []).append(record)
    rows = [_row(name, members) for (name, _), members in sorted(by_row.items())]
    rows.sort(key=lambda row: -_or(row.values[ACCURACY].mean, -math.inf))
    notes = _against_softmax(rows)
    _tell_apart(rows)
    first = records[0]
    names = dict.fromkeys(name for record in records for name in record["references"])
    references = {name: summarize(record["references"].get(name) for record in records) for name in names}
    for name, summary in references.items():
        if summary.std:
            notes.append(f"{name} differs between the runs: they did not see the same documents")
    for key in dict.fromkeys(key for row in rows for key in row.settings):
        notes += _difference(key, [(row.settings[key], row) for row in rows if key in row.settings])
    for key in _NOTED_CONDITIONS:
        notes += _difference(key, [(record.get(key), row) for row in rows for record in row.records])
    return Group(
        conditions={key: first[key] for key in _GROUP_CONDITIONS},
        budget=_budget(first),
        documents=_documents(first),
        rows=rows,
        references=references,
        notes=notes,
    )


def _difference(key: str, values: Iterable[tuple[Any, Row]]) -> list[str]:
    held: dict[str, dict[str, None]] = {}
    for value, row in values:
        text = str(value)
        held.setdefault(text[:10] if key == "commit" else text, {})[row.variant] = None
    said = "; ".join(f"{text} ({', '.join(variants)})" for text, variants in held.items())
    return [f"{key} differs: {said}"] if len(held) > 1 else []


def _row(name: str, records: list[Record]) -> Row:
    metrics = dict.fromkeys([ACCURACY, *(metric for record in records for metric in record["metrics"])])
    values = {metric: summarize(record["metrics"].get(metric) for record in records) for metric in metrics}
    values |= {key: summarize(record.get(key) for record in records) for key in QUANTITIES}
    row = Row(name, records, values)
    for key, summary in values.items():
        if (missing := len(records) - summary.n) and (summary.n or key == ACCURACY):
            row.notes.append(f"{key} is nan in {missing} of {len(records)} runs, left out of the mean")
    seeds = [record["seed"] for record in records]
    for seed in dict.fromkeys(seeds):
        if (repeated := seeds.count(seed)) > 1:
            row.notes.append(f"{repeated} runs of one seed ({seed})")
    return row


def _measured_under(row: Row) -> set[tuple]:
    return {tuple(record.get(key) for key in _SPEED_CONDITIONS) for record in row.records}


def _against_softmax(rows: list[Row]) -> list[str]:
    """Compares the rows with softmax; where softmax has several rows, with the best in validation."""
    candidates = [row for row in rows if row.variant == "softmax"]
    if not candidates:
        return []
    none = Summary(None, None, 0)
    softmax = max(candidates, key=lambda row: _or(row.values.get("val/accuracy", none).mean, -math.inf))
    conditions = _measured_under(softmax)
    for row in rows:
        row.like_softmax = row is softmax or (len(conditions) == 1 and _measured_under(row) == conditions)
        speed, base = row.values[SPEED].mean, softmax.values[SPEED].mean
        if speed is not None and base:
            row.speed_ratio = speed / base
        accuracy, base = row.values[ACCURACY].mean, softmax.values[ACCURACY].mean
        if accuracy is not None and base is not None:
            row.accuracy_difference = accuracy - base
    notes = []
    if len(candidates) > 1:
        notes.append("Δ acc and speed are against the softmax whose speed is ×1.00, the best in val/accuracy")
    if not all(row.like_softmax for row in rows):
        notes.append(f"speeds with * and softmax's differ in their conditions ({', '.join(_SPEED_CONDITIONS)})")
    return notes


def _tell_apart(rows: list[Row]) -> None:
    """Finds the settings that differ beyond what makes a variant, and numbers the rows of one variant."""
    flat = [dict(_flatten(settings(row.records[0]["config"]))) for row in rows]
    names = [row.variant for row in rows]
    for i, row in enumerate(rows):
        twins = [other for other, name in zip(flat, names, strict=True) if name == names[i]]
        for key in dict.fromkeys(key for other in flat for key in other):
            of_variant = any(key == held or key.startswith(f"{held}.") for held in _VARIANT_KEYS)
            if any(other.get(key) != flat[i].get(key) for other in (twins if of_variant else flat)):
                row.settings[key] = flat[i].get(key)
        if len(twins) > 1:
            row.settings = row.settings or {"config_hash": row.records[0]["config_hash"]}
            if number := names[:i].count(names[i]):
                row.variant = f"{names[i]} ({number + 1})"


def _flatten(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


# Cells and words, shared by every format.


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _conditions_text(conditions: Mapping[str, Any]) -> str:
    task, protocol, length, encoder = (conditions[key] for key in _GROUP_CONDITIONS)
    length = f"{length:,} tokens" if isinstance(length, int) else f"length {length}"
    return f"{task} · {protocol} · {length} · {encoder}"


def _budget_text(budget: Mapping[str, float]) -> str:
    parts = []
    for key, value in budget.items():
        if key != "max_time":
            parts.append(f"{value:,} {key.removeprefix('max_')}")
        elif value >= 3600:
            parts.append(f"{value / 3600:.3g} h")
        else:
            parts.append(f"{value / 60:.3g} min" if value >= 60 else f"{value:.3g} s")
    return ", ".join(parts) or "no limit"


def _brief(value: float | None) -> str:
    """Three significant digits and a unit prefix: 12300 is 12.3k."""
    if value is None:
        return "-"
    for prefix in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5 or prefix == "T":
            break
        value /= 1000
    return f"{value:.0f}{prefix}" if prefix == "" or abs(value) >= 99.95 else f"{value:#.3g}{prefix}"


def _accuracy_text(summary: Summary) -> str:
    if summary.mean is None:
        return "nan"
    return f"{summary.mean:.3f}" + ("" if summary.std is None else f" ± {summary.std:.3f}")


def _cells(row: Row) -> list[str]:
    value = {key: summary.mean for key, summary in row.values.items()}
    memory = value["peak_memory_mb"]
    difference, ratio = row.accuracy_difference, row.speed_ratio
    return [
        row.variant,
        str(len(row.records)),
        _accuracy_text(row.values[ACCURACY]),
        "-" if difference is None else f"{difference:+.3f}",
        *(_brief(value[key]) for key in ("parameters", "steps", "tokens", SPEED)),
        "-" if ratio is None else f"×{ratio:{'.0f' if ratio >= 99.95 else '#.3g'}}{'' if row.like_softmax else '*'}",
        "-" if memory is None else f"{memory:.0f}",
    ]


def _reference_cells(name: str, summary: Summary) -> list[str]:
    return [name, "", _accuracy_text(summary._replace(std=None)), *[""] * (len(_HEADERS) - 3)]


def _notes(group: Group) -> list[str]:
    return [f"{row.variant}: {note}" for row in group.rows for note in row.notes] + group.notes


def _unfinished_text(record: Record) -> str:
    error = f": {' '.join(str(record['error']).split())}" if record.get("error") else ""
    where = f"{_conditions_text(record)}; run {record['run_id']}"
    return f"{record['status']}: {variant(record)}, seed {record['seed']} ({where}){error}"


# The formats.


def to_rich(groups: Sequence[Group], unfinished: Sequence[Record]) -> console.Group:
    """Tables for the terminal, within 80 columns."""
    parts: list[console.RenderableType] = []
    for group in groups:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
        table.add_column(_HEADERS[0], overflow="fold", min_width=8)
        for header in _HEADERS[1:]:
            table.add_column(header, justify="right", no_wrap=True)
        for row in group.rows:
            table.add_row(*map(Text, _cells(row)))
        for name, summary in group.references.items():
            table.add_row(*map(Text, _reference_cells(name, summary)), style="dim")
        parts += [Text(group.title, style="bold"), Text(group.subtitle, style="dim"), table]
        parts += [Padding(Text(note), (0, 0, 0, 2)) for note in _notes(group)]
        parts.append(Text())
    if groups:
        parts.append(Text(_LEGEND, style="dim"))
    if unfinished:
        parts.append(Text(f"{_UNFINISHED}:", style="bold"))
        parts += [Padding(Text(_unfinished_text(record)), (0, 0, 0, 2)) for record in unfinished]
    return console.Group(*parts)


def to_markdown(groups: Sequence[Group], unfinished: Sequence[Record]) -> str:
    """A GitHub table for each group."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    lines = []
    for group in groups:
        lines += [f"### {group.title}", "", f"{group.subtitle}.", "", line(_HEADERS)]
        lines.append(line(["---", *["---:"] * (len(_HEADERS) - 1)]))
        lines += [line(_cells(row)) for row in group.rows]
        lines += [
            line(f"*{cell}*" if cell else "" for cell in _reference_cells(name, summary))
            for name, summary in group.references.items()
        ]
        lines += ["", *(f"- {note}" for note in _notes(group)), ""]
    if groups:
        lines += [f"{_LEGEND}.", ""]
    if unfinished:
        lines += [f"{_UNFINISHED}:", "", *(f"- {_unfinished_text(record)}" for record in unfinished), ""]
    return "\n".join(lines)


def rows_as_dicts(groups: Sequence[Group], unfinished: Sequence[Record]) -> list[dict[str, Any]]:
    """Every row, reference line and unfinished run as a flat dict, unrounded; ``kind`` tells them apart.

    A quantity ``q`` comes with ``q_std`` and ``q_n``, the number of runs in its mean.
    """
    rows = []
    for group in groups:
        conditions = group.conditions | {"budget": group.budget, "documents": group.documents}
        for row in group.rows:
            numbers: dict[str, Any] = {}
            for key, summary in row.values.items():
                numbers |= {key: summary.mean, f"{key}_std": summary.std, f"{key}_n": summary.n}
            rows.append(
                {"kind": "variant", "variant": row.variant, "status": "finished"}
                | conditions
                | {"n": len(row.records), "seeds": [record["seed"] for record in row.records]}
                | {"config_hash": row.records[0]["config_hash"], "settings": row.settings}
                | {"accuracy_difference": row.accuracy_difference, "speed_ratio": row.speed_ratio}
                | {"same_conditions_as_softmax": row.like_softmax}
                | numbers
                | {"run_ids": [record["run_id"] for record in row.records], "notes": row.notes + group.notes}
            )
        for name, summary in group.references.items():
            rows.append({"kind": "reference", "variant": name} | conditions | {ACCURACY: summary.mean})
    for record in unfinished:
        kept = {key: record[key] for key in ("status", *_GROUP_CONDITIONS, "config_hash")}
        one = {"seeds": [record["seed"]], "run_ids": [record["run_id"]], "error": record.get("error")}
        rows.append({"kind": "unfinished", "variant": variant(record)} | kept | one)
    return rows


def to_json(groups: Sequence[Group], unfinished: Sequence[Record]) -> str:
    """The rows as a JSON list of objects."""
    return json.dumps(rows_as_dicts(groups, unfinished), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(groups: Sequence[Group], unfinished: Sequence[Record]) -> str:
    """The rows as CSV; an empty cell is an absent value, lists and objects are JSON in their cell."""
    rows = rows_as_dicts(groups, unfinished)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: json.dumps(v) if isinstance(v, list | dict) else v for key, v in row.items()})
    return out.getvalue()
