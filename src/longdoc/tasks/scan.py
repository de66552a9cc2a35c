"""A first reading of a table of labelled texts: all but the texts themselves."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.tasks.cache import cached
from longdoc.tasks.class_names import Kinds, plain
from longdoc.tasks.columns import TextReader
from longdoc.tasks.labels import MISSING, check_utf8, decoded, label_name
from longdoc.tasks.rows import Refused

VERSION = 1


@dataclass
class Scan:
    """Of each row of a table: the document's digest, the names of its labels, its group, None where it has none.

    lists: whether a row may have several labels. replaced: rows with a text of bytes that were no UTF-8.
    """

    digests: list[str]
    labels: list[list[str]]
    groups: list[str | None] | None
    lists: bool
    replaced: int

    @property
    def units(self) -> list[str]:
        """What must not be in two splits: the group, which each row has where rows are dealt out, or the document."""
        return self.digests if self.groups is None else cast(list[str], self.groups)


def scan(
    cache: Path,
    reader: TextReader,
    data: str,
    column: str,
    group: str | None,
    separator: str | None,
    known: Sequence[str],
    grouped: bool = True,
) -> Scan:
    """Reads a table, or what was cached of it.

    data: the table's key. column: of the labels. separator: between those of a cell; null where it holds one, or a
        list. known: the classes, as far as they are given: then -1 may be one of them. grouped: each row must have a
        group, if there is one.

    Raises ValueError, at the end of the table, for rows without a text, a label or a group, and if they have labels
    of several kinds.
    """
    key = {"scan": VERSION, "data": data, "text": reader.columns, "errors": reader.errors}
    key |= {"label": column, "group": group, "grouped": grouped, "separator": separator, "known": list(known)}

    def build(folder: Path) -> None:
        found = _read(reader, column, group, separator, known, grouped)
        columns = {"digest": found.digests, "labels": pa.array(found.labels, pa.list_(pa.string()))}
        columns |= {} if found.groups is None else {"group": pa.array(found.groups, pa.string())}
        counts = {"lists": str(int(found.lists)), "replaced": str(found.replaced)}
        pq.write_table(pa.table(columns).replace_schema_metadata(counts), folder / "scan.parquet")

    rows = pq.read_table(cached(cache, key, build) / "scan.parquet")
    counts = {name.decode(): int(value) for name, value in rows.schema.metadata.items() if name != b"ARROW:schema"}
    groups = rows["group"].to_pylist() if group else None
    labels = rows["labels"].to_pylist()
    return Scan(rows["digest"].to_pylist(), labels, groups, bool(counts["lists"]), counts["replaced"])


def _read(
    reader: TextReader,
    column: str,
    group: str | None,
    separator: str | None,
    known: Sequence[str],
    grouped: bool,
) -> Scan:
    refused, kinds, missing = Refused(reader.table.where), Kinds(), [name for name in MISSING if name not in known]
    found = Scan([], [], [] if group else None, separator is not None, 0)
    for texts, (value, *of_group) in reader.rows(refused, [column, *([group] if group else [])]):
        digest = hashlib.blake2b(digest_size=16)
        for text in texts:
            digest.update(len(text).to_bytes(8) + text.encode())
        found.digests.append(digest.hexdigest())
        found.lists |= isinstance(value, list)
        names = []
        try:
            values = _values(value, separator)
            names = [label_name(plain(label), missing) for label in values]
            for label in values:
                kinds.add(label, refused.rows)
            if found.groups is not None:
                blank = of_group[0] is None or of_group[0] == ""
                if blank and grouped:
                    raise ValueError(f"{group} is missing: it says which documents stay together")
                check_utf8(f"the {group}", str(of_group[0]))
                found.groups.append(None if blank else str(of_group[0]))
        except ValueError as error:
            refused.add(str(error))
        found.labels.append(names)
    kinds.check(reader.table.where, column)
    found.replaced = reader.replaced
    return found


def _values(value: Any, separator: str | None) -> list[Any]:
    value = decoded(value)
    if isinstance(value, dict):
        raise ValueError("the label is an object, not a name or a list of names")
    if isinstance(value, list):
        return value
    if separator is None or value is None:
        return [value]
    return [part.strip() for part in str(value).split(separator) if part.strip()]
