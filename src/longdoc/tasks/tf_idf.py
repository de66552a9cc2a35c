"""TF-IDF of words and logistic regression on texts of bytes: what no model is needed for."""

import numpy as np

from longdoc.baselines import NoTermsError, TfIdf
from longdoc.tasks.byte_ids import from_ids
from longdoc.tasks.cache import Documents


def accuracy(train: Documents, test: Documents, train_rows: int | None, length: int | None) -> float | None:
    """Right answers among the documents of ``test``, whose ids are bytes + 1, seen up to ``length`` of them.

    Words and pairs of neighbours that are in two documents or more, fitted to the first ``train_rows`` documents.
    A single class is answered as it is; None where there are no words.
    """
    labels = train.labels[:train_rows]
    if len(np.unique(labels)) < 2:
        return float((test.labels == labels[0]).mean())

    def texts(documents: Documents, rows: int) -> list[str]:
        return [from_ids(documents.ids(row)[:length]).decode(errors="replace") for row in range(rows)]

    model = TfIdf(characters=None, features=None, costs=[10])
    try:
        model.fit(texts(train, len(labels)), labels, (), labels[:0], np.ones(labels.max() + 1))
    except NoTermsError:
        return None
    return float((model.logits(texts(test, len(test))).argmax(1) == test.labels).mean())
