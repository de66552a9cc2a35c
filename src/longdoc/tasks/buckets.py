"""Batches of similar lengths under a token budget, in few shapes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Sampler

from longdoc.tasks.cache import UNLABELLED

STEP = 64
CANDIDATES = 1024
ENDLESS = 2**40


class Bucket(NamedTuple):
    """All batches of a bucket have the shape (rows, length); ``padded`` if some row is shorter than that."""

    length: int
    rows: int
    padded: bool


class Span(NamedTuple):
    """A piece of a document: ``length`` tokens of row ``row`` from ``start`` on."""

    row: int
    start: int
    length: int


class BatchSize(NamedTuple):
    """How large a batch is: a number of rows, or the padded tokens that decide it."""

    tokens: int | None = None
    rows: int | None = None

    def rows_of(self, length: int) -> int:
        """The rows of a batch of this length."""
        if self.rows is not None:
            return self.rows
        assert self.tokens is not None
        return max(1, self.tokens // length)


class Buckets:
    """At most ``count`` lengths that hold rows of the given lengths, each with a fixed number of rows.

    The lengths are those that pad least in total, found exactly over multiples of 64 (and the longest row), or, where
    rows have more than 1,024 of those, over so many. Few shapes matter because each is compiled once. A batch has
    ``size.rows``, or as many as fit in ``size.tokens``. Of rows of several documents, lengths (D, S), the longest
    decides, and the tokens of all count.
    """

    def __init__(self, lengths: NDArray[np.int64], size: BatchSize, count: int) -> None:
        sides = 1 if lengths.ndim == 1 else lengths.shape[1]
        shortest, lengths = lengths.reshape(-1, sides).min(1), lengths.reshape(-1, sides).max(1)
        longest = int(lengths.max(initial=1))
        ends = np.unique(np.minimum(-(-np.maximum(lengths, 1) // STEP) * STEP, longest))
        if len(ends) > CANDIDATES:  # the search takes their square
            ends = ends[np.linspace(0, len(ends) - 1, CANDIDATES).astype(int)]
        chosen = _least_padding(np.searchsorted(np.sort(lengths), ends, side="right"), ends, count)
        self._ends = np.array(chosen)
        members = self.of(lengths)
        self.buckets = tuple(
            Bucket(end, size.rows_of(sides * end), bool((shortest[members == i] < end).any()))
            for i, end in enumerate(chosen)
        )

    def of(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bucket's number for each length (D,)."""
        return np.searchsorted(self._ends, lengths)


def _least_padding(rows_up_to: NDArray[np.int64], ends: NDArray[np.int64], count: int) -> list[int]:
    """Chooses at most ``count`` of ``ends``, the last among them, with the least sum of rows times length."""
    n = len(ends)
    below = np.concatenate([[0], rows_up_to])
    cost = np.full((count + 1, n + 1), np.inf)
    cost[0, 0] = 0
    previous = np.zeros((count + 1, n + 1), dtype=int)
    for used in range(1, count + 1):
        for end in range(1, n + 1):
            total = cost[used - 1, :end] + (below[end] - below[:end]) * ends[end - 1]
            previous[used, end] = total.argmin()
            cost[used, end] = total.min()
    used, end, chosen = int(cost[:, n].argmin()), n, []
    while end:
        chosen.append(int(ends[end - 1]))
        used, end = used - 1, previous[used, end]
    return chosen[::-1]


