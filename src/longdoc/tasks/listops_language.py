"""ListOps: nested list operations over digits, with their symbols, values and reference lines.

The expressions are those of Nangia & Bowman (2018, "ListOps: A Diagnostic Dataset for Latent Tree Learning"), as Long
Range Arena has them (Tay et al. 2021), e.g. ``[MAX 4 [MIN 2 3 ] 9 ]`` = 9. Everything here is numpy on plain arrays;
the rows of a split lie end to end in one array (`Rows`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

PAD = 0
"""The id that is no symbol."""

SYMBOLS = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]")
"""The 15 symbols; ``SYMBOLS[i]`` has id ``i + 1``, so the digit ``d`` has id ``d + 1``."""

_IDS = {symbol: i for i, symbol in enumerate(SYMBOLS, start=1)}
_TOKENS = _IDS | {"(": PAD, ")": PAD}  # of LRA's files
MIN, MAX, MED, SM, CLOSE = (_IDS[symbol] for symbol in SYMBOLS[10:])

Ids = NDArray[np.uint8]
Ints = NDArray[np.int64]


class Rows(NamedTuple):
    """Expressions laid end to end: row i is ``ids[offsets[i]:offsets[i + 1]]``, its value ``labels[i]``."""

    ids: Ids
    """Symbol ids 1..15, uint8, shape (symbols,)."""
    offsets: Ints
    """Row boundaries, int64, shape (rows + 1,), from 0 to ``len(ids)``."""
    labels: Ids
    """Values 0..9, uint8, shape (rows,)."""


def encode(source: str) -> Ids:
    """Return the ids, uint8 of shape (symbols,), of an expression written with spaces between its tokens.

    The parentheses of LRA's files only repeat the tree as a binary one and are skipped.

    Raises:
        ValueError: a token is neither a symbol nor a parenthesis.
    """
    tokens = source.split()
    try:
        ids = np.array([_TOKENS[token] for token in tokens], dtype=np.uint8)
    except KeyError as error:
        token = error.args[0]
        raise ValueError(f"unknown ListOps token {token!r} at position {tokens.index(token)}") from None
    return ids[ids != PAD]


def decode(ids: ArrayLike) -> str:
    """Return the expression as text, e.g. ``"[MAX 4 [MIN 2 3 ] ]"``; padding at the end is dropped.

    Raises:
        ValueError: an id is not one of 1..15.
    """
    return " ".join(SYMBOLS[i - 1] for i in _symbols(ids))


def to_lra(ids: ArrayLike) -> str:
    """Return the expression as LRA's files write it, e.g. ``"( ( ( [MAX 4 ) 3 ) ] )"``.

    Each operator is applied to its arguments and its bracket one at a time, one pair of parentheses each.

    Raises:
        ValueError: the ids are not one well-formed expression.
    """
    symbols = _symbols(ids)
    _value(symbols)
    opening: dict[int, int] = {}  # operator's position -> parentheses that open there
    pending: list[int] = []
    for position, symbol in enumerate(symbols):
        if pending and symbol != CLOSE:
            opening[pending[-1]] += 1
        if MIN <= symbol <= SM:
            opening[position] = 1
            pending.append(position)
        elif symbol == CLOSE:
            pending.pop()

    tokens: list[str] = []
    nesting = 0
    for position, symbol in enumerate(symbols):
        tokens += ["("] * opening.get(position, 0) + [SYMBOLS[symbol - 1]]
        if MIN <= symbol <= SM:
            nesting += 1
            continue
        if symbol == CLOSE:
            tokens.append(")")
            nesting -= 1
        if nesting:  # the symbol ended an argument of the operator around it
            tokens.append(")")
    return " ".join(tokens)


def evaluate(ids: ArrayLike) -> int:
    """Return the value 0..9 of one expression; padding at its end is dropped.

    MED is the median cut to an integer, as ``int(numpy.median(...))``; SM is the sum modulo 10.

    Raises:
        ValueError: the ids are not one well-formed expression.
    """
    value = _value(_symbols(ids))
    assert value is not None  # only a limited depth loses values
    return value


def _symbols(ids: ArrayLike) -> list[int]:
    symbols = np.trim_zeros(np.asarray(ids), "b")
    if symbols.ndim != 1 or (symbols.size and not (symbols.min() >= 1 and symbols.max() <= len(SYMBOLS))):
        raise ValueError(f"expected a row of ListOps ids 1..{len(SYMBOLS)}, got {ids!r}")
    return symbols.astype(int).tolist()


def _value(symbols: list[int], levels: int | None = None) -> int | None:
    """Evaluate with a stack; with `levels`, forget all arguments nested deeper (None: nothing is left)."""
    outcome: list[int] = []
    stack: list[tuple[int, list[int]]] = []
    arguments = outcome
    previous = PAD
    for position, symbol in enumerate(symbols):
        if not stack and position:
            raise ValueError(f"ListOps expression has ended before position {position}: {_show(symbols)}")
        if symbol < MIN:
            if levels is None or len(stack) <= levels:
                arguments.append(symbol - 1)
        elif symbol != CLOSE:
            arguments = []
            stack.append((symbol, arguments))
        elif not stack or MIN <= previous <= SM:
            what = "has no arguments" if stack else "was never opened"
            raise ValueError(f"ListOps list that closes at position {position} {what}: {_show(symbols)}")
        else:
            operator, values = stack.pop()
            arguments = stack[-1][1] if stack else outcome
            if values:
                arguments.append(_apply(operator, values))
        previous = symbol
    if stack or not symbols:
        raise ValueError(f"ListOps expression ends with {len(stack)} lists open: {_show(symbols)}")
    return outcome[0] if outcome else None


def _apply(operator: int, values: list[int]) -> int:
    if operator == MIN:
        return min(values)
    if operator == MAX:
        return max(values)
    if operator == SM:
        return sum(values) % 10
    ordered = sorted(values)
    return (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) // 2


def _show(symbols: list[int], limit: int = 40) -> str:
    return repr(decode(symbols[:limit]) + (" ..." if len(symbols) > limit else ""))


def references(train: Rows, test: Rows) -> dict[str, float]:
    """Return the accuracies, 0..1, on `test` of rules that read little of an expression.

    A result near one of them may have been reached by that shortcut. On LRA's sizes they come to about 0.17,
    0.37, 0.48 and 0.67:

    - ``"majority"``: the most frequent label of `train`.
    - ``"root_operator"``: the most frequent label of `train` among rows with the same first symbol.
    - ``"one_level"``: the value of the root when the lists among its arguments are forgotten.
    - ``"two_levels"``: its value when only the lists within those lists are forgotten.

    The last two fall back on ``"root_operator"`` where nothing is left, and that on ``"majority"``.

    Raises:
        ValueError: a split has no rows, or a row of `test` is not a well-formed expression.
    """
    for name, split in (("train", train), ("test", test)):
        if not len(split.labels):
            raise ValueError(f"the reference lines need rows, but {name} has none")
    table = np.zeros((len(SYMBOLS) + 1, 10), dtype=np.int64)
    np.add.at(table, (train.ids[train.offsets[:-1]], train.labels), 1)
    majority = table.sum(axis=0).argmax()
    by_root = np.where(table.any(axis=1), table.argmax(axis=1), majority)[test.ids[test.offsets[:-1]]]
    guesses = {"majority": np.full_like(by_root, majority), "root_operator": by_root}
    rows = [row.tolist() for row in np.split(test.ids, test.offsets[1:-1])]
    for levels, name in enumerate(("one_level", "two_levels"), start=1):
        values = [_value(row, levels) for row in rows]
        guesses[name] = np.array([r if v is None else v for v, r in zip(values, by_root, strict=True)])
    return {name: float(np.mean(guess == test.labels)) for name, guess in guesses.items()}
