"""TF-IDF cosines of pairs of documents: what no model is needed for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.byte_ids import from_ids
from longdoc.tasks.cache import Documents

CHUNK = 4096  # pairs whose products of vectors are held at once


def cosines(train: Documents, other: Documents, train_rows: int | None) -> list[NDArray[np.float64]]:
    """The cosines of the first ``train_rows`` pairs of ``train`` and of all of ``other``, whose ids are bytes + 1.

    Words are weighted by their frequency in the documents of those training pairs.
    """
    # Slow to import, and only this needs it.
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True)
    found = []
    for documents, rows in ((train, train_rows), (other, None)):
        pairs = documents.numbers[:rows]
        numbers, places = np.unique(pairs, return_inverse=True)
        texts = (from_ids(documents.stored[number]).decode(errors="replace") for number in numbers)
        vectors = vectorizer.fit_transform(texts) if documents is train else vectorizer.transform(texts)
        found.append(_products(vectors, places.reshape(pairs.shape)))
    return found


def _products(vectors: Any, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Vectors (D, W), sparse and of length 1, and pairs (P, 2) of their rows -> (P,)."""
    parts = [
        np.asarray(vectors[first].multiply(vectors[second]).sum(1)).ravel()
        for first, second in (pairs[i : i + CHUNK].T for i in range(0, len(pairs), CHUNK))
    ]
    return np.concatenate(parts)


def threshold(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The value for which ``scores > value`` is the label, 0 or 1, most often."""
    order = np.argsort(scores)
    scores, labels = scores[order], labels[order]
    edges = np.concatenate([[-np.inf], (scores[1:] + scores[:-1]) / 2, scores[-1:]])  # calling the first k of them 0
    right = (
        np.concatenate([[0], np.cumsum(labels == 0)]) + (labels == 1).sum() - np.concatenate([[0], np.cumsum(labels)])
    )
    between = np.concatenate([[True], scores[1:] > scores[:-1], [True]])  # equal scores are called alike
    return float(edges[np.where(between, right, -1).argmax()])
