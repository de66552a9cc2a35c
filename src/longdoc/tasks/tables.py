"""Tables of labelled rows: files, and sets of a hub."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import huggingface_hub
from datasets.packaged_modules.csv.csv import CsvConfig

from longdoc.tasks.cache import file_sha256
from longdoc.tasks.rows import BATCH, Refused, batch_rows, check_columns, column_names, counted, open_parquet, read_rows

TYPES = ("parquet", "csv", "tsv", "jsonl", "json")
# Of the CSV files of a hub's set: each cell, in up to so many columns, as it stands; else NA is none and 007 is 7.
AS_TEXT: dict[str, Any] = {"converters": dict.fromkeys(range(1000), str), "keep_default_na": False}


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
        return column_names(self.path)

    def class_names(self, column: str) -> list[str] | None:
        """Those that ``datasets`` writes into a parquet file."""
        if self.path.suffix != ".parquet":
            return None
        return _class_names(datasets.Features.from_arrow_schema(open_parquet(self.path).schema_arrow), column)

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
        check_columns(self.column_names(), columns, self.where)
        chosen = self.dataset.select_columns(list(columns)).with_format("arrow")  # as stored: no image is decoded
        return counted(batch_rows(chosen.iter(BATCH), columns), refused)


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


def _class_names(features: datasets.Features, column: str) -> list[str] | None:
    feature = features.get(column)
    feature = getattr(feature, "feature", feature)  # of lists of classes the class
    return list(feature.names) if isinstance(feature, datasets.ClassLabel) else None