class TrainSampler(Sampler[list[Span]]):
    """The endless stream of training batches; batch t is a pure function of (seed, t).

    An epoch holds each row once, in new batches and a new order; of a row longer than ``max_length`` it holds a
    window drawn from (seed, epoch, row), or, if not ``random``, always the first one. ``start`` is the batch to
    begin with, so that a resumed run goes on where the killed one stopped. Of pairs, lengths (D, 2), a span is of the
    longer document.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        max_length: int,
        size: BatchSize,
        count: int,
        seed: int,
        start: int = 0,
        random: bool = True,
    ) -> None:
        self.shapes = Buckets(np.minimum(lengths, max_length), size, count)
        longest = lengths if lengths.ndim == 1 else lengths.max(1)
        self.windows = np.minimum(longest, max_length)
        self.lengths = longest if random else self.windows
        self.members = self.shapes.of(self.windows)
        self.seed, self.start = seed, start
        sizes = np.bincount(self.members, minlength=len(self.shapes.buckets))
        self.epoch_batches = int(
            sum(-(-size // bucket.rows) for size, bucket in zip(sizes, self.shapes.buckets, strict=True))
        )

    def __len__(self) -> int:
        """Practically endless; the budget ends a run."""
        return ENDLESS

    def epoch(self, number: int) -> list[list[Span]]:
        """The batches of an epoch, in order."""
        rng = np.random.Generator(np.random.PCG64([self.seed, number]))
        starts = (rng.random(len(self.lengths)) * (self.lengths - self.windows + 1)).astype(np.int64)
        order = rng.permutation(len(self.lengths))
        batches = []
        for i, bucket in enumerate(self.shapes.buckets):
            rows = order[self.members[order] == i]
            for first in range(0, len(rows), bucket.rows):
                group = rows[first : first + bucket.rows]
                batches.append([Span(int(r), int(starts[r]), int(self.windows[r])) for r in group])
        return [batches[i] for i in rng.permutation(len(batches))]

    def __iter__(self) -> Iterator[list[Span]]:
        current, batches = -1, []
        for t in range(self.start, ENDLESS):
            number, place = divmod(t, self.epoch_batches)
            if number != current:
                current, batches = number, self.epoch(number)
            yield batches[place]


def spread_windows(lengths: NDArray[np.int64], max_length: int, limit: int | None, overlap: bool = True) -> list[Span]:
    """Fixed windows over every document: as many as cover it, at most ``limit``, evenly spread, first to last.

    Those that cover a document are of ``max_length`` and overlap, or are as many shorter ones that do not.
    """
    spans = []
    for row, length in enumerate(lengths.tolist()):
        size = min(length, max_length)
        count = max(1, -(-length // max_length))
        count = count if limit is None else min(count, limit)
        if not overlap and count * max_length >= length:
            edges = np.linspace(0, length, count + 1).astype(int).tolist()
            spans += [Span(row, start, end - start) for start, end in pairwise(edges)]
            continue
        for start in np.linspace(0, length - size, count).astype(int).tolist():
            spans.append(Span(row, start, size))
    return spans


class EvalSampler(Sampler[list[Span]]):
    """Every span once, sorted by length, longest first (so that too little memory shows at once).

    Evaluation is not compiled: its batches may be of any shape. sides: 2 of pairs, whose tokens all count.
    """

    def __init__(self, spans: list[Span], size: BatchSize, sides: int = 1) -> None:
        spans, first = sorted(spans, key=lambda span: -span.length), 0
        self.batches: list[list[Span]] = []
        while first < len(spans):
            rows = size.rows_of(sides * max(1, spans[first].length))
            self.batches.append(spans[first : first + rows])
            first += rows

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[Span]]:
        return iter(self.batches)


def shown(tokens: NDArray[Any], span: Span, ends: bool) -> NDArray[Any]:
    """The tokens (N,) of a document that a span holds; with ``ends``, of a longer document, half of it each."""
    if ends and len(tokens) > span.length:
        tail = span.length // 2
        return np.concatenate([tokens[: span.length - tail], tokens[len(tokens) - tail :]])
    return tokens[span.start : span.start + span.length]


class Held(Protocol):
    """Documents as ``Documents`` has them."""

    @property
    def pairs(self) -> bool: ...
    @property
    def sides(self) -> NDArray[np.int64]: ...
    @property
    def labels(self) -> NDArray[Any]: ...
    @property
    def token_labels(self) -> Any: ...
    def ids(self, row: int, side: int = 0) -> NDArray[Any]: ...


class Collate:
    """Spans to one batch of their bucket's shape, or without ``shapes`` of just what holds them.

    ids (B, N) long, mask (B, N) bool or None where the shape has no padding, label (B,) long, or (B, N) where
    tokens have labels, -100 for a token that has none and for padding, or (B, C) float of 0 and 1 where documents have
    any number of classes, index (B,) the row in the split, weight (B,)
    float: 0 for the missing rows of an incomplete batch, which are filled with padding, or with the first row again
    where the shape has none. Of pairs ids and mask are (B, 2, N): a span cuts both documents.

    ends: of a document longer than its span show the first and the last tokens, half of the span each.
    """

    def __init__(self, documents: Held, shapes: Buckets | None = None, ends: bool = False) -> None:
        self.documents = documents
        self.shapes = shapes
        self.ends = ends

    def __call__(self, spans: list[Span]) -> dict[str, torch.Tensor | None]:
        bucket = self._shape(spans)
        sides = self.documents.sides.shape[1]
        ids = np.zeros((bucket.rows, sides, bucket.length), dtype=np.int64)
        lengths = np.zeros((bucket.rows, sides), dtype=np.int64)
        for i, span in enumerate(spans):
            for side in range(sides):
                found = shown(self.documents.ids(span.row, side), span, self.ends)
                ids[i, side, : len(found)] = found
                lengths[i, side] = len(found)
        if not bucket.padded:
            ids[len(spans) :] = ids[0]
        rows = np.array([span.row for span in spans] + [0] * (bucket.rows - len(spans)))
        if self.documents.token_labels is None:
            label = self.documents.labels[rows]
            label = label.astype(np.float32) if label.ndim == 2 else label
        else:
            label = np.full_like(ids[:, 0], UNLABELLED)
            for i, span in enumerate(spans):
                label[i, : span.length] = shown(self.documents.token_labels[span.row], span, self.ends)
        weight = np.arange(bucket.rows) < len(spans)
        mask = np.arange(bucket.length) < lengths[..., None]
        padded = bucket.padded and not (self.shapes is None and mask.all())
        if not self.documents.pairs:
            ids, mask = ids[:, 0], mask[:, 0]
        return {
            "ids": torch.from_numpy(ids),
            "mask": torch.from_numpy(mask) if padded else None,
            "label": torch.from_numpy(label),
            "index": torch.from_numpy(rows),
            "weight": torch.from_numpy(weight.astype(np.float32)),
            "tokens": torch.tensor(int(lengths.sum())),
        }

    def _shape(self, spans: list[Span]) -> Bucket:
        longest = max(span.length for span in spans)
        if self.shapes is not None:
            return self.shapes.buckets[int(self.shapes.of(np.array(longest)))]
        return Bucket(max(1, longest), len(spans), padded=True)
