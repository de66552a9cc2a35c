"""Which columns of a table hold texts and labels, and reading them as text, whatever a cell looks like."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from longdoc.tasks.encodings import SURROGATE, decode, encoding_of, file_encoding, undecodable
from longdoc.tasks.rows import Refused
from longdoc.tasks.tables import Table

TEXT = ("text", "document", "content", "body", "article", "review", "abstract", "sentence", "passage", "message")
LABEL = ("label", "labels", "class", "classes", "category", "categories", "target", "targets", "tag", "tags", "y")


def guess(what: str, usual: Sequence[str], table: Table, taken: Sequence[str]) -> str:
    """The one column of a table that has a usual name, or that is the only one not ``taken``; ``what`` could name it.

    Raises ValueError, listing the columns, if none or several could be meant.
    """
    columns = table.column_names()
    if not columns:
        raise ValueError(f"{table.where} has no rows, or none with names")
    free = [name for name in columns if name not in taken]
    named = [name for name in free if name.lower() in usual]
    if len(named) == 1 or len(free) == 1:
        return (named or free)[0]
    could = f"{' and '.join(named)} could be it" if named else f"none has a usual name, such as {usual[0]}"
    raise ValueError(f"{table.where} has the columns {', '.join(columns)}: {what} must name one; {could}")


def check_columns(table: Table, wanted: Mapping[str, Sequence[str | None]]) -> None:
    """Raises ValueError, listing the columns, if a table lacks one of those that settings, by name, stand for."""
    columns = table.column_names()
    for setting, names in wanted.items():
        if missing := [name for name in names if name is not None and name not in columns]:
            found = ", ".join(columns) or "of no names"
            raise ValueError(f"{table.where} has the columns {found}; it lacks {', '.join(missing)}: see {setting}")


class TextReader:
    """Reads the texts of a table, row after row, and counts those in which something was put right.

    columns: those of the texts. errors: ``strict``, or ``replace``: U+FFFD in place of each byte that is no UTF-8,
        or not what the byte order mark says.
    allow_missing: a missing text is an empty one. replaced, missing: the rows, so far, in which either was done.
    """

    def __init__(
        self, table: Table, columns: Sequence[str], errors: str = "strict", allow_missing: bool = False
    ) -> None:
        self.table, self.columns, self.errors, self.allow_missing = table, list(columns), errors, allow_missing
        self.replaced = self.missing = 0

    def rows(self, refused: Refused, more: Sequence[str] = ()) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
        """The texts of a row and its values in ``more`` columns; a row that has no text is refused, and empty."""
        for values in self.table.rows([*self.columns, *more], refused):
            try:
                if self.allow_missing and None in values[: len(self.columns)]:
                    self.missing += 1
                    values = tuple("" if value is None else value for value in values)
                count = self.replaced
                texts = [self._text(*cell, refused) for cell in zip(self.columns, values, strict=False)]
                self.replaced = min(self.replaced, count + 1)
            except ValueError as error:
                refused.add(str(error))
                texts = [""] * len(self.columns)
            yield texts, values[len(self.columns) :]

    def of_rows(self, rows: Iterable[int]) -> Iterator[list[str]]:
        """The texts of some rows, in the table's order."""
        wanted = set(rows)
        for row, (texts, _) in enumerate(self.rows(Refused(self.table.where))):
            if row in wanted:
                yield texts

    def _text(self, column: str, value: Any, refused: Refused) -> str:
        if value is None:
            raise ValueError(f"{column} is missing; an empty text would be allowed")
        if isinstance(value, list | dict):
            raise ValueError(f"{column} holds a {type(value).__name__}, not text")
        if isinstance(value, bytes):
            text = decode(value)
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
        if text.isascii() or not SURROGATE.search(text):
            return text
        if self.errors == "replace":
            self.replaced += 1
            return SURROGATE.sub("\ufffd", text)
        file = refused.where if isinstance(refused.where, Path) and refused.where.suffix != ".parquet" else None
        byte = undecodable(file) if file and not refused.first else None
        place = "" if byte is None else f", first at byte {byte:,} of the file"
        encoding = encoding_of(value) if isinstance(value, bytes) else file_encoding(file) if file else "utf-8"
        kind = encoding.removesuffix("-sig").upper()
        raise ValueError(f"{column} has bytes that are no {kind}{place}; errors=replace puts U+FFFD in their place")
