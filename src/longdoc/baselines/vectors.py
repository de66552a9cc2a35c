"""Logistic regression on a vector of each text, of a pair on what two vectors make together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.baselines.base import Baseline, Labels, Texts, pairs_of
from longdoc.baselines.regression import Regression

CHUNK = 4096  # pairs whose vectors are held at once


class VectorBaseline(Baseline):
    """A subclass says what the vectors of texts are: ``vectors``, and ``learn`` where training decides on them. It also
    says what two of them make ``together``.

    costs: of ``Regression``.
    """

    def __init__(self, length: int | None, costs: Sequence[float]) -> None:
        super().__init__(length)
        self.regression = Regression(costs)

    def learn(self, texts: Texts) -> Any:
        """The vectors (T, X) of the texts to train on, on which those of others may depend."""
        return self.vectors(texts)

    def vectors(self, texts: Texts) -> Any:
        """(T, X), dense or sparse."""
        raise NotImplementedError

    def together(self, a: Any, b: Any) -> NDArray[np.float64]:
        """(P, Y), what is known of pairs from the vectors (P, X) of their first texts and of their second ones."""
        raise NotImplementedError

    def _of_documents(self, texts: Texts, vectors: Any) -> Any:
        """The vectors of texts, or what those of each pair make together."""
        if (pairs := pairs_of(texts)) is None:
            return vectors
        chunks = (pairs[i : i + CHUNK].T for i in range(0, len(pairs), CHUNK))
        return np.concatenate([self.together(vectors[a], vectors[b]) for a, b in chunks])

    def fit(
        self, texts: Texts, labels: Labels, held_out: Texts, held_out_labels: Labels, weights: NDArray[np.float64]
    ) -> None:
        known = self._of_documents(texts, self.learn(texts))
        unseen = self._of_documents(held_out, self.vectors(held_out)) if self.regression.chooses else None
        self.regression.fit(known, labels, unseen, held_out_labels, weights)

    def logits(self, texts: Texts) -> NDArray[np.float64]:
        return self.regression.logits(self._of_documents(texts, self.vectors(texts)))

    @property
    def parameters(self) -> int:
        return self.regression.parameters

    def chosen(self) -> dict[str, Any]:
        return {"cost": self.regression.cost}
