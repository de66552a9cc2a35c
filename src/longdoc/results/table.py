"""A comparison as a table for the terminal, GitHub Markdown, JSON or CSV."""

from collections.abc import Sequence
from typing import Any

from rich import box, console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from longdoc.results.comparison import (
    ACCURACY,
    F1,
    SPEED,
    Group,
    Row,
    Summary,
    conditions_of,
    conditions_text,
    of_folds,
    variant,
)
from longdoc.results.formats import dicts_to_csv, dicts_to_json, markdown_line
from longdoc.results.published_table import published_dict
from longdoc.results.record import Record

_HEADERS = ("variant", "n", "test acc", "Δ acc", "params", "steps", "tokens", "tok/s", "speed", "MB")
_F1 = "test F1"
_LEGEND = "± sample standard deviation over n runs; Δ acc, speed: against softmax in the same group"
_UNFINISHED = "Not finished, in no mean"


# Cells and words, shared by every format.


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


def _headers(group: Group) -> list[str]:
    """Documents with any number of classes have an F1 beside their accuracy, which is that of whole sets of them."""
    many = any(F1 in row.values for row in [*group.rows, *group.baselines])
    return [*_HEADERS[:3], *([_F1] if many else []), *_HEADERS[3:]]


def _with_folds(row: Row) -> Summary:
    """A row's accuracy; of one run of several folds with half of its interval as its spread."""
    limits = of_folds(row.records[0]) if len(row.records) == 1 else None
    summary = row.values[ACCURACY]
    return summary._replace(std=(limits[1] - limits[0]) / 2) if limits else summary


def _cells(row: Row, headers: Sequence[str]) -> list[str]:
    value = {key: summary.mean for key, summary in row.values.items()}
    memory = value["peak_memory_mb"]
    difference, ratio = row.accuracy_difference, row.speed_ratio
    return [
        row.variant,
        str(len(row.records)),
        _accuracy_text(_with_folds(row)),
        *([_accuracy_text(row.values.get(F1, Summary(None, None, 0)))] if _F1 in headers else []),
        "-" if difference is None else f"{difference:+.3f}",
        *(_brief(value[key]) for key in ("parameters", "steps", "tokens", SPEED)),
        "-" if ratio is None else f"×{ratio:{'.0f' if ratio >= 99.95 else '#.3g'}}{'' if row.like_softmax else '*'}",
        "-" if memory is None else f"{memory:.0f}",
    ]


def _reference_cells(name: str, summary: Summary, headers: Sequence[str]) -> list[str]:
    return [name, "", _accuracy_text(summary._replace(std=None)), *[""] * (len(headers) - 3)]


def _published_rows(group: Group) -> list[list[str]]:
    """The published rows, each with the number of the note that says where it is from."""
    rows = []
    for row in group.published:
        value = row.accuracies[group.conditions["task"]]
        cells = [f"{row.model} [{_sources(group).index(row.source) + 1}]", "", "F" if value is None else f"{value:.4f}"]
        rows.append([*cells, *[""] * (len(_headers(group)) - len(cells))])
    return rows


def _sources(group: Group) -> list[str]:
    return list(dict.fromkeys(row.source for row in group.published))


def _notes(group: Group) -> list[str]:
    rows = [*group.rows, *group.baselines]
    notes = [f"{row.variant}: {note}" for row in rows for note in row.notes] + group.notes
    if _F1 in _headers(group):
        notes.append("test acc is of whole sets of classes, test F1 of all decisions together (micro)")
    notes += [f"[{i}] published: {source}" for i, source in enumerate(_sources(group), 1)]
    return notes + [f"not as published: {sentence}" for sentence in group.differs]


def _unfinished_text(record: Record) -> str:
    error = f": {' '.join(str(record['error']).split())}" if record.get("error") else ""
    where = f"{conditions_text(conditions_of(record))}; run {record['run_id']}"
    return f"{record['status']}: {variant(record)}, seed {record['seed']} ({where}){error}"


# The formats.


