"""TF-IDF of words and characters, and logistic regression."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from longdoc.baselines.base import Baseline, Labels
from longdoc.baselines.counts import Characters, NoTermsError, Words
from longdoc.baselines.regression import Regression


class TfIdf(Baseline):
    """Runs of words and of characters, either weighted by (1 + log count) · idf to vectors of norm one.

    words: shortest and longest run of words, of those that are in two documents or more.
    characters: shortest and longest run of characters within a word, its edges among them; None for none.
    features: at most so many of either, the most frequent ones; None for all.
    costs: of ``Regression``.
    """

    def __init__(
        self,
        length: int | None = None,
        words: Sequence[int] = (1, 2),
        characters: Sequence[int] | None = (2, 5),
        features: int | None = 100_000,
        costs: Sequence[float] = (1, 10, 100),
    ) -> None:
        super().__init__(length)
        if features is not None and features < 1:
            raise ValueError(f"baseline.features={features} must be at least 1, or null for all")
        self.words, self.characters = (
            _run("words", words),
            None if characters is None else _run("characters", characters),
        )
        self.features = features
        self.regression = Regression(costs)

    def fit(
        self,
        texts: Iterable[str],
        labels: Labels,
        held_out: Iterable[str],
        held_out_labels: Labels,
        weights: NDArray[np.float64],
    ) -> None:
        """Raises NoTermsError, a ValueError, where training documents have nothing in common."""
        from sklearn.feature_extraction.text import TfidfTransformer  # slow to import

        fewest = 2 if len(labels) > 2 else 1
        counters: list[Words | Characters] = [Words(self.words, fewest, self.features)]
        if self.characters is not None:
            counters.append(Characters(self.characters, fewest, self.features))
        self.parts, vectors = [], []
        for counter in counters:
            try:
                counts = counter.fit(texts)
            except NoTermsError:
                continue
            scale = TfidfTransformer(sublinear_tf=True)
            vectors.append(scale.fit_transform(counts))
            self.parts.append((counter, scale))
        if not self.parts:
            raise NoTermsError("baseline=tfidf: no word and no run of characters is in two documents to train on")
        unseen = self._vectors(held_out) if self.regression.chooses else None
        self.regression.fit(_beside(vectors), labels, unseen, held_out_labels, weights)

    def _vectors(self, texts: Iterable[str]) -> Any:
        return _beside([scale.transform(counter(texts)) for counter, scale in self.parts])

    def logits(self, texts: Iterable[str]) -> NDArray[np.float64]:
        return self.regression.logits(self._vectors(texts))

    @property
    def parameters(self) -> int:
        return self.regression.parameters

    def chosen(self) -> dict[str, Any]:
        return {"cost": self.regression.cost}


def _beside(vectors: list[Any]) -> Any:
    return scipy.sparse.hstack(vectors, format="csr")


def _run(name: str, values: Sequence[int]) -> tuple[int, int]:
    if len(values) != 2 or not 1 <= values[0] <= values[1]:
        raise ValueError(f"baseline.{name}={list(values)} must be the shortest and the longest run, such as [1, 2]")
    return values[0], values[1]
