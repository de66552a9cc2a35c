"""What new documents are read from: a table, a folder of texts, a text, or standard input."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from longdoc.tasks.encodings import SURROGATE, encoding_of
from longdoc.tasks.tables import TYPES, FileTable, Refused

ID = "id"  # the column whose values are handed on, if there is one
JOINED = "\n\n"  # what stands between the texts of several columns


@dataclass
class Input:
    """Documents in order, as (id, text); ids are None where the input names none.

    errors: ``strict``, or ``replace``: what is not in its encoding is read as replacement characters.
    replaced, missing: how many texts had such, and how many were missing and are read as empty; counted as they come.
    """

    where: str
    errors: str = "strict"
    replaced: int = 0
    missing: int = 0

    def __iter__(self) -> Iterator[tuple[str | None, str]]:
        raise NotImplementedError

    def clean(self, text: Any, where: str) -> str:
        """``text`` as a string that every encoding takes."""
        if text is None:
            self.missing += 1
            return ""
        if isinstance(text, bytes):
            return self.decode(text, where)
        text = str(text)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            if self.errors == "strict":
                raise _undecodable(where, f"character {error.start:,}", "UTF-8") from error
            self.replaced += 1
            return SURROGATE.sub("\ufffd", text)
        return text

    def decode(self, data: bytes, where: str) -> str:
        """Bytes in the encoding that their byte order mark names, else in UTF-8."""
        encoding = encoding_of(data)
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            if self.errors == "strict":
                raise _undecodable(where, f"byte {error.start:,}", encoding.upper()) from error
            self.replaced += 1
            return data.decode(encoding, "replace")


def _undecodable(where: str, place: str, encoding: str) -> ValueError:
    return ValueError(f"{where}, {place}: this is not {encoding}; --errors replace reads it all the same")


class TableInput(Input):
    """The rows of a table; a missing text is read as an empty one, the texts of several columns as one."""

    def __init__(self, path: Path, columns: Sequence[str] | None, errors: str = "strict") -> None:
        super().__init__(str(path), errors)
        self.table = FileTable(path, written=True)
        names = self.table.column_names()
        self.columns, self.has_id = list(columns or [guess(names, path)]), ID in names

    def __iter__(self) -> Iterator[tuple[str | None, str]]:
        columns = [*self.columns, ID] if self.has_id else self.columns
        refused = Refused(self.where)
        for values in self.table.rows(columns, refused):
            texts = [self.clean(text, f"{self.where}, row {refused.rows:,}") for text in values[: len(self.columns)]]
            yield str(values[-1]) if self.has_id else None, JOINED.join(texts)


class FolderInput(Input):
    """The .txt files of a folder and those below it, by name."""

    def __init__(self, folder: Path, errors: str = "strict") -> None:
        super().__init__(str(folder), errors)
        self.folder, self.files = folder, sorted(folder.rglob("*.txt"))
        if not self.files:
            raise FileNotFoundError(f"{folder} has no .txt files")

    def __iter__(self) -> Iterator[tuple[str | None, str]]:
        for path in self.files:
            yield path.relative_to(self.folder).as_posix(), self.decode(path.read_bytes(), str(path))


class StreamInput(Input):
    """A binary stream, such as standard input: one document, or one a line."""

    def __init__(self, file: BinaryIO, where: str, lines: bool, errors: str = "strict") -> None:
        super().__init__(where, errors)
        self.file, self.lines = file, lines

    def __iter__(self) -> Iterator[tuple[str | None, str]]:
        text = self.decode(self.file.read(), self.where)
        if not self.lines:
            yield None, text
            return
        for line in io.StringIO(text, newline=""):
            yield None, line.rstrip("\r\n")


class TextInput(Input):
    """Texts as they stand."""

    def __init__(self, texts: list[str], errors: str = "strict") -> None:
        super().__init__("--text", errors)
        self.texts = texts

    def __iter__(self) -> Iterator[tuple[str | None, str]]:
        for number, text in enumerate(self.texts):
            yield None, self.clean(text, f"--text {number + 1}")


def open_input(source: Path, columns: Sequence[str] | None, lines: bool, errors: str) -> Input:
    """The input that a path names: a folder of .txt files, one such file, or a table; raises ValueError otherwise.

    columns: those of a table whose texts are read, joined by a blank line; None guesses.
    """
    if source.is_dir():
        return FolderInput(source, errors)
    if not source.exists():
        raise FileNotFoundError(f"{source} is not there; - reads standard input, --text a text")
    if source.suffix == ".txt":
        return StreamInput(source.open("rb"), str(source), lines, errors)
    if source.suffix.removeprefix(".") not in TYPES:
        kinds = ", ".join(f".{kind}" for kind in TYPES)
        raise ValueError(f"{source} is none of {kinds}, .txt, or a folder of .txt files")
    if lines:
        raise ValueError(f"--lines: {source} has rows; it is for standard input and .txt files")
    return TableInput(source, columns, errors)


def guess(names: list[str], path: Path) -> str:
    """The column ``text``, or the only one that is neither a label nor an id; raises ValueError if there is none."""
    candidates = ["text"] if "text" in names else [name for name in names if name not in ("label", ID)]
    if len(candidates) != 1:
        raise ValueError(f"{path} has the columns {', '.join(names)}: --text-column must say which holds the texts")
    return candidates[0]
