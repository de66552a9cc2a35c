"""Reading tables of rows: parquet, CSV, TSV, JSON, and sets of a hub; and what is wrong in them."""

import csv
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

import datasets
import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
from datasets.packaged_modules.csv.csv import CsvConfig

from longdoc.tasks.cache import file_sha256
from longdoc.tasks.encodings import open_text
from longdoc.tasks.json_values import json_values
from longdoc.tasks.say import say

TYPES = ("parquet", "csv", "tsv", "jsonl", "json")
BATCH = 32  # rows of a table held in memory at a time, each perhaps a book
HEAVY = 10**9  # bytes of a row group that reading a parquet file does not take without a word
# Of the CSV files of a hub's set: each cell, in up to so many columns, as it stands; else NA is none and 007 is 7.
AS_TEXT: dict[str, Any] = {"converters": dict.fromkeys(range(1000), str), "keep_default_na": False}

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


class Table:
    """One split's rows. ``where`` names it in messages."""

    where: object

    def key(self) -> str:
        """Changes with the content."""
        raise NotImplementedError

    def column_names(self) -> list[str]:
        """The names of all columns; of JSON those of the first row."""
        raise NotImplementedError

    def class_names(self, column: str) -> list[str] | None:
        """The names of the classes whose numbers the column holds, where the table itself says so."""
        return None

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        """The values of some columns, row after row; None where one is missing, the bytes of an image's file.

        Raises ValueError if the table lacks a column or cannot be read, and at its end if a row was refused.
        """
        raise NotImplementedError


class FileTable(Table):
    """A .parquet, .csv, .tsv, .jsonl or .json file.

    written: numbers in JSON are handed on as they stand there, ``Written``.
    """

    def __init__(self, path: Path, written: bool = False) -> None:
        self.where = self.path = path
        self.written = written

    def key(self) -> str:
        return file_sha256(self.path)

    def column_names(self) -> list[str]:
        if self.path.suffix == ".parquet":
            return list(_parquet(self.path).schema_arrow.names)
        if self.path.suffix in (".csv", ".tsv"):
            with open_text(self.path) as file:
                return _csv_header(self.path, _csv_reader(self.path, file))
        with open_text(self.path) as file:
            row = next(json_values(self.path, file, False), None)
        return list(row) if isinstance(row, dict) else []

    def class_names(self, column: str) -> list[str] | None:
        """Those that ``datasets`` writes into a parquet file."""
        if self.path.suffix != ".parquet":
            return None
        return _class_names(datasets.Features.from_arrow_schema(_parquet(self.path).schema_arrow), column)

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        return read_rows(self.path, columns, refused, self.written)


class HubTable(Table):
    """A split of a set that ``datasets`` loads; of one that it streams ``version`` names the content."""

    def __init__(self, where: str, dataset: datasets.Dataset | datasets.IterableDataset, version: str = "") -> None:
        if isinstance(dataset, datasets.IterableDataset) and dataset.features is None:
            dataset = dataset._resolve_features()
        self.where, self.dataset, self.version = where, dataset, version

    def key(self) -> str:
        return self.version or self.dataset._fingerprint

    def column_names(self) -> list[str]:
        return list(self.dataset.features)

    def class_names(self, column: str) -> list[str] | None:
        return _class_names(self.dataset.features, column)

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        _check_columns(self.column_names(), columns, self.where)
        chosen = self.dataset.select_columns(list(columns)).with_format("arrow")  # as stored: no image is decoded
        return _counted(_batch_rows(chosen.iter(BATCH), columns), refused)


def load_hub(name: str, config: str | None, revision: str | None, streaming: bool = False) -> dict[str, HubTable]:
    """Every split of a set of the Hugging Face hub, or of a folder in a hub's layout; downloaded the first time, or
    each time read as a stream.

    Where the hub cannot be reached, what was downloaded before serves. Raises FileNotFoundError if there is nothing.
    """
    there = Path(name).is_dir() or _reachable(datasets.config.HF_ENDPOINT)
    try:
        with nullcontext() if there else _offline():
            builder = _hub_builder(name, config, revision)
            if not streaming:
                builder.download_and_prepare()
            splits = builder.as_streaming_dataset() if streaming else builder.as_dataset()
            # The folder's name holds a hash of the versions of the data files.
            version = builder.cache_dir if streaming or Path(name).is_dir() else ""
    except Exception as error:  # of the network, the hub and datasets, of every kind
        why = " ".join(str(error).split())
        if not there:
            why = f"{datasets.config.HF_ENDPOINT} cannot be reached, and nothing of the set was downloaded before"
        raise FileNotFoundError(
            f"the hub's set {name} could not be loaded ({why}); it needs the network the first time"
        ) from error
    return {
        split: HubTable(f"{name}, split {split}", dataset, version and f"{version} {split}")
        for split, dataset in splits.items()
    }


