"""Counts of runs of words and of characters: (D, X) sparse, X the runs of the documents fitted."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse

WORD = re.compile(r"\S{1,64}")  # a longer one, as where nothing is spaced, counts in pieces


class NoTermsError(ValueError):
    """No run is in as many documents as it must be."""


class Words:
    """Runs of words, each of two letters or digits and more.

    run: shortest and longest; fewest: documents that hold it; features: at most so many, the most frequent.
    """

    def __init__(self, run: tuple[int, int], fewest: int, features: int | None) -> None:
        from sklearn.feature_extraction.text import CountVectorizer  # slow to import

        self.counter = CountVectorizer(ngram_range=run, min_df=fewest, max_features=features)

    def fit(self, texts: Iterable[str]) -> Any:
        try:
            return self.counter.fit_transform(texts)
        except ValueError as error:
            if "empty vocabulary" not in str(error) and "no terms remain" not in str(error):
                raise
            raise NoTermsError("no word is in as many documents") from None

    def __call__(self, texts: Iterable[str]) -> Any:
        return self.counter.transform(texts)


class Characters:
    """Runs of characters within words and their edges, scikit-learn's ``char_wb``, found once in each different word.

    A book has 100 times as many words as different ones; of words (D, V) and the runs in each (V, X) the product is
    the same and takes a tenth of the time.
    """

    def __init__(self, run: tuple[int, int], fewest: int, features: int | None) -> None:
        self.run, self.fewest, self.features = run, fewest, features

    def fit(self, texts: Iterable[str]) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer  # slow to import

        counts, words = _different_words(texts)
        if not words:
            raise NoTermsError("there are no words")
        counter = CountVectorizer(analyzer="char_wb", ngram_range=self.run)
        within = counter.fit_transform(words)
        frequent = np.argsort(-(counts.sum(0) @ within).A1, kind="stable")[: self.features]
        found = counts @ within[:, frequent]
        kept = found.getnnz(0) >= self.fewest
        if not kept.any():
            raise NoTermsError("no run of characters is in as many documents")
        names = counter.get_feature_names_out()[frequent[kept]]
        self.counter = CountVectorizer(analyzer="char_wb", ngram_range=self.run, vocabulary=names)
        return found[:, kept]

    def __call__(self, texts: Iterable[str]) -> Any:
        counts, words = _different_words(texts)
        return counts @ self.counter.transform(words)


def _different_words(texts: Iterable[str]) -> tuple[Any, list[str]]:
    """How often (D, V) each text has which word."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=lambda text: WORD.findall(text.lower()))
    try:
        return counter.fit_transform(texts), counter.get_feature_names_out().tolist()
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return scipy.sparse.csr_array((sum(1 for _ in texts), 0), dtype=np.int64), []
