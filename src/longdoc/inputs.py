"""What new documents are read from: a table, a set of the hub, a folder of texts, a text, or standard input."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longdoc.tasks.base import Task
from longdoc.tasks.collection import HUB, find_collection, split_files, visible_files
from longdoc.tasks.columns import LABEL, TEXT, TextReader, check_columns, guess
from longdoc.tasks.encodings import SURROGATE, decode
from longdoc.tasks.rows import Refused
from longdoc.tasks.tables import TYPES, FileTable, Table

IDS = ("id", "file")  # columns whose values are handed on
LINE = re.compile(r"\r\n|\r|\n")


class TextFolder(Table):
    """The .txt files of a folder and those below it, in order of their names: columns ``text`` and ``file``.

    left_out: the number of its other files; hidden ones are none.
    """

    def __init__(self, folder: Path) -> None:
        self.where = self.folder = folder
        there = visible_files(folder, "**/*")
        self.files = [path for path in there if path.suffix == ".txt"]
        self.left_out = len(there) - len(self.files)

    def column_names(self) -> list[str]:
        return ["text", "file"]

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        for path in self.files:
            refused.rows, refused.where = refused.rows + 1, path
            values: dict[str, Any] = {"text": path.read_bytes(), "file": path.relative_to(self.folder).as_posix()}
            yield tuple(values[name] for name in columns)
        refused.check()


class Texts(Table):
    """Texts as they stand, in a column ``text``."""

    def __init__(self, texts: Sequence[str], where: object) -> None:
        self.texts, self.where = texts, where

    def column_names(self) -> list[str]:
        return ["text"]

    def rows(self, columns: Sequence[str], refused: Refused) -> Iterator[tuple[Any, ...]]:
        for text in self.texts:
            refused.rows += 1
            yield tuple(text for _ in columns)
        refused.check()


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends; behind the last end there is none."""
    lines = LINE.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def find_table(source: str, lines: bool = False, split: str | None = None) -> Table:
    """The table that ``source`` names: a file of ``TYPES``, a .txt file, a folder of .txt files, or a collection.

    lines: of a .txt file each line is a document. split: of a collection's splits the one to be read.

    Raises FileNotFoundError or ValueError, saying what would be right, for anything else.
    """
    path = Path(source)
    if split is not None and path.is_file():
        raise ValueError(f"--split {split}: {source} is one file; only collections of several have splits")
    if path.suffix == ".txt" and path.is_file():
        text = decode(path.read_bytes())
        return Texts(split_lines(text) if lines else [text], path)
    if lines:
        raise ValueError(f"--lines: {source} has rows of its own; it is for standard input and .txt files")
    if path.is_file():
        if path.suffix[1:] not in TYPES:
            raise ValueError(f"{path} is none of .{', .'.join(TYPES)}, .txt")
        return FileTable(path, written=True)
    if not source.startswith(HUB) and not path.is_dir():
        raise FileNotFoundError(f"{path} is not there; - reads standard input, --text a text, hf:NAME a set of the hub")
    # Where there are tables of splits, or one is asked for, texts beside them are no documents.
    if path.is_dir() and split is None and not split_files(path) and (table := TextFolder(path)).files:
        return table
    tables = find_collection(source)
    if split is None and len(tables) > 1:
        raise ValueError(f"{source} has the splits {', '.join(tables)}: --split must say which")
    if split is not None and split not in tables:
        raise ValueError(f"--split {split}: {source} has only {', '.join(tables)}")
    return next(iter(tables.values())) if split is None else tables[split]


class Input:
    """The documents of a table in order, for ``task``: texts, or pairs of them if that is what the task reads.

    columns: those of the texts; None for the task's own where they are there, else the one that could be meant.
    guessed: the column, if it was guessed. ids: of the documents read so far, those of a column ``id`` or ``file``.
    missing, replaced: how many texts so far were missing, and read as empty, or not in their encoding.
    """

    def __init__(self, table: Table, task: Task, columns: Sequence[str] | None = None, errors: str = "strict") -> None:
        names, self.guessed = table.column_names(), None
        if columns is None:
            columns = task.text_columns
            if not task.pairs and not set(columns) <= set(names):
                self.guessed = guess("--text-column", TEXT, table, [name for name in names if name in (*LABEL, *IDS)])
                columns = [self.guessed]
        if task.pairs and len(columns) != 2:
            raise ValueError(f"task={task.name} reads pairs of documents: --text-column A --text-column B")
        check_columns(table, {"--text-column": columns})
        self.pairs, self.reader = task.pairs, TextReader(table, columns, errors, allow_missing=True)
        self.id = next((name for name in IDS if name in names and name not in columns), None)
        self.ids: list[str] = []

    @property
    def missing(self) -> int:
        return self.reader.missing

    @property
    def replaced(self) -> int:
        return self.reader.replaced

    def __iter__(self) -> Iterator[str | tuple[str, str]]:
        refused = Refused(self.reader.table.where)
        for texts, ids in self.reader.rows(refused, [self.id] if self.id else []):
            self.ids += (SURROGATE.sub("\ufffd", str(value)) for value in ids)  # what is handed on must be writable
            yield (texts[0], texts[1]) if self.pairs else "\n\n".join(texts)
