"""Which row belongs to which split: stratified, drawn by content, groups kept whole."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def draw(key: str, seed: int) -> bytes:
    """A number that decides by chance, the same for the same key wherever and in whatever order it is met."""
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8, key=seed.to_bytes(8)).digest()


def assign(labels: NDArray[np.generic], units: Sequence[str], shares: Sequence[float], seed: int) -> NDArray[np.int64]:
    """The part (D,) of each row, 0 to P - 1, by iterative stratification (Sechidis, Tsoumakas & Vlahavas, 2011).

    labels: classes (D,), or (D, C) bool where a row has several.
    units: rows of equal ones stay together: a group's name, or the document itself, so that none is in two parts.
    shares: of the rows (P,), summing to 1; k equal ones make k folds.
    seed: with the units, and not with the order of the rows, it decides.

    The rarest class is dealt out first, its largest unit first, each unit to the part that lacks most of the class.

    Raises ValueError if there are fewer units than parts; else no part is empty.
    """
    names: dict[str, int] = {}
    unit_of = np.array([names.setdefault(unit, len(names)) for unit in units], np.int64)
    if len(names) < len(shares):
        raise ValueError(f"{len(names)} that must stay whole cannot be in {len(shares)} parts")
    drawn = [draw(name, seed) for name in names]
    sizes = np.bincount(unit_of)
    rows, classes = np.nonzero(labels) if labels.ndim == 2 else (np.arange(len(labels)), labels.astype(np.int64))
    pairs, counts = np.unique(np.stack([unit_of[rows], classes]), axis=1, return_counts=True)
    holds: list[list[tuple[int, int]]] = [[] for _ in names]
    for unit, label, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
        holds[unit].append((label, count))
    order = sorted(range(len(names)), key=lambda unit: (-sizes[unit], drawn[unit]))

    left = np.bincount(classes, minlength=int(classes.max(initial=0)) + 1)
    lacking = [float(share) * len(labels) for share in shares]
    lacking_of = [[float(share) * count for share in shares] for count in left.tolist()]
    part = [-1] * len(names)

    def place(unit: int, wanted: list[float]) -> None:
        best = max(range(len(shares)), key=lambda p: (round(wanted[p], 9), round(lacking[p], 9)))
        part[unit] = best
        lacking[best] -= int(sizes[unit])
        for label, count in holds[unit]:
            lacking_of[label][best] -= count
            left[label] -= count

    members: dict[int, list[int]] = {}
    for unit in order:
        for label, _ in holds[unit]:
            members.setdefault(label, []).append(unit)
    while (left > 0).any():
        label = int(np.where(left > 0, left, left.max() + 1).argmin())
        for unit in members[label]:
            if part[unit] < 0:
                place(unit, lacking_of[label])
    for unit in order:
        if part[unit] < 0:  # it has no label at all
            place(unit, lacking)
    for empty in sorted(set(range(len(shares))) - set(part)):  # takes the least that the largest part can give
        largest = int(np.bincount(part, sizes).argmax())
        kept = np.zeros_like(left)
        for unit in order:
            if part[unit] == largest:
                for label, count in holds[unit]:
                    kept[label] += count

        def loss(unit: int, kept: NDArray[np.int64] = kept) -> tuple[bool, int, bytes]:
            return any(kept[label] == count for label, count in holds[unit]), int(sizes[unit]), drawn[unit]

        part[min((unit for unit in order if part[unit] == largest), key=loss)] = empty
    return np.array(part, np.int64)[unit_of]
