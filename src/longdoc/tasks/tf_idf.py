"""TF-IDF and logistic regression on texts: what no model is needed for."""

import numpy as np

from longdoc.tasks.byte_ids import from_ids
from longdoc.tasks.cache import Documents


def accuracy(train: Documents, test: Documents, train_rows: int | None, length: int | None) -> float | None:
    """Right answers among the documents of ``test``, whose ids are bytes + 1, seen up to ``length`` of them.

    Words and pairs of neighbours that are in two documents or more, fitted to the first ``train_rows`` documents.
    A single class is answered as it is; None where there are no words.
    """
    # Slow to import, and only this needs it.
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    labels = train.labels[:train_rows]
    if len(np.unique(labels)) < 2:
        return float((test.labels == labels[0]).mean())
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2 if len(labels) > 2 else 1, sublinear_tf=True)

    def texts(documents: Documents, rows: int) -> list[str]:
        return [from_ids(documents.ids(row)[:length]).decode(errors="replace") for row in range(rows)]

    try:
        vectors = vectorizer.fit_transform(texts(train, len(labels)))
    except ValueError as error:
        if "empty vocabulary" not in str(error) and "no terms remain" not in str(error):
            raise
        return None
    model = LogisticRegression(C=10, max_iter=1000).fit(vectors, labels)
    return float((model.predict(vectorizer.transform(texts(test, len(test)))) == test.labels).mean())
