"""Labels as tables write them: the name of a class, and what looks like a slip."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.encodings import SURROGATE, decode

SHOWN = 20  # classes named in a message
MISSING = ("", "-1")  # names that stand for no label


def label_name(value: Any, missing: Collection[str] = MISSING) -> str:
    """A label as text, whole numbers without a point; raises ValueError for one that is ``missing``, or no text."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    name = "" if value is None or value != value else str(decoded(value))
    if name in missing:
        why = ": -1 stands for none unless task.labels names it, as [-1, 1] does" if name else ""
        raise ValueError(f"the label is missing{why}")
    check_utf8("the label", name)
    return name


def decoded(value: Any) -> Any:
    """A value, of bytes, as which some parquet files hold text, the text."""
    return decode(value) if isinstance(value, bytes) else value


def check_utf8(what: str, text: str) -> None:
    """Raises ValueError for a label, or what else is no document, with bytes that are no UTF-8."""
    if SURROGATE.search(text):
        shown = SURROGATE.sub("\ufffd", text)[:40]
        raise ValueError(f"{what} {shown!r} has bytes that are no UTF-8; errors=replace is for texts alone")


def sense(name: str) -> float | str:
    """What labels share that differ in their writing alone: 1, 1.0 and True; pos and " Pos"."""
    word = name.strip().lower()
    try:
        return {"false": 0.0, "true": 1.0}[word] if word in ("false", "true") else float(word)
    except ValueError:
        return word


def outside(name: str, classes: Collection[str], whose: str) -> str:
    """Why a label that is none of the classes is refused."""
    alike = next((other for other in classes if sense(other) == sense(name)), None)
    hint = "" if alike is None else f"; {alike!r} is written otherwise, and all must write a class alike"
    return f"the label {name[:40]!r} is not among {whose}: {_listed(classes)}{hint}"


def found_words(rows: Counter[str]) -> str:
    """The classes found in a training table with their rows, and what may be mistyped among them."""
    words = f"{len(rows)} classes, {_listed([_counted(*row) for row in sorted(rows.items())])}"
    slips = [f"the class {name[:40]!r} has 1 row" for name, count in sorted(rows.items()) if count == 1]
    senses: dict[float | str, list[str]] = defaultdict(list)
    for name in sorted(rows):
        senses[sense(name)].append(name)
    slips += [f"the classes {_listed(same)} may be one" for same in senses.values() if len(same) > 1]
    return (
        f"{words}; {_listed(slips)}: what is mistyped is refused if task.labels names the classes" if slips else words
    )


def _counted(name: str, rows: int) -> str:
    return f"{name} ({rows:,} row{'s' * (rows != 1)})"


def _listed(names: Collection[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(list(names)[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def class_weights(wanted: Any, classes: Sequence[str], labels: NDArray[Any]) -> NDArray[np.floating] | None:
    """The weights (C,) that ``task.class_weights`` says, of training labels (D,) or (D, C); None for none.

    Raises ValueError unless it is null, ``balanced`` or {class: weight}.
    """
    if wanted is None:
        return None
    if wanted == "balanced":  # so that the rows of every class, and those without it, count as much in all
        if labels.ndim == 2:
            return (len(labels) - labels.sum(0)) / np.maximum(labels.sum(0), 1)
        return len(labels) / len(classes) / np.maximum(np.bincount(labels, minlength=len(classes)), 1)
    if not isinstance(wanted, dict):
        raise ValueError(f"task.class_weights={wanted} must be null, balanced or {{class: weight}}")
    weights = {str(name): float(weight) for name, weight in wanted.items()}
    for name, weight in weights.items():
        if name not in classes or not 0 <= weight < np.inf:
            raise ValueError(
                f"task.class_weights: {name}: {weight} is no weight of a class; they are {', '.join(classes)}"
            )
    return np.array([weights.get(name, 1.0) for name in classes])
