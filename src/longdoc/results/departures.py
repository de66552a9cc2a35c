"""What a run does otherwise than its protocol says."""

from collections.abc import Mapping
from typing import Any

Departures = dict[str, list[Any]]

STEPS = "trainer.max_steps"


def departures(prescribed: Mapping[str, Any], config: Mapping[str, Any], steps: int | None = None) -> Departures:
    """{key: [the protocol's value, the run's]} of a plain config; the variant (attention, map, decay) is in none.

    prescribed: dotted keys, and words of groups by the group's name, as ``config["choices"]`` has them.
    steps: what a run has done, which says more than its limit: one ended by time, or early, departs in the steps.
    """
    found: Departures = {}
    for key, value in prescribed.items():
        run = config["choices"].get(key) if key in config["choices"] else _select(config, key)
        if key == STEPS and steps is not None:
            run = steps
        if run != value:
            found[key] = [value, run]
    return found


def departures_text(found: Mapping[str, list[Any]]) -> str:
    """``trainer.max_steps 4,700 for 50,000; task.batch_rows 16 for 32``."""
    return "; ".join(f"{key} {_text(run)} for {_text(value)}" for key, (value, run) in found.items())


def _select(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
