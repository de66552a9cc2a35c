"""A run's metrics in words, and how each class fared, as columns in a record and as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

# In the order in which they are shown; documents with any number of classes have all, others some.
METRICS = ("accuracy", "f1_micro", "f1_macro", "map", "loss", "ece")
RECORDED, SHOWN = 200, 30  # so many classes at most; a vocabulary of next tokens would fill the record

Columns = dict[str, list[Any]]


def metrics_text(metrics: Mapping[str, float], prefix: str) -> str:
    """Those of a split, ``prefix`` such as test: accuracy 0.9833, f1_macro 0.9832, ..."""
    shown = [name for name in METRICS if f"{prefix}/{name}" in metrics]
    return ", ".join(f"{name} {_number(metrics[f'{prefix}/{name}'], 4)}" for name in shown)


def per_class(classes: Sequence[str], columns: Columns) -> Columns | None:
    """The columns with the classes' names before them; None if there are too many to record."""
    return {"class": list(classes)} | columns if len(classes) <= RECORDED else None


def absent(columns: Columns) -> list[str]:
    """The classes that no document has: in no mean of theirs is there a number of them."""
    return [name for name, support in zip(columns["class"], columns["support"], strict=True) if not support]


def class_table(columns: Columns) -> Table | None:
    """One row a class; None if there are too many to look at."""
    if len(columns["class"]) > SHOWN:
        return None
    table = Table(box=None, pad_edge=False)
    table.add_column("class", overflow="fold")
    names = [name for name in columns if name != "class"]
    for name in names:
        table.add_column(name.replace("average_precision", "AP"), justify="right")
    for i, name in enumerate(columns["class"]):
        table.add_row(Text(name), *(_cell(columns[column][i]) for column in names))
    return table


def reliability_table(bins: Sequence[Mapping[str, Any]]) -> Table | None:
    """How sure decisions were in the mean of a bin, and how often they came true; None of labelled tokens."""
    if not bins:
        return None
    table = Table(box=None, pad_edge=False)
    for name in ("confidence", "came true", "decisions"):
        table.add_column(name, justify="right")
    for found in bins:
        table.add_row(_number(found["confidence"], 3), _number(found["accuracy"], 3), f"{found['count']:,}")
    return table


def _cell(value: float | None) -> str:
    return str(value) if isinstance(value, int) else _number(value, 3)


def _number(value: float | None, digits: int) -> str:
    """Rounded; a dash for none, and for one that is none."""
    return "-" if value is None or value != value else f"{value:.{digits}f}"