def to_rich(
    groups: Sequence[Group], unfinished: Sequence[Record], curves: Sequence[Sequence[str]] = ()
) -> console.Group:
    """Tables for the terminal, within 80 columns; ``curves`` are lines to show below each group's table."""
    parts: list[console.RenderableType] = []
    for group, lines in zip(groups, curves or [()] * len(groups), strict=True):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
        table.add_column(_HEADERS[0], overflow="fold", min_width=8)
        headers = _headers(group)
        for header in headers[1:]:
            table.add_column(header, justify="right", no_wrap=True)
        for row in group.rows:
            table.add_row(*map(Text, _cells(row, headers)))
        for row in group.baselines:
            table.add_row(*map(Text, _cells(row, headers)), style="italic")
        for name, summary in group.references.items():
            table.add_row(*map(Text, _reference_cells(name, summary, headers)), style="dim")
        for cells in _published_rows(group):
            table.add_row(*map(Text, cells), style="italic")
        parts += [Text(group.title, style="bold"), Text(group.subtitle, style="dim"), table]
        parts += [Padding(Text(note), (0, 0, 0, 2)) for note in _notes(group)]
        parts += [Text(), *map(Text, lines)] if lines else []
        parts.append(Text())
    if groups:
        parts.append(Text(_LEGEND, style="dim"))
    if unfinished:
        parts.append(Text(f"{_UNFINISHED}:", style="bold"))
        parts += [Padding(Text(_unfinished_text(record)), (0, 0, 0, 2)) for record in unfinished]
    return console.Group(*parts)


def to_markdown(groups: Sequence[Group], unfinished: Sequence[Record]) -> str:
    """A GitHub table for each group."""

    lines = []
    for group in groups:
        headers = _headers(group)
        lines += [f"### {group.title}", "", f"{group.subtitle}.", "", markdown_line(headers)]
        lines.append(markdown_line(["---", *["---:"] * (len(headers) - 1)]))
        lines += [markdown_line(_cells(row, headers)) for row in group.rows]
        lines += [markdown_line(f"*{cell}*" for cell in _cells(row, headers)) for row in group.baselines]
        lines += [
            markdown_line(f"*{cell}*" if cell else "" for cell in _reference_cells(name, summary, headers))
            for name, summary in group.references.items()
        ]
        lines += [markdown_line(cells) for cells in _published_rows(group)]
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
        shared = group.conditions | {"budget": group.budget, "documents": group.documents}
        kinds = [("variant", row) for row in group.rows] + [("baseline", row) for row in group.baselines]
        for kind, row in kinds:
            numbers: dict[str, Any] = {}
            for key, summary in row.values.items():
                numbers |= {key: summary.mean, f"{key}_std": summary.std, f"{key}_n": summary.n}
            rows.append(
                {"kind": kind, "variant": row.variant, "status": "finished"}
                | shared
                | {"n": len(row.records), "seeds": [record["seed"] for record in row.records]}
                | {"config_hash": row.records[0]["config_hash"], "settings": row.settings}
                | {"trials": max(1, len(row.tried))}
                | {"accuracy_difference": row.accuracy_difference, "speed_ratio": row.speed_ratio}
                | {"same_conditions_as_softmax": row.like_softmax}
                | numbers
                | {"run_ids": [record["run_id"] for record in row.records], "notes": row.notes + group.notes}
            )
        for name, summary in group.references.items():
            rows.append({"kind": "reference", "variant": name} | shared | {ACCURACY: summary.mean})
        for published in group.published:
            rows.append(published_dict(published, group.conditions["task"]) | {"notes": group.differs})
    for record in unfinished:
        kept = {"status": record["status"], **conditions_of(record), "config_hash": record["config_hash"]}
        one = {"seeds": [record["seed"]], "run_ids": [record["run_id"]], "error": record.get("error")}
        rows.append({"kind": "unfinished", "variant": variant(record)} | kept | one)
    return rows


def to_json(groups: Sequence[Group], unfinished: Sequence[Record]) -> str:
    """The rows as a JSON list of objects."""
    return dicts_to_json(rows_as_dicts(groups, unfinished))


def to_csv(groups: Sequence[Group], unfinished: Sequence[Record]) -> str:
    """The rows as CSV; an empty cell is an absent value, lists and objects are JSON in their cell."""
    return dicts_to_csv(rows_as_dicts(groups, unfinished))
