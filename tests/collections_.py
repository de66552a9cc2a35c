"""The same rows as every kind of collection that task=documents reads, and that task."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from reference import CONF

from longdoc.tasks.documents import OwnDocuments

KINDS = ("parquet", "csv", "tsv", "jsonl", "json", "folder")


def write_rows(path: Path, columns: dict[str, Sequence[Any]]) -> str:
    """Writes columns in the format that the path's suffix names; without one, as texts <label>/<row>.txt."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(columns), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    else:
        for number, row in enumerate(rows):
            (path / str(row["label"])).mkdir(parents=True, exist_ok=True)
            (path / str(row["label"]) / f"{number}.txt").write_bytes(row["text"].encode())
    return str(path)


def write_kind(folder: Path, kind: str, columns: dict[str, Sequence[Any]]) -> str:
    """A collection of one table, of one of ``KINDS``."""
    return write_rows(folder / "texts" if kind == "folder" else folder / f"rows.{kind}", columns)


def own_documents(cache: Path, path: str | Path, **more: Any) -> OwnDocuments:
    """With the options of conf/task/documents.yaml, but for a few that make it small."""
    options = yaml.safe_load((CONF / "task" / "documents.yaml").read_text())["task"]
    options |= {"max_length": 64, "batch_tokens": 256, "seed": 0, "cache": str(cache), "path": str(path)}
    options |= {"interaction": None, "workers": 0, "tokenizer": "bytes"} | more
    del options["_target_"]
    return OwnDocuments(**options)
