"""Reading the rows of a file, parquet, CSV, TSV or JSON; and what is wrong in them."""

import csv
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.tasks.encodings import open_text
from longdoc.tasks.json_values import json_values
from longdoc.tasks.say import say

BATCH = 32  # rows of a table held in memory at a time, each perhaps a book
HEAVY = 10**9  # bytes of a row group that reading a parquet file does not take without a word

csv.field_size_limit(2**31 - 1)  # a field may be a whole book


class Refused:
    """The rows of a table that cannot be used: how many, and what was wrong with the first.

    rows: those read so far; the reader counts them, and the last one is the one at hand.
    """

    def __init__(self, where: object) -> None:
        self.where, self.rows, self.count, self.first = where, 0, 0, ""

    def add(self, why: str) -> None:
        """Of the row at hand."""
        self.first = self.first or f"{self.where}, row {self.rows:,}: {why}"
        self.count += 1

    def add_next(self, why: str) -> None:
        """Of a row that is not handed on."""
        self.rows += 1
        self.add(why)

    def check(self) -> None:
        """Raises ValueError if a row was refused, or there were none."""
        if self.count:
            raise ValueError(f"{self.count:,} of {self.rows:,} rows are refused; the first: {self.first}")
        if not self.rows:
            raise ValueError(f"{self.where} has no rows")


def column_names(path: Path) -> list[str]:
    """The names of all columns; of JSON those of the first row."""
    if path.suffix == ".parquet":
        return list(open_parquet(path).schema_arrow.names)
    with open_text(path) as file:
        if path.suffix in (".csv", ".tsv"):
            return _csv_header(path, _csv_reader(path, file))
        row = next(json_values(path, file, False), None)
    return list(row) if isinstance(row, dict) else []


def read_rows(path: Path, columns: Sequence[str], refused: Refused, written: bool = False) -> Iterator[tuple[Any, ...]]:
    """What ``Table.rows`` says, of a file. Values of .csv and .tsv, which have a header and may have quotes, are text;
    bytes in them that are no UTF-8 are surrogates, from which ``to_bytes`` has them back."""
    if path.suffix == ".parquet":
        rows = _parquet_rows(path, columns)
    elif path.suffix in (".csv", ".tsv"):
        rows = _csv_rows(path, columns, refused)
    else:
        rows = _json_rows(path, columns, refused, written)
    return counted(rows, refused)


def to_bytes(text: Any) -> bytes | None:
    """A text in UTF-8, bytes as they are, None as it is; raises ValueError for half a character, as JSON may have."""
    if text is None or isinstance(text, bytes):
        return text
    try:
        return str(text).encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        raise ValueError(f"a text has half a character, {half}, which UTF-8 cannot hold") from error


def counted(rows: Iterator[tuple[Any, ...]], refused: Refused) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        refused.rows += 1
        yield row
    refused.check()


def check_columns(found: Sequence[str], wanted: Sequence[str], where: object) -> None:
    missing = ", ".join(name for name in wanted if name not in found)
    if missing:
        raise ValueError(f"{where} has the columns {', '.join(found)}; it lacks {missing}: see task.columns")
    if repeated := next((name for name in wanted if list(found).count(name) > 1), None):
        raise ValueError(f"{where} has several columns called {repeated}; names must differ where one is read")


def open_parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, memory_map=True)  # what is compressed, perhaps all of it, need not be in memory
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not a whole {path.suffix[1:]} file: {error}")


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    file = open_parquet(path)
    check_columns(file.schema_arrow.names, columns, path)
    _tell_if_heavy(path, tuple(columns))
    try:
        yield from batch_rows(file.iter_batches(BATCH, columns=list(columns)), columns)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


@cache  # once for a file
def _tell_if_heavy(path: Path, columns: tuple[str, ...]) -> None:
    """Writers fill pages by rows, 1,024 at least with pyarrow, and a page is in memory whole: of books, gigabytes."""
    found = open_parquet(path).metadata
    for group in map(found.row_group, range(found.num_row_groups)):
        chunks = [group.column(i) for i in range(group.num_columns)]
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns)
        if size > HEAVY:
            say(
                f"{path} has {group.num_rows:,} rows in one row group, {size / 1e9:.1f} GB, and reading may take as "
                f"much memory; written with fewer, such as pyarrow's row_group_size=64, it takes little"
            )
            return


def batch_rows(batches: Iterator[Any], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*([_image_bytes(v) for v in _cells(batch.column(name))] for name in columns), strict=True)


def _cells(column: Any) -> list[Any]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError:  # not all writers look at what they call text
        return column.cast(pa.large_binary()).to_pylist()


def _image_bytes(value: Any) -> Any:
    return value["bytes"] if isinstance(value, dict) and set(value) == {"bytes", "path"} else value


def _csv_reader(path: Path, file: TextIO) -> Any:
    return csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)


def _csv_header(path: Path, reader: Any) -> list[str]:
    """The names of the columns; raises ValueError if they stand in one because another character parts them."""
    names: list[str] = next(reader, [])
    right = "a tab" if path.suffix == ".tsv" else "a comma"
    for character, name in {";": "a semicolon", "\t": "a tab", ",": "a comma"}.items():
        if len(names) == 1 and character in names[0] and name != right:
            raise ValueError(
                f"{path} has one column, {names[0]!r}: {name} parts its fields, and in {path.suffix} it must be {right}"
            )
    return names


def _csv_rows(path: Path, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
    with open_text(path) as file:
        reader = _csv_reader(path, file)
        try:
            names = _csv_header(path, reader)
            check_columns(names, columns, path)
            places = [names.index(name) for name in columns]
            for fields in reader:
                if len(fields) == len(names):
                    yield tuple(fields[place] for place in places)
                elif fields:  # an empty line is none
                    refused.add_next(f"{len(fields)} fields, not the {len(names)} of {', '.join(names)}")
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num:,}: the quotes do not match: {error}") from error


def _json_rows(path: Path, columns: Sequence[str], refused: Refused, written: bool) -> Iterator[tuple[Any, ...]]:
    with open_text(path) as file:
        try:
            for row in json_values(path, file, written):
                found = list(row) if isinstance(row, dict) else []
                missing = ", ".join(name for name in columns if name not in found)
                if missing:
                    refused.add_next(f"it has {', '.join(found) or 'no names'}; it lacks {missing}")
                else:
                    yield tuple(row[name] for name in columns)
        except ValueError as error:
            raise ValueError(f"{path}, row {refused.rows + 1:,}: this is not JSON: {error}") from error
