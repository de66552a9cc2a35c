"""The comparison as one web page, which needs no network and no other file."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from longdoc.results.collect import Problem
from longdoc.results.record import Record
from longdoc.results.report.data import gather

_SCRIPTS = ("format", "plot", "figures", "table", "state", "overview", "rows", "page")


def page(found: Mapping[Path, Record], problems: Sequence[Problem], source: str, published: bool = False) -> str:
    """The HTML of a page that compares the runs; ``found`` maps results.json files to their records.

    source: in words, where the runs were looked for. published: with the published numbers of the runs' protocols.
    """
    data = gather(found, problems, published) | {"source": source, "made": f"{datetime.now():%Y-%m-%d %H:%M}"}
    # "<" would end the element that holds the data; JSON may write it otherwise.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"STYLE": _part("page.css"), "DATA": text, "SCRIPT": "\n".join(_part(f"{name}.js") for name in _SCRIPTS)}
    before, *rest = _part("page.html").split("{{")
    return before + "".join(parts[key] + after for key, after in (piece.split("}}", 1) for piece in rest))


def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
