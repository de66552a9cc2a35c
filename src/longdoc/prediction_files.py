"""Predictions as rows of a file: JSONL, CSV or Parquet."""

import csv
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.prediction import Prediction

Row = dict[str, Any]


def to_rows(predictions: Sequence[Prediction], **columns: Sequence[Any]) -> list[Row]:
    """``row``, its number from 0, then ``columns`` (a value a prediction), then the prediction's own values."""
    return [
        {"row": i, **{name: values[i] for name, values in columns.items()}, **asdict(prediction)}
        for i, prediction in enumerate(predictions)
    ]


def to_json(row: Row | list[str]) -> str:
    """One line of JSONL."""
    return json.dumps(row, ensure_ascii=False)


def flat(row: Row) -> Row:
    """A row of a table: ``p_<class>`` for each class."""
    flattened: Row = {}
    for name, value in row.items():
        flattened |= {f"p_{k}": v for k, v in value.items()} if name == "probabilities" else {name: value}
    return flattened


def _cells(row: Row) -> Row:
    """Lists of labels as JSON, since a class may be called anything."""
    return {name: to_json(value) if isinstance(value, list) else value for name, value in flat(row).items()}


def _jsonl(rows: list[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(to_json(row) + "\n" for row in rows)


def _csv(rows: list[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(flat(rows[0])) if rows else ["row"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(_cells, rows))


def _parquet(rows: list[Row], path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([flat(row) for row in rows]), path)


WRITERS: dict[str, Callable[[list[Row], Path], None]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}


def check_suffix(path: Path) -> None:
    """Raises ValueError unless the name says which kind of file it is to be."""
    if path.suffix not in WRITERS:
        raise ValueError(f"{path} must end in {', '.join(WRITERS)}")


def write(rows: list[Row], path: Path) -> None:
    """Writes rows into a file of the kind that its name says."""
    check_suffix(path)
    write_whole(path, lambda aside: WRITERS[path.suffix](rows, aside))


def write_whole(path: Path, writer: Callable[[Path], object]) -> None:
    """Writes a whole file or none: beside its place, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        aside = Path(folder) / path.name
        writer(aside)
        os.replace(aside, path)
