"""The most frequent class."""

import numpy as np
from numpy.typing import NDArray

from longdoc.baselines.base import Baseline, Labels, Texts, pairs_of, prior


class Majority(Baseline):
    """Answers every document with the classes' shares of the training split."""

    reads_text = False

    def __init__(self) -> None:
        super().__init__()

    def fit(
        self, texts: Texts, labels: Labels, held_out: Texts, held_out_labels: Labels, weights: NDArray[np.float64]
    ) -> None:
        self.prior = prior(labels, len(weights))

    def logits(self, texts: Texts) -> NDArray[np.float64]:
        pairs = pairs_of(texts)
        return np.tile(self.prior, (len(texts) if pairs is None else len(pairs), 1))

    @property
    def parameters(self) -> int:
        return len(self.prior)
