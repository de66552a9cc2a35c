"""Long noise whose label hangs on one or two tokens."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.generated import Generated

KINDS = ("single", "xor")
PARTS = {"early": (0, 1 / 3), "middle": (1 / 3, 2 / 3), "late": (2 / 3, 1), "anywhere": (0, 1)}
ZERO, ONE = 1, 2  # the ids of the two evidence tokens


class Evidence(Generated):
    """Documents of ``max_length`` tokens: noise, and one of two evidence tokens planted at a random place.

    kind: ``single``, whose label is which of the two was planted; ``xor``, where a second one stands ``distance``
        tokens after the first and the label is whether they differ, which neither tells alone.
    position: the part of the document that holds the (first) evidence: the ``early``, ``middle`` or ``late`` third,
        or ``anywhere``; runs that differ in it give the accuracy by position.
    vocab: different noise tokens, uniform. Ids are 0 padding, 1 and 2 evidence, then noise.
    """

    name = "evidence"

    def __init__(
        self, kind: str = "single", position: str = "anywhere", distance: int = 64, vocab: int = 128, **options: Any
    ) -> None:
        super().__init__(**options)
        for name, value, valid in (("kind", kind, KINDS), ("position", position, tuple(PARTS))):
            if value not in valid:
                raise ValueError(f"task.{name}={value} is not one of {', '.join(valid)}")
        if vocab < 1 or distance < 1:
            raise ValueError(f"task.vocab={vocab} and task.distance={distance} must be at least 1")
        self.reach = distance if kind == "xor" else 0
        self.low, self.high = (round(share * self.max_length) for share in PARTS[position])
        self.high = min(self.high, self.max_length - self.reach)
        if self.low >= self.high:
            raise ValueError(
                f"task.distance={distance} after {position} evidence does not fit into task.max_length="
                f"{self.max_length}; at most {self.max_length - self.low - 1} does"
            )
        self.noise = vocab
        self.rules |= {
            "length": self.max_length,
            "kind": kind,
            "position": position,
            "reach": self.reach,
            "vocab": vocab,
        }

    def learn(self) -> dict[str, Any]:
        return {"classes": ["0", "1"], "vocab_size": ONE + 1 + self.noise}

    def draw(self, rng: np.random.Generator, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        ids = rng.integers(ONE + 1, ONE + 1 + self.noise, (rows, self.max_length))
        places = rng.integers(self.low, self.high, rows)
        row, labels = np.arange(rows), np.zeros(rows, dtype=np.int64)
        for place in [places, places + self.reach][: 2 if self.reach else 1]:
            bits = rng.integers(0, 2, rows)
            ids[row, place] = ZERO + bits
            labels ^= bits
        return ids, labels