def _hub_builder(name: str, config: str | None, revision: str | None) -> datasets.DatasetBuilder:
    find = partial(datasets.load_dataset_builder, name, config, revision=revision)
    if Path(name).is_dir():  # of a folder the library's cache does not see that a file has changed
        find = partial(find, cache_dir=str(Path(datasets.config.HF_DATASETS_CACHE) / _content(Path(name))))
    if datasets.config.HF_HUB_OFFLINE:  # what was downloaded does not say from which kind of files
        try:
            return find(**AS_TEXT)
        except ValueError:
            return find()
    builder = find()
    return find(**AS_TEXT) if isinstance(builder.config, CsvConfig) else builder


def _content(folder: Path) -> str:
    """A hash of the names and contents of the files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {file_sha256(path)} ".encode(errors="surrogateescape"))
    return digest.hexdigest()[:20]


def _reachable(address: str) -> bool:
    try:
        huggingface_hub.get_session().head(address, timeout=5)
    except Exception:  # of the network, of every kind
        return False
    return True


@contextmanager
def _offline() -> Iterator[None]:
    """``datasets`` looks at once for what it has, instead of after half a minute of attempts."""
    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before


def find_table(folder: Path, name: str) -> Path | None:
    """``folder/name`` with the first of ``TYPES`` that is there."""
    paths = [folder / f"{name}.{kind}" for kind in TYPES]
    return next((path for path in paths if path.is_file()), None)


def read_rows(path: Path, columns: Sequence[str], refused: Refused, written: bool = False) -> Iterator[tuple[Any, ...]]:
    """What ``Table.rows`` says, of a file. Values of .csv and .tsv, which have a header and may have quotes, are text;
    bytes in them that are no UTF-8 are surrogates, from which ``to_bytes`` has them back."""
    if path.suffix == ".parquet":
        rows = _parquet_rows(path, columns)
    elif path.suffix in (".csv", ".tsv"):
        rows = _csv_rows(path, columns, refused)
    else:
        rows = _json_rows(path, columns, refused, written)
    return _counted(rows, refused)


def to_bytes(text: Any) -> bytes | None:
    """A text in UTF-8, bytes as they are, None as it is; raises ValueError for half a character, as JSON may have."""
    if text is None or isinstance(text, bytes):
        return text
    try:
        return str(text).encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        raise ValueError(f"a text has half a character, {half}, which UTF-8 cannot hold") from error


def _counted(rows: Iterator[tuple[Any, ...]], refused: Refused) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        refused.rows += 1
        yield row
    refused.check()


def _check_columns(found: Sequence[str], wanted: Sequence[str], where: object) -> None:
    missing = ", ".join(name for name in wanted if name not in found)
    if missing:
        raise ValueError(f"{where} has the columns {', '.join(found)}; it lacks {missing}: see task.columns")
    if repeated := next((name for name in wanted if list(found).count(name) > 1), None):
        raise ValueError(f"{where} has several columns called {repeated}; names must differ where one is read")


def _class_names(features: datasets.Features, column: str) -> list[str] | None:
    feature = features.get(column)
    feature = getattr(feature, "feature", feature)  # of lists of classes the class
    return list(feature.names) if isinstance(feature, datasets.ClassLabel) else None


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, memory_map=True)  # what is compressed, perhaps all of it, need not be in memory
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is not a whole {path.suffix[1:]} file: {error}")


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    file = _parquet(path)
    _check_columns(file.schema_arrow.names, columns, path)
    _tell_if_heavy(path, tuple(columns))
    try:
        yield from _batch_rows(file.iter_batches(BATCH, columns=list(columns)), columns)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


@cache  # once for a file
def _tell_if_heavy(path: Path, columns: tuple[str, ...]) -> None:
    """Writers fill pages by rows, 1,024 at least with pyarrow, and a page is in memory whole: of books, gigabytes."""
    found = _parquet(path).metadata
    for group in map(found.row_group, range(found.num_row_groups)):
        chunks = [group.column(i) for i in range(group.num_columns)]
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns)
        if size > HEAVY:
            say(
                f"{path} has {group.num_rows:,} rows in one row group, {size / 1e9:.1f} GB, and reading may take as "
                f"much memory; written with fewer, such as pyarrow's row_group_size=64, it takes little"
            )
            return


def _batch_rows(batches: Iterator[Any], columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
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
            _check_columns(names, columns, path)
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
