"""Tuning: runs of a variant that differ in optimizer or schedule alone are trials, of which validation chooses one."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longdoc.results.record import Record, flatten, settings

if TYPE_CHECKING:
    from longdoc.results.comparison import Row

CHOSEN_BY = "val/loss"
_TUNED = ("optimizer", "scheduler")

Values = Mapping[str, Any]


def values_tried(record: Record) -> Values:
    """What may be tuned of a run, by dotted keys."""
    return flatten({key: value for key, value in settings(record["config"]).items() if key in _TUNED})


def kind(record: Record) -> str:
    """What the trials of one row share: all settings but those."""
    return json.dumps({k: v for k, v in settings(record["config"]).items() if k not in _TUNED}, sort_keys=True)


def chosen(rows: Sequence["Row"], failed: Iterable[Record]) -> "Row":
    """The row with the lowest mean val/loss, which says of how many trials it is; the test split has no say.

    One of which a seed has failed is chosen only if that is so of all: the mean is over those that went well.
    rows: the trials of one variant, a row for each set of values with all its seeds. failed: runs of the same kind and
    variant, of these trials or of further ones.
    """
    failed = list(failed)
    ranked = sorted(
        ((row, _seeds_lost(row, failed)) for row in rows),
        key=lambda of: (_loss(of[0]) == math.inf, len(of[1]) > 0, _loss(of[0])),
    )
    best = ranked[0][0]
    tried = [values_tried(row.records[0]) for row in rows]
    lost = [values for values in map(values_tried, failed) if values not in tried]
    lost = [values for i, values in enumerate(lost) if values not in lost[:i]]
    best.trials = list(rows)
    best.tried = tried + lost
    if len(best.tried) > 1:
        keys = varied(best.tried)
        said = [f"{_text(values_tried(row.records[0]), keys)} {_result(row, seeds)}" for row, seeds in ranked]
        said += [f"{_text(values, keys)} failed" for values in lost]
        best.notes.append(f"best of {len(best.tried)} trials by {CHOSEN_BY}: {', '.join(said)}")
    return best


def varied(tried: Sequence[Values]) -> list[str]:
    """The keys of which trials have several values."""
    keys = dict.fromkeys(key for values in tried for key in values)
    return [key for key in keys if any(values.get(key) != tried[0].get(key) for values in tried)]


def _loss(row: "Row") -> float:
    summary = row.values.get(CHOSEN_BY)
    return math.inf if summary is None or summary.mean is None else summary.mean


def _seeds_lost(row: "Row", failed: Sequence[Record]) -> set[int]:
    """Seeds at the row's values of which no run has a val/loss."""
    values = values_tried(row.records[0])
    begun = [*row.records, *(record for record in failed if values_tried(record) == values)]
    done = {record["seed"] for record in row.records if record["metrics"].get(CHOSEN_BY) is not None}
    return {record["seed"] for record in begun} - done


def _result(row: "Row", lost: set[int]) -> str:
    if _loss(row) == math.inf:
        return "nan"
    seeds = lost | {record["seed"] for record in row.records}
    return f"{_loss(row):.4f}" + (f" ({len(lost)} of {len(seeds)} seeds failed)" if lost else "")


def _text(values: Values, keys: Sequence[str]) -> str:
    return " ".join(f"{key}={values.get(key)}" for key in keys)
