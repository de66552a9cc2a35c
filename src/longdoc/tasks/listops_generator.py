"""The generator of ListOps expressions, by the rules of Long Range Arena."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from longdoc.tasks.listops_language import CLOSE, MAX, MED, MIN, SM, Ids, Ints, Rows
from longdoc.tasks.parallel import blocks

_BLOCK = 2048  # trees drawn together; part of what the random stream, and so the data, depends on
_PATIENCE = 64  # blocks in a row without a new expression after which the search is given up


class _Rules(NamedTuple):
    max_depth: int
    max_args: int
    min_length: int
    max_length: int


def generate(
    sizes: Mapping[str, int],
    *,
    seed: int,
    max_depth: int = 10,
    max_args: int = 10,
    min_length: int = 500,
    max_length: int = 2000,
    processes: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Rows]:
    """Draw distinct random expressions by the rules of LRA and deal them out to disjoint splits.

    A node is an operator with probability 1/4 and else a digit (uniform); an operator (uniform of four) has
    2..`max_args` arguments (uniform) and depth 1 at the root, and only digits stand at `max_depth`. A tree is
    kept if ``min_length < length < max_length``, its length being its number of symbols, brackets included.
    The defaults are LRA's, whose split sizes are 96,000 / 2,000 / 2,000.

    Args:
        sizes: rows wanted for each split name.
        seed: non-negative; together with `sizes` and the rules it alone decides the result.
        max_depth: depth of the deepest digit, at least 2.
        max_args: most arguments of an operator, at least 2.
        min_length: length below the shortest expression kept, at least 1.
        max_length: length above the longest expression kept.
        processes: worker processes; None or 1 is this process alone, which draws LRA's sizes in seconds.
            As for all spawned processes, a script that asks for more must do so under
            ``if __name__ == "__main__"``.
        progress: called in this process as ``progress(rows done, rows wanted)`` now and then.

    Raises:
        ValueError: an argument is out of range, or expressions that meet the rules cannot be found.
    """
    rules = _Rules(max_depth, max_args, min_length, max_length)
    _check(sizes, seed, rules, processes)
    wanted = sum(sizes.values())
    rows: list[Ids] = []
    labels: list[int] = []
    seen: set[bytes] = set()
    idle = 0  # blocks since the latest new expression
    with closing(blocks(partial(_block, seed, rules), processes or 1)) as stream:
        while len(rows) < wanted:
            found = len(rows)
            ids, lengths, values = next(stream)
            for row, value in zip(np.split(ids, np.cumsum(lengths))[:-1], values.tolist(), strict=True):
                digest = blake2b(row.tobytes(), digest_size=16).digest()
                if digest not in seen and len(rows) < wanted:
                    seen.add(digest)
                    rows.append(row)
                    labels.append(value)
            idle = idle + 1 if len(rows) == found else 0
            if idle == _PATIENCE:
                raise ValueError(
                    f"found only {found} of {wanted} different ListOps expressions with {rules}: the last "
                    f"{_PATIENCE * _BLOCK} trees gave no new one; ask for fewer or widen the length bounds"
                )
            if progress is not None:
                progress(len(rows), wanted)

    # Frequent expressions are found first, so that splits taken in order would differ where rows repeat.
    order = np.random.default_rng(seed).permutation(wanted)
    bounds = np.cumsum([0, *sizes.values()])
    return {
        name: _join([rows[i] for i in order[start:end]], [labels[i] for i in order[start:end]])
        for name, start, end in zip(sizes, bounds[:-1], bounds[1:], strict=True)
    }


def _join(rows: list[Ids], labels: list[int]) -> Rows:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    ids = np.concatenate([np.empty(0, dtype=np.uint8), *rows])
    return Rows(ids, offsets, np.array(labels, dtype=np.uint8))


def _check(sizes: Mapping[str, int], seed: int, rules: _Rules, processes: int | None) -> None:
    for name, rows in sizes.items():
        if rows < 0:
            raise ValueError(f"sizes[{name!r}] must be at least 0, got {rows}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    for name, least in (("max_depth", 2), ("max_args", 2), ("min_length", 1)):
        if getattr(rules, name) < least:
            raise ValueError(f"{name} must be at least {least}, got {getattr(rules, name)}")
    if rules.min_length >= rules.max_length:
        raise ValueError(f"min_length {rules.min_length} must be less than max_length {rules.max_length}")
    if processes is not None and processes < 1:
        raise ValueError(f"processes must be at least 1, got {processes}")
    longest = 1
    for _ in range(rules.max_depth - 1):
        longest = 2 + rules.max_args * longest
        if longest > rules.min_length:
            break
    if longest <= rules.min_length or rules.max_length <= max(4, rules.min_length + 1):
        raise ValueError(f"no ListOps expression has a length within the bounds of {rules}")


_Block = tuple[Ids, Ints, Ids]  # ids of the kept trees end to end, their lengths, their values


def _block(seed: int, rules: _Rules, number: int) -> _Block:
    """Draw one block of trees with operators as roots and return those whose length is within bounds.

    Roots that are digits are left out: no bounds keep them. All trees grow together, level by level.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))

    # Shapes: the number of arguments of each node (0 for a digit), in order, for each level.
    length = np.ones(_BLOCK, dtype=np.int64)
    tree = np.arange(_BLOCK)
    operator = np.ones(_BLOCK, dtype=bool)
    levels: list[tuple[Ints, Ints]] = []
    for depth in range(1, rules.max_depth + 1):
        if depth > 1:
            operator = rng.integers(4, size=tree.size, dtype=np.uint8) == 0
        if depth == rules.max_depth:
            operator[:] = False
        arity = np.zeros(tree.size, dtype=np.int64)
        arity[operator] = rng.integers(2, rules.max_args + 1, size=np.count_nonzero(operator))
        levels.append((tree, arity))
        length += np.bincount(tree[operator], arity[operator] + 1, minlength=_BLOCK).astype(np.int64)
        growing = operator & (length < rules.max_length)[tree]  # a tree too long is not carried on
        tree = np.repeat(tree[growing], arity[growing])
        if not tree.size:
            break
    kept = (length > rules.min_length) & (length < rules.max_length)
    if not kept.any():
        return np.empty(0, dtype=np.uint8), length[kept], np.empty(0, dtype=np.uint8)

    # Symbols, sizes and values of the kept trees, from the leaves up.
    nodes: list[tuple[Ints, Ids, Ints]] = []
    size = value = np.empty(0, dtype=np.int64)
    for tree, arity in reversed(levels):
        arity = arity[kept[tree]]
        operator = arity > 0
        arguments, starts = arity[operator], _starts(arity[operator])
        symbol = rng.integers(1, 11, size=arity.size, dtype=np.uint8)
        symbol[operator] = rng.integers(MIN, SM + 1, size=arguments.size, dtype=np.uint8)
        size_below, size = size, np.ones(arity.size, dtype=np.int64)
        size[operator] = 2 + np.add.reduceat(size_below, starts)
        value_below, value = value, symbol.astype(np.int64) - 1
        value[operator] = _reduce(symbol[operator], value_below, starts, arguments)
        nodes.append((arity, symbol, size))

    # Positions, from the roots down: the arguments of an operator stand after it one by one, and the trees
    # stand in the result as if they were the arguments of one operator before it.
    ids = np.empty(size.sum(), dtype=np.uint8)
    first, arguments = np.zeros(1, dtype=np.int64), np.array([size.size])
    for arity, symbol, size in reversed(nodes):
        before = _starts(size)
        position = before + np.repeat(first - before[_starts(arguments)], arguments)
        operator = arity > 0
        ids[position] = symbol
        ids[(position + size - 1)[operator]] = CLOSE
        first, arguments = position[operator] + 1, arity[operator]
    return ids, length[kept], value.astype(np.uint8)


def _starts(lengths: Ints) -> Ints:
    return np.cumsum(lengths) - lengths


def _reduce(operators: Ids, values: Ints, starts: Ints, arity: Ints) -> Ints:
    """Apply each operator to its own run of `values`."""
    # One sort puts every run in order by itself, since its number outweighs the values.
    run = np.repeat(np.arange(arity.size) * 16, arity)
    ordered = np.sort((run + values).astype(np.int32)) & 15
    result = np.add.reduceat(values, starts) % 10
    median = (ordered[starts + (arity - 1) // 2] + ordered[starts + arity // 2]) // 2
    for operator, other in ((MIN, ordered[starts]), (MAX, ordered[starts + arity - 1]), (MED, median)):
        result = np.where(operators == operator, other, result)
    return result
