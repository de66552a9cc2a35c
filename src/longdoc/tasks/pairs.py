"""Reading pairs of documents with a label, one after the other: two texts as bytes, and 0 or 1."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

Pair = tuple[bytes, bytes, int]
BATCH = 256  # rows of a table held in memory at a time
FIELDS = "label, id1, id2, text1, text2"


class Refused:
    """The rows of a file that are no pairs: how many, and what was wrong with the first."""

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.first = path, 0, ""

    def add(self, row: int, why: str) -> None:
        """row: counted from 1."""
        self.first = self.first or f"{self.path}, row {row:,}: {why}"
        self.count += 1

    def check(self, rows: int) -> None:
        """Raises ValueError if a row was refused, or there were none."""
        if self.count:
            raise ValueError(f"{self.count:,} of {rows:,} rows are refused; the first: {self.first}")
        if not rows:
            raise ValueError(f"{self.path} has no rows")


def released_pairs(path: Path) -> Iterator[Pair]:
    """Of a file of Long Range Arena's release: five fields between tabs, no header, no quotes.

    Raises ValueError, at the end, if a row has other fields or a label that is not 0 or 1.
    """
    refused, row = Refused(path), 0
    with path.open("rb") as file:
        for row, line in enumerate(file, 1):
            fields = line.removesuffix(b"\n").split(b"\t")
            if len(fields) != 5:
                refused.add(row, f"{len(fields)} fields between tabs, not the 5 of {FIELDS}")
            elif (label := _label(fields[0])) is None:
                refused.add(row, f"{_no_label(fields[0].decode(errors='replace'))}; the file has no header")
            else:
                yield fields[3], fields[4], label
    refused.check(row)


def text_pairs(path: Path, columns: tuple[str, str, str]) -> Iterator[Pair]:
    """Of a table with columns for two texts and a label; raises ValueError, at the end, if one of them is missing."""
    refused, row = Refused(path), 0
    for row, (*texts, value) in enumerate(read_rows(path, columns), 1):
        a, b = (_bytes(text) for text in texts)
        label = _label(value)
        if a is None or b is None:
            refused.add(row, f"{columns[0 if a is None else 1]} is missing; an empty text would be allowed")
        elif label is None:
            refused.add(row, _no_label(value))
        else:
            yield a, b, label
    refused.check(row)


def id_pairs(
    path: Path, documents: Path, columns: tuple[str, str, str], document_columns: tuple[str, str]
) -> Iterator[Pair]:
    """Of a table with columns for two ids and a label, and one of ``documents``, which is held in memory.

    Raises ValueError, at the end, for ids without a document, or with two, and labels that are not 0 or 1.
    """
    texts = _texts(documents, document_columns)
    refused, row = Refused(path), 0
    for row, (*ids, value) in enumerate(read_rows(path, columns), 1):
        label = _label(value)
        unknown = [
            f"{name}={name_id}" for name, name_id in zip(columns, ids, strict=False) if str(name_id) not in texts
        ]
        if unknown:
            refused.add(row, f"{unknown[0]} has no document in {documents}")
        elif label is None:
            refused.add(row, _no_label(value))
        else:
            yield texts[str(ids[0])], texts[str(ids[1])], label
    refused.check(row)


def _texts(path: Path, columns: tuple[str, str]) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    refused, row = Refused(path), 0
    for row, (name, value) in enumerate(read_rows(path, columns), 1):
        text = _bytes(value)
        if name is None or text is None:
            refused.add(row, f"{columns[0 if name is None else 1]} is missing")
        elif str(name) in texts:
            refused.add(row, f"{columns[0]}={name} was there before")
        else:
            texts[str(name)] = text
    refused.check(row)
    return texts


def _bytes(text: Any) -> bytes | None:
    return text if text is None or isinstance(text, bytes) else str(text).encode()


def _label(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number in (0, 1) else None


def _no_label(value: Any) -> str:
    return f"the label {str(value)[:40]!r} is neither 0 nor 1"


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The values of some columns of a .parquet, .csv or .jsonl file, row after row; raises ValueError if one lacks."""

    def lacks(found: Sequence[str], where: str) -> ValueError:
        missing = ", ".join(name for name in columns if name not in found)
        return ValueError(f"{where} has the columns {', '.join(found)}; it lacks {missing}: see task.columns")

    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                row = json.loads(line)
                if not set(columns) <= set(row):
                    raise lacks(list(row), f"{path}, row {number}")
                yield tuple(row[name] for name in columns)
        return
    if path.suffix == ".csv":
        reader = pa.csv.open_csv(path, parse_options=pa.csv.ParseOptions(newlines_in_values=True))
        names, batches = reader.schema.names, iter(reader)
    else:
        table = pq.ParquetFile(path)
        names, batches = table.schema_arrow.names, table.iter_batches(BATCH)
    if not set(columns) <= set(names):
        raise lacks(names, str(path))
    for batch in batches:
        yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
