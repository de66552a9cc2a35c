"""Training batches of documents that are read and encoded as they are needed, instead of ahead."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset, get_worker_info

from longdoc.tasks.buckets import STEP, BatchSize, Buckets, Collate, Span, shown

Row = tuple[int, tuple[NDArray[Any], ...]]


class TrainStream(IterableDataset):
    """The endless stream of training batches; with the same workers, batch t is a pure function of (seed, t).

    The reading starts over when it comes to the end: each pass holds each document once. What is left of a pass when
    its last batch is full begins the batches of the next. Document i of all goes to process i mod P of the P = workers
    times ranks, which shuffles it with others in a buffer, so that none is lost or repeated. Each process reads all of
    the table, but encodes its own documents alone. Rows sorted by label want a buffer larger than a label's rows.

    read: called with (part, parts), hands out the rows part, part + parts, ... of a pass: the row's number and the ids
        (N,) of its document, of a pair of both.
    labels: of all rows, (D,) or (D, C).
    lengths: ``count`` lengths of batches, halves of one another up to ``max_length``, since none is known before.
    shuffle: documents in the buffer.
    start: the batch to begin with. A resumed run encodes again what came before, since lengths decide the batches.
    random, ends: of a longer document a random window, or its two ends, else its first tokens.
    rank, ranks: of the processes that train together.
    """

    epoch_batches = np.inf  # not known before the whole is encoded

    def __init__(
        self,
        read: Callable[[int, int], Iterable[Row]],
        labels: NDArray[Any],
        max_length: int,
        size: BatchSize,
        count: int,
        seed: int,
        shuffle: int,
        sides: int = 1,
        start: int = 0,
        random: bool = False,
        ends: bool = False,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        super().__init__()
        self.read, self.labels, self.max_length, self.seed, self.shuffle = read, labels, max_length, seed, shuffle
        self.start, self.random, self.ends, self.rank, self.ranks = start, random, ends, rank, ranks
        steps = [-(-max_length // 2**i // STEP) * STEP for i in range(count)]
        # Beside each length a shorter row, so that every shape has a mask.
        lengths = np.array([[min(n, max_length) - short] * sides for n in steps if n for short in (0, 1)])
        self.shapes = Buckets(lengths, size, count)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        workers, number = (1, 0) if info is None else (info.num_workers, info.id)
        number = (number + self.start) % workers  # batches come from the workers in turn
        before = max(0, -(-(self.start - number) // workers))
        for rows in islice(self._batches(self.rank * workers + number, self.ranks * workers), before, None):
            numbers, documents = zip(*rows, strict=True)
            held = Held(documents, self.labels[list(numbers)])
            spans = [Span(i, 0, int(length)) for i, length in enumerate(held.sides.max(1))]
            yield Collate(held, self.shapes)(spans) | {"index": torch.tensor(numbers)}  # every batch is full

    def _batches(self, part: int, parts: int) -> Iterator[list[Row]]:
        waiting: list[list[Row]] = [[] for _ in self.shapes.buckets]
        for number in count():
            rng, found = np.random.Generator(np.random.PCG64([self.seed, number, part])), False
            for row in shuffled(self._cut(part, parts, rng), self.shuffle, rng):
                found = True
                bucket = int(self.shapes.of(np.array(max(map(len, row[1])))))
                waiting[bucket].append(row)
                if len(waiting[bucket]) == self.shapes.buckets[bucket].rows:
                    yield waiting[bucket]
                    waiting[bucket] = []
            if not found:
                raise ValueError(f"the training split has no document for process {part + 1} of {parts}; take fewer")

    def _cut(self, part: int, parts: int, rng: np.random.Generator) -> Iterator[Row]:
        for row, documents in self.read(part, parts):
            longest = max(map(len, documents))
            length = min(longest, self.max_length)
            start = int(rng.random() * (longest - length + 1)) if self.random else 0
            # A copy: a view would keep the whole document in the buffer.
            yield row, tuple(shown(ids, Span(row, start, length), self.ends).copy() for ids in documents)


class Held:
    """Documents in memory, as ``Collate`` reads them."""

    token_labels = None

    def __init__(self, documents: tuple[tuple[NDArray[Any], ...], ...], labels: NDArray[Any]) -> None:
        self.documents, self.labels = documents, labels
        self.sides: NDArray[np.int64] = np.array([[len(ids) for ids in row] for row in documents])
        self.pairs = self.sides.shape[1] > 1

    def ids(self, row: int, side: int = 0) -> NDArray[Any]:
        return self.documents[row][side]


def shuffled(rows: Iterable[Row], size: int, rng: np.random.Generator) -> Iterator[Row]:
    """Each row once, drawn from a buffer of ``size`` that the next one fills up."""
    buffer: list[Row] = []
    for row in rows:
        if len(buffer) < size:
            buffer.append(row)
            continue
        place = int(rng.integers(size))
        yield buffer[place]
        buffer[place] = row
    yield from (buffer[place] for place in rng.permutation(len(buffer)))
