"""Rows as text, for people and for other programs."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Grid(NamedTuple):
    """A table: ``rows`` and ``references`` hold cells as they are shown, ``dicts`` what stands behind them.

    The first column holds words, the others numbers; ``runs`` is how many runs there are in all of it.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    dicts: Sequence[Mapping[str, Any]]
    runs: int
    references: Sequence[Sequence[str]] = ()  # which no run has reached
    notes: Sequence[str] = ()


def dicts_to_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """A JSON list of objects."""
    return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def dicts_to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a column for every key of any row; lists and objects are JSON in their cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: json.dumps(v) if isinstance(v, list | dict) else v for key, v in row.items()})
    return out.getvalue()


def markdown_line(cells: Iterable[str]) -> str:
    """A line of a GitHub table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def markdown_head(headers: Sequence[str]) -> list[str]:
    """Its first two lines: one column of words, then numbers."""
    return [markdown_line(headers), markdown_line(["---", *["---:"] * (len(headers) - 1)])]


def italic(cells: Iterable[str]) -> list[str]:
    """Cells of a GitHub table that are told apart from the others."""
    return [f"*{cell}*" if cell else "" for cell in cells]


def grids_to_json(grids: Sequence[Grid]) -> str:
    """What stands behind the cells of all grids, as one JSON list."""
    return dicts_to_json([row for grid in grids for row in grid.dicts])


def grids_to_csv(grids: Sequence[Grid]) -> str:
    """What stands behind the cells of all grids, as one CSV."""
    return dicts_to_csv([row for grid in grids for row in grid.dicts])


def grids_to_markdown(grids: Sequence[Grid]) -> str:
    """A GitHub table for each grid."""
    lines = []
    for grid in grids:
        lines += [f"### {grid.title}", "", *markdown_head(grid.headers), *map(markdown_line, grid.rows)]
        lines += [*(markdown_line(italic(cells)) for cells in grid.references), ""]
        lines += [*(f"- {note}" for note in grid.notes), ""] if grid.notes else []
    return "\n".join(lines)
