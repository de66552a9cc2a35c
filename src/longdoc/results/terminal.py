"""Tables for the terminal."""

import re
from collections.abc import Sequence

from rich import box, console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from longdoc.results.comparison import Group
from longdoc.results.formats import Grid
from longdoc.results.record import Record
from longdoc.results.table import LEGEND, headers_of, notes, published_cells, reference_cells, rest, row_cells

_DISPENSABLE = ("MB", "params", "tokens", "steps")  # in this order, where a terminal is too narrow
_WHOLE_NAME = 32  # letters of a name that are not wrapped where the table can be continued below
_NAME = 10  # letters of a name that there must be room for


def to_rich(
    groups: Sequence[Group], unfinished: Sequence[Record], curves: Sequence[Sequence[str]] = (), width: int = 80
) -> console.Group:
    """Tables for a terminal of ``width`` columns; ``curves`` are lines to show below each group's table."""
    parts: list[console.RenderableType] = []
    for group, lines in zip(groups, curves or [()] * len(groups), strict=True):
        parts += [Text(group.title, style="bold"), Text(group.subtitle, style="dim"), *_fitted(group, width)]
        parts += [Padding(Text(note), (0, 0, 0, 2)) for note in notes(group)]
        parts += [Text(), *map(Text, lines)] if lines else []
        parts.append(Text())
    if groups:
        parts.append(Text(LEGEND, style="dim"))
    for title, sentences in rest(unfinished, ()).items():
        parts.append(Text(f"{title}:", style="bold"))
        parts += [Padding(Text(sentence), (0, 0, 0, 2)) for sentence in sentences]
    return console.Group(*parts)


def _fitted(group: Group, width: int) -> list[console.RenderableType]:
    """The table with names wrapped, and, if there is no room, without some columns, which are then named."""
    headers = headers_of(group)
    lines = [(row_cells(row, headers), "") for row in group.rows]
    lines += [(row_cells(row, headers), "italic") for row in group.baselines]
    lines += [(reference_cells(name, summary, headers), "dim") for name, summary in group.references.items()]
    lines += [(cells, "italic") for cells in published_cells(group)]
    widths = [max(map(len, column)) for column in zip(headers, *(cells for cells, _ in lines), strict=True)]

    def room(kept: Sequence[int]) -> int:
        return width - sum(widths[i] + 1 for i in kept[1:])

    kept = list(range(len(headers)))
    for header in _DISPENSABLE:
        if room(kept) < min(_NAME, widths[0]):
            kept.remove(headers.index(header))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
    table.add_column(headers[0], overflow="fold")
    for i in kept[1:]:
        table.add_column(headers[i], justify="right", no_wrap=True)
    for (name, *cells), style in lines:
        table.add_row(Text(_wrapped(name, room(kept))), *(Text(cells[i - 1]) for i in kept[1:]), style=style)
    left = [header for i, header in enumerate(headers) if i not in kept]
    return [table, Text(f"no room for {', '.join(left)}: in --csv", style="dim")] if left else [table]


def grids_to_rich(grids: Sequence[Grid], width: int = 80) -> console.Group:
    """Tables for a terminal of ``width`` columns; one that is wider is continued below itself."""
    parts: list[console.RenderableType] = []
    for grid in grids:
        parts.append(Text(grid.title, style="bold"))
        lines = [*grid.rows, *grid.references]
        name = min(_WHOLE_NAME, max(map(len, [grid.headers[0], *(cells[0] for cells in lines)])))
        for columns in _parts(grid, width - name):
            table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
            table.add_column(grid.headers[0], overflow="fold", width=name)
            for i in columns:
                table.add_column(grid.headers[i], justify="right", width=_width(grid, i) - 1)
            for row, cells in enumerate(lines):
                style = "" if row < len(grid.rows) else "dim"
                table.add_row(Text(_wrapped(cells[0], name)), *(Text(cells[i]) for i in columns), style=style)
            parts.append(table)
        parts += [Padding(Text(note), (0, 0, 0, 2)) for note in grid.notes]
        parts.append(Text())
    return console.Group(*parts)


def _width(grid: Grid, column: int) -> int:
    """Of the longest cell or word of the header, with two blanks before it."""
    cells = [cells[column] for cells in (*grid.rows, *grid.references)]
    return 2 + max(map(len, [*grid.headers[column].split(), *cells]))


def _parts(grid: Grid, room: int) -> list[list[int]]:
    """The columns of numbers, parted so that each part fits into ``room``, of which there is enough for one column."""
    parts: list[list[int]] = [[]]
    for i in range(1, len(grid.headers)):
        if parts[-1] and sum(_width(grid, j) for j in [*parts[-1], i]) > room:
            parts.append([])
        parts[-1].append(i)
    return parts


def _wrapped(name: str, width: int) -> str:
    """A name in lines that end where one of its parts does, as far as they fit."""
    lines = [""]
    for part in re.split(r"(?=[+ ])|(?<=_)", name):
        lines += [part] if lines[-1] and len(lines[-1] + part) > width else [lines.pop() + part]
    return "\n".join(lines)
