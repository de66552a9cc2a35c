"""The published numbers alone, a table for each protocol."""

from collections.abc import Iterator
from typing import Any

from rich import box, console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from longdoc.results.comparison import ACCURACY
from longdoc.results.formats import dicts_to_csv, dicts_to_json, markdown_line
from longdoc.results.published import OWN, TASKS, Published, published

# An average over five tasks and one over six are never in one column: Path-X moves it by points.
_HEADERS = ("model", *TASKS, "avg of 5", "avg of 6")


def published_dict(row: Published, task: str) -> dict[str, Any]:
    """One published accuracy; ``failed`` says that the authors give no number but call it no better than chance."""
    value = row.accuracies[task]
    return {
        "kind": "published", "variant": row.model, "task": task, "protocol": row.protocol, ACCURACY: value,
        "failed": value is None, "mark": row.mark, "source": row.source,
    }  # fmt: skip


def _tables() -> Iterator[tuple[str, list[list[str]], list[str]]]:
    """Of each protocol its title, its rows of cells and its sources."""
    for protocol in dict.fromkeys(row.protocol for row in published()):
        rows = [row for row in published() if row.protocol == protocol]
        sources = list(dict.fromkeys(row.source for row in rows))
        title = "settings of their own, comparable with nothing" if protocol == OWN else f"protocol {protocol}"
        yield title, [_cells(row, sources.index(row.source) + 1) for row in rows], sources


def _cells(row: Published, source: int) -> list[str]:
    shown = {task: "F" if value is None else _percent(value) for task, value in row.accuracies.items()}
    averages = [_percent(row.average(count)) for count in (5, 6)]
    return [f"{row.model} [{source}]", *(shown.get(task, "-") for task in TASKS), *averages]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def to_rich() -> console.Group:
    """For the terminal."""
    parts: list[console.RenderableType] = []
    for title, rows, sources in _tables():
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
        table.add_column(_HEADERS[0], overflow="fold")
        for header in _HEADERS[1:]:
            table.add_column(header, justify="right")
        for cells in rows:
            table.add_row(*map(Text, cells))
        parts += [Text(f"Published, {title}", style="bold"), table]
        parts += [Padding(Text(f"[{i}] {source}"), (0, 0, 0, 2)) for i, source in enumerate(sources, 1)]
        parts.append(Text())
    return console.Group(*parts)


def to_markdown() -> str:
    """A GitHub table for each protocol."""
    lines = []
    for title, rows, sources in _tables():
        lines += [f"### Published, {title}", "", markdown_line(_HEADERS)]
        lines += [markdown_line(["---", *["---:"] * (len(_HEADERS) - 1)]), *map(markdown_line, rows), ""]
        lines += [*(f"- [{i}] {source}" for i, source in enumerate(sources, 1)), ""]
    return "\n".join(lines)


def _dicts() -> list[dict[str, Any]]:
    return [published_dict(row, task) for row in published() for task in row.accuracies]


def to_json() -> str:
    """A JSON list with an object for each number."""
    return dicts_to_json(_dicts())


def to_csv() -> str:
    """CSV with a line for each number."""
    return dicts_to_csv(_dicts())
