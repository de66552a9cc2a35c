"""The values of a JSON file, one after the other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

CHUNK = 2**20  # characters of a list read at a time


class Written(str):
    """A number of a JSON file, with the digits that stand there."""


def json_values(path: Path, file: TextIO, written: bool) -> Iterator[Any]:
    """Of one value a line; a .json file may also be one list of them.

    written: numbers are handed on as they stand there, ``Written``. Raises ValueError for what is no JSON, and for an
    object in which a name stands twice.
    """
    listed = path.suffix == ".json" and file.read(1024).lstrip()[:1] == "["
    file.seek(0)
    numbers: dict[str, Any] = {"parse_int": Written, "parse_float": Written} if written else {}
    decoder = json.JSONDecoder(object_pairs_hook=_object, **numbers)
    if listed:
        return _listed(file, decoder)
    return (decoder.decode(line) for line in file if line.strip())


def _listed(file: TextIO, decoder: json.JSONDecoder) -> Iterator[Any]:
    """The values of one list; of the file so much is held in memory as the longest of them takes."""
    text, place, size, wanted = file.read(CHUNK), 0, CHUNK, "["
    while True:
        while text[place : place + 1].isspace():
            place += 1
        here = text[place : place + 1]
        if here == "]" and wanted != "[":
            if (text[place + 1 :] + file.read()).strip():
                raise ValueError("there is more behind the end of the list")
            return
        if here and wanted:
            if here != wanted:
                raise ValueError(f"there is {here!r} in place of {wanted!r}")
            place, wanted = place + 1, ""
            continue
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError:
            more = file.read(size)  # the value may go on there
            if not more:
                raise
            text, place, size = text[place:] + more, 0, 2 * size
        else:
            wanted, size = ",", CHUNK
            yield value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name stands twice among {', '.join(name for name, _ in pairs)}")
    return found
