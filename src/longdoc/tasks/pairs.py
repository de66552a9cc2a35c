"""Reading pairs of documents with a label, one after the other: two texts as bytes, and 0 or 1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longdoc.tasks.rows import Refused, read_rows, to_bytes

Pair = tuple[bytes, bytes, int]
FIELDS = "label, id1, id2, text1, text2"


def released_pairs(path: Path) -> Iterator[Pair]:
    """Of a file of Long Range Arena's release: five fields between tabs, no header, no quotes.

    Raises ValueError, at the end, if a row has other fields or a label that is not 0 or 1.
    """
    refused = Refused(path)
    with path.open("rb") as file:
        for refused.rows, line in enumerate(file, 1):
            fields = line.removesuffix(b"\n").split(b"\t")
            if len(fields) != 5:
                refused.add(f"{len(fields)} fields between tabs, not the 5 of {FIELDS}")
            elif (label := _label(fields[0])) is None:
                refused.add(f"{_no_label(fields[0].decode(errors='replace'))}; the file has no header")
            else:
                yield fields[3], fields[4], label
    refused.check()


def text_pairs(path: Path, columns: tuple[str, str, str]) -> Iterator[Pair]:
    """Of a table with columns for two texts and a label; raises ValueError, at the end, if one of them is missing."""
    refused = Refused(path)
    for *texts, value in read_rows(path, columns, refused):
        try:
            a, b = (to_bytes(text) for text in texts)
        except ValueError as error:
            refused.add(str(error))
            continue
        label = _label(value)
        if a is None or b is None:
            refused.add(f"{columns[0 if a is None else 1]} is missing; an empty text would be allowed")
        elif label is None:
            refused.add(_no_label(value))
        else:
            yield a, b, label


def id_pairs(
    path: Path, documents: Path, columns: tuple[str, str, str], document_columns: tuple[str, str]
) -> Iterator[Pair]:
    """Of a table with columns for two ids and a label, and one of ``documents``, which is held in memory.

    Raises ValueError, at the end, for ids without a document, or with two, and labels that are not 0 or 1.
    """
    texts = _texts(documents, document_columns)
    refused = Refused(path)
    for *ids, value in read_rows(path, columns, refused):
        label = _label(value)
        unknown = [
            f"{name}={name_id}" for name, name_id in zip(columns, ids, strict=False) if str(name_id) not in texts
        ]
        if unknown:
            refused.add(f"{unknown[0]} has no document in {documents}")
        elif label is None:
            refused.add(_no_label(value))
        else:
            yield texts[str(ids[0])], texts[str(ids[1])], label


def _texts(path: Path, columns: tuple[str, str]) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    refused = Refused(path)
    for name, value in read_rows(path, columns, refused):
        try:
            text = to_bytes(value)
        except ValueError as error:
            refused.add(str(error))
            continue
        if name is None or text is None:
            refused.add(f"{columns[0 if name is None else 1]} is missing")
        elif str(name) in texts:
            refused.add(f"{columns[0]}={name} was there before")
        else:
            texts[str(name)] = text
    return texts


def _label(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number in (0, 1) else None


def _no_label(value: Any) -> str:
    return f"the label {str(value)[:40]!r} is neither 0 nor 1"
