"""TF-IDF of words and characters, and logistic regression."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from longdoc.baselines.base import Texts
from longdoc.baselines.counts import Characters, NoTermsError, Words
from longdoc.baselines.vectors import VectorBaseline


class TfIdf(VectorBaseline):
    """Runs of words and of characters, either weighted by (1 + log count) · idf to vectors of norm one. Of a pair of
    texts the cosine of either.

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
        super().__init__(length, costs)
        if features is not None and features < 1:
            raise ValueError(f"baseline.features={features} must be at least 1, or null for all")
        self.words, self.characters = (
            _run("words", words),
            None if characters is None else _run("characters", characters),
        )
        self.features = features

    def learn(self, texts: Texts) -> Any:
        """Raises NoTermsError, a ValueError, where texts have nothing in common."""
        from sklearn.feature_extraction.text import TfidfTransformer  # slow to import

        fewest = 2 if len(texts) > 2 else 1
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
        return _beside(vectors)

    def vectors(self, texts: Texts) -> Any:
        return _beside([scale.transform(counter(texts)) for counter, scale in self.parts])

    def together(self, a: Any, b: Any) -> NDArray[np.float64]:
        common = a.multiply(b).tocsc()
        ends = np.cumsum([len(scale.idf_) for _, scale in self.parts])
        return np.column_stack([np.asarray(common[:, i:j].sum(1)).ravel() for i, j in pairwise([0, *ends])])


def _beside(vectors: list[Any]) -> Any:
    return scipy.sparse.hstack(vectors, format="csr")


def _run(name: str, values: Sequence[int]) -> tuple[int, int]:
    if len(values) != 2 or not 1 <= values[0] <= values[1]:
        raise ValueError(f"baseline.{name}={list(values)} must be the shortest and the longest run, such as [1, 2]")
    return values[0], values[1]
