"""Multi-query associative recall: which value stood beside this key?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.cache import UNLABELLED
from longdoc.tasks.generated import Generated


class Recall(Generated):
    """MQAR (Arora et al., "Zoology", 2023, arXiv 2312.04927, and the code beside it).

    A document of ``max_length`` tokens begins with ``pairs`` of a key and its value, no key and no value twice. Then
    each key comes once more, as a query; its label is its value, and no other token has one. Queries stand at even
    distances 2g from the pairs' end; g = 0, 1, ... is drawn for one key after the other, without replacement, with
    a probability proportional to (g + 1)^(power - 1).

    pairs: key-value pairs a document.
    vocab: keys and values, one half each. Ids are 0 padding, then keys, values, and the blank.
    power: the exponent; near 0 most queries are close to the pairs, 1 spreads them evenly.
    noise: fills the places between queries with random keys and values, else with a blank.
    """

    name = "recall"
    token_labels = True

    def __init__(
        self, pairs: int = 8, vocab: int = 128, power: float = 0.01, noise: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        if vocab % 2 or not 1 <= pairs <= vocab // 2:
            raise ValueError(
                f"task.pairs={pairs} must be 1 to {vocab // 2}, half of task.vocab={vocab}, an even number"
            )
        if 4 * pairs > self.max_length:
            raise ValueError(
                f"task.pairs={pairs} needs task.max_length of at least {4 * pairs}, not {self.max_length}: "
                f"two tokens a pair and two a query"
            )
        if not 0 < power <= 1:
            raise ValueError(f"task.power={power} must be above 0 and at most 1")
        self.associations, self.half, self.power, self.noise = pairs, vocab // 2, power, noise
        self.rules |= {"length": self.max_length, "pairs": pairs, "vocab": vocab, "power": power, "noise": noise}

    def learn(self) -> dict[str, Any]:
        return {"classes": [f"value {i}" for i in range(self.half)], "vocab_size": 2 * self.half + 2}

    def draw(self, rng: np.random.Generator, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys, values = (_distinct(rng, rows, self.half, self.associations) for _ in range(2))
        start = 2 * self.associations
        space = (self.max_length - start) // 2
        # The largest of log p + Gumbel noise, in order, are draws without replacement (Vieira 2014, Kool et al. 2019).
        scores = (self.power - 1) * np.log(np.arange(1, space + 1)) + rng.gumbel(size=(rows, space))
        queries = start + 2 * np.argsort(-scores, axis=1)[:, : self.associations]

        ids = np.full((rows, self.max_length), 2 * self.half + 1)
        if self.noise:
            ids = rng.integers(1, 2 * self.half + 1, ids.shape)
        ids[:, 0:start:2] = 1 + keys
        ids[:, 1:start:2] = 1 + self.half + values
        np.put_along_axis(ids, queries, 1 + keys, axis=1)
        labels = np.full(ids.shape, UNLABELLED)
        np.put_along_axis(labels, queries, values, axis=1)
        return ids, labels

    def references(self) -> dict[str, float]:
        """The most frequent value, and any value that the document holds."""
        return super().references() | {"a_value_of_the_document": 1 / self.associations}


def _distinct(rng: np.random.Generator, rows: int, size: int, count: int) -> NDArray[np.int64]:
    """``count`` different numbers below ``size`` a row, uniform and in random order: (rows, count).

    Floyd's sampling (Bentley and Floyd 1987): work grows with count², not with size.
    """
    chosen = np.empty((rows, count), dtype=np.int64)
    for i, last in enumerate(range(size - count, size)):
        drawn = rng.integers(0, last + 1, rows)
        taken = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, last, drawn)
    return rng.permuted(chosen, axis=1)
