"""A comparison as a GitHub table, JSON or CSV, and the cells and words that it has in every form."""

from collections.abc import Sequence
from typing import Any

from longdoc.results.collect import Problem
from longdoc.results.comparison import (
    ACCURACY,
    F1,
    SPEED,
    Group,
    Row,
    Summary,
    of_folds,
    variant,
)
from longdoc.results.conditions import conditions_of, conditions_text
from longdoc.results.formats import dicts_to_csv, dicts_to_json, italic, markdown_head, markdown_line
from longdoc.results.published_table import published_dict
from longdoc.results.record import Record

_HEADERS = ("variant", "n", "test acc", "Δ acc", "params", "steps", "tokens", "tok/s", "speed", "MB")
_F1 = "test F1"
LEGEND = "± sample standard deviation over n runs; Δ acc, speed: against softmax in the same group"
_UNFINISHED = "Not finished, in no mean"
_PROBLEMS = "Not read, in no number"


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


def headers_of(group: Group) -> list[str]:
    """Documents with any number of classes have an F1 beside their accuracy, which is that of whole sets of them."""
    many = any(F1 in row.values for row in [*group.rows, *group.baselines])
    return [*_HEADERS[:3], *([_F1] if many else []), *_HEADERS[3:]]


def _with_folds(row: Row) -> Summary:
    """A row's accuracy; of one run of several folds with half of its interval as its spread."""
    limits = of_folds(row.records[0]) if len(row.records) == 1 else None
    summary = row.values[ACCURACY]
    return summary._replace(std=(limits[1] - limits[0]) / 2) if limits else summary


def row_cells(row: Row, headers: Sequence[str]) -> list[str]:
    """A cell for each of the group's ``headers``."""
    value = {key: summary.mean for key, summary in row.values.items()}
    memory = value["peak_memory_mb"]
    difference, ratio = row.accuracy_difference, row.speed_ratio
    return [
        row.variant,
        str(len(row.records)),
        _accuracy_text(_with_folds(row)),
        *([_accuracy_text(row.values[F1]) if F1 in row.values else "-"] if _F1 in headers else []),
        "-" if difference is None else f"{difference:+.3f}",
        *(_brief(value[key]) for key in ("parameters", "steps", "tokens", SPEED)),
        "-" if ratio is None else f"×{ratio:{'.0f' if ratio >= 99.95 else '#.3g'}}{'' if row.like_softmax else '*'}",
        "-" if memory is None else f"{memory:.0f}",
    ]


def reference_cells(name: str, summary: Summary, headers: Sequence[str]) -> list[str]:
    """The name and the accuracy that is reached without training."""
    return [name, "", _accuracy_text(summary._replace(std=None)), *[""] * (len(headers) - 3)]


def published_cells(group: Group) -> list[list[str]]:
    """The published rows, each with the number of the note that says where it is from."""
    rows = []
    for row in group.published:
        value = row.accuracies[group.conditions["task"]]
        cells = [f"{row.model} [{_sources(group).index(row.source) + 1}]", "", "F" if value is None else f"{value:.4f}"]
        rows.append([*cells, *[""] * (len(headers_of(group)) - len(cells))])
    return rows


def _sources(group: Group) -> list[str]:
    return list(dict.fromkeys(row.source for row in group.published))


def notes(group: Group) -> list[str]:
    """What is to be known of a group's rows, a sentence each."""
    rows = [*group.rows, *group.baselines]
    said = [f"{row.variant}: {note}" for row in rows for note in row.notes] + group.notes
    if _F1 in headers_of(group):
        said.append("test acc is of whole sets of classes, test F1 of all decisions together (micro)")
    said += [f"[{i}] published: {source}" for i, source in enumerate(_sources(group), 1)]
    return said + [f"not as published: {sentence}" for sentence in group.differs]


def _unfinished_text(record: Record) -> str:
    error = f": {' '.join(str(record['error']).split())}" if record.get("error") else ""
    where = f"{conditions_text(conditions_of(record))}; run {record['run_id']}"
    return f"{record['status']}: {variant(record)}, seed {record['seed']} ({where}){error}"


def rest(unfinished: Sequence[Record], problems: Sequence[Problem]) -> dict[str, list[str]]:
    """Sentences on what stands in no table, by their title."""
    found = {
        _UNFINISHED: [_unfinished_text(record) for record in unfinished],
        _PROBLEMS: [f"{problem.path} {problem.reason}" for problem in problems],
    }
    return {title: sentences for title, sentences in found.items() if sentences}


# The formats.


def markdown_table(group: Group) -> list[str]:
    """The lines of a group's rows, references and published numbers, without title and notes."""
    headers = headers_of(group)
    return [
        *markdown_head(headers),
        *(markdown_line(row_cells(row, headers)) for row in group.rows),
        *(markdown_line(italic(row_cells(row, headers))) for row in group.baselines),
        *(markdown_line(italic(reference_cells(*each, headers))) for each in group.references.items()),
        *map(markdown_line, published_cells(group)),
    ]


def to_markdown(groups: Sequence[Group], unfinished: Sequence[Record], problems: Sequence[Problem] = ()) -> str:
    """A GitHub table for each group."""
    lines = []
    for group in groups:
        lines += [f"### {group.title}", "", f"{group.subtitle}.", "", *markdown_table(group)]
        lines += ["", *(f"- {note}" for note in notes(group)), ""]
    if groups:
        lines += [f"{LEGEND}.", ""]
    for title, sentences in rest(unfinished, problems).items():
        lines += [f"{title}:", "", *(f"- {sentence}" for sentence in sentences), ""]
    return "\n".join(lines)


def rows_as_dicts(
    groups: Sequence[Group], unfinished: Sequence[Record], problems: Sequence[Problem] = ()
) -> list[dict[str, Any]]:
    """Every row, reference line, unfinished run and problem as a flat dict, unrounded; ``kind`` tells them apart.

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
    return rows + [{"kind": "problem", "path": str(path), "notes": [reason]} for path, reason in problems]


def to_json(groups: Sequence[Group], unfinished: Sequence[Record], problems: Sequence[Problem] = ()) -> str:
    """The rows as a JSON list of objects."""
    return dicts_to_json(rows_as_dicts(groups, unfinished, problems))


def to_csv(groups: Sequence[Group], unfinished: Sequence[Record], problems: Sequence[Problem] = ()) -> str:
    """The rows as CSV; an empty cell is an absent value, lists and objects are JSON in their cell."""
    return dicts_to_csv(rows_as_dicts(groups, unfinished, problems))
