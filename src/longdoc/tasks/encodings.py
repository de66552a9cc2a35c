"""The encoding of a text file: what its byte order mark names, else UTF-8; and the bytes that are not in it."""

import codecs
import re
from pathlib import Path
from typing import TextIO

ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before that of UTF-16, which it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that is not in its encoding, or half a character
ESCAPE = "longdoc.escape"  # the name of ``_escape`` among the handlers of errors
CHUNK = 2**20  # bytes of a file searched at a time


def _escape(error: UnicodeError) -> tuple[str, int]:
    """As ``surrogateescape``, U+DC00 + byte, also for bytes below 128, as those of half a UTF-16 character may be."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(ESCAPE, _escape)


def decode(data: bytes) -> str:
    """A text without its byte order mark; the bytes that are not in its encoding are surrogates."""
    return data.decode(encoding_of(data), errors=ESCAPE)


def encoding_of(head: bytes) -> str:
    """That which the byte order mark at the head of a text names, else UTF-8."""
    return next((name for mark, name in ENCODINGS if head.startswith(mark)), "utf-8")


def file_encoding(path: Path) -> str:
    """``encoding_of`` a file."""
    with path.open("rb") as file:
        return encoding_of(file.read(4))


def open_text(path: Path) -> TextIO:
    """A file's text without its byte order mark, line ends as they are, undecodable bytes as surrogates."""
    return path.open(encoding=file_encoding(path), errors=ESCAPE, newline="")


def undecodable(path: Path) -> int | None:
    """Where a file has its first byte that is not in its encoding; None if it has none."""
    decoder, place = codecs.getincrementaldecoder(file_encoding(path))(), 0
    with path.open("rb") as file:
        while True:
            chunk = file.read(CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                return place + len(chunk) - len(error.object) + error.start
            if not chunk:
                return None
            place += len(chunk)
