"""Rows as text that other programs read."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


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
