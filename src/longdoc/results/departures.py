"""What a run does otherwise than its protocol says."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from longdoc.results.record import flatten, of_variant

Departures = dict[str, list[Any]]

STEPS = "trainer.max_steps"

# What decides a number, beside the variant and what a protocol lists.
_SECTIONS = ("task", "encoder", "optimizer", "scheduler", "pooling", "head", "interaction")
_PRECISION = "trainer.precision"
# Of a task: where things lie or are called, and how they are computed.
_NO_MATTER = ("task.cache", "task.columns", "task.processes", "task.seed", "task.workers")


def decisive(config: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a plain config, by dotted key, that two runs of one protocol and variant must share."""
    values = flatten({name: config[name] for name in _SECTIONS if name in config})
    values = {
        key: value
        for key, value in values.items()
        if not of_variant(key) and not any(f"{key}.".startswith(f"{place}.") for place in _NO_MATTER)
    }
    precision = _select(config, _PRECISION)
    return values if precision is None else values | {_PRECISION: precision}


def departures(prescribed: Mapping[str, Any], config: Mapping[str, Any], steps: int | None = None) -> Departures:
    """{key: [the protocol's value, the run's]} of a plain config; the variant (attention, map, decay) is in none.

    prescribed: dotted keys, all ``decisive`` ones among them, and words of groups by the group's name, as
        ``config["choices"]`` has them; nothing is departed from where there is nothing.
    steps: what a run has done, which says more than its limit: one ended by time, or early, departs in the steps.

    Of data the folder's name alone is told and compared.
    """
    if not prescribed:
        return {}
    found: Departures = {}
    values = decisive(config)
    for key in [*prescribed, *(key for key in values if key not in prescribed)]:
        run = config["choices"].get(key) if key in config["choices"] else _select(config, key)
        if key == STEPS and steps is not None:
            run = steps
        value, run = _told(key, prescribed.get(key)), _told(key, run)
        if run != value:
            found[key] = [value, run]
    return {key: pair for key, pair in found.items() if not _said(key, found, prescribed, values)}


def _said(key: str, found: Departures, prescribed: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether another departure says the same: another word's own options, the sizes of what is generated."""
    group, _, name = key.partition(".")
    if group in found and name:
        return name == "_target_" or key not in prescribed or key not in values
    return key.startswith("task.sizes.") and f"rows.{key.rpartition('.')[2]}" in found


def departures_text(found: Mapping[str, list[Any]]) -> str:
    """``trainer.max_steps 4,700 for 50,000; task.batch_rows 16 for 32``."""
    return "; ".join(f"{key} {_text(run)} for {_text(value)}" for key, (value, run) in found.items())


def _told(key: str, value: Any) -> Any:
    if key == "task.source" and value in ("generated", "hub"):
        return None  # as which null is read
    if value is not None and (key == "task.data" or (key == "task.hub" and PurePath(value).is_absolute())):
        return PurePath(value).name
    return value


def _select(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
