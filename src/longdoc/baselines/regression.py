"""Logistic regression whose strength of regularization is chosen on documents held out."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.baselines.base import Labels, loss, prior

STEPS = 1000


class Regression:
    """Multinomial for one class to a document; for several, each class against the rest.

    costs: scikit-learn's C, the inverse strength of regularization; the one of least loss on the documents held out is
        kept as ``cost``, a single one unseen.
    """

    def __init__(self, costs: Sequence[float]) -> None:
        if not costs or min(costs) <= 0:
            raise ValueError(f"baseline.costs={list(costs)} must be one or more numbers above 0")
        self.costs = sorted(costs)
        self.chooses = len(costs) > 1

    def fit(
        self, vectors: Any, labels: Labels, held_out: Any, held_out_labels: Labels, weights: NDArray[np.float64]
    ) -> None:
        """vectors, held_out: (D, X), dense or sparse; where there is one cost, the latter is not read.

        weights: (C,) what a document of each class counts.
        """
        from sklearn.linear_model import LogisticRegression  # slow to import

        targets: dict[tuple[int, ...], NDArray[Any]]
        self.prior = prior(labels, len(weights))
        if labels.ndim == 2:
            targets = {(i,): column for i, column in enumerate(labels.T) if column.any() and not column.all()}
            counted = {key: np.where(target, weights[key[0]], 1.0) for key, target in targets.items()}
        else:
            present = tuple(np.unique(labels).tolist())
            targets = {present: labels} if len(present) > 1 else {}
            counted = {present: weights[labels]}
        models = {key: LogisticRegression(max_iter=STEPS, warm_start=True) for key in targets}
        best = np.inf
        for cost in self.costs:  # from the weakest fit on, each beginning where the last one ended
            for key, model in models.items():
                model.set_params(C=cost).fit(vectors, targets[key], counted[key])
            found = loss(self._logits(models, held_out), held_out_labels) if self.chooses else 0.0
            if found < best:
                best, self.cost, self.models = found, cost, deepcopy(models)

    def logits(self, vectors: Any) -> NDArray[np.float64]:
        """(D, C); a class that no document or every document had keeps its prior."""
        return self._logits(self.models, vectors)

    def _logits(self, models: dict[tuple[int, ...], Any], vectors: Any) -> NDArray[np.float64]:
        logits = np.tile(self.prior, (vectors.shape[0], 1))
        for classes, model in models.items():
            found = model.decision_function(vectors).reshape(len(logits), -1)
            if len(classes) > 1:
                found = np.column_stack([np.zeros(len(found)), found]) if found.shape[1] == 1 else found
                found = found - np.logaddexp.reduce(found, axis=1, keepdims=True)
            logits[:, classes] = found
        return logits

    @property
    def parameters(self) -> int:
        """Weights and intercepts."""
        return sum(model.coef_.size + model.intercept_.size for model in self.models.values())
