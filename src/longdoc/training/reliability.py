"""Whether a classifier is right as often as it says: the reliability diagram's bins, and the calibration error."""

from typing import Any

import torch
from torch import Tensor

BINS = 15  # equal ones of [0, 1] (Guo et al. 2017, arXiv:1706.04599)


def _sums(confidence: Tensor, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What is in each bin (BINS,): how many, the sum of their confidences, and how many of them were right."""
    confidence = confidence.double()
    bins = (confidence.nan_to_num() * BINS).long().clamp(max=BINS - 1)
    none = torch.zeros(BINS, dtype=torch.float64)
    parts = (torch.ones_like(confidence), confidence, right.double())
    number, said, found = (none.index_add(0, bins, part) for part in parts)
    return number, said, found


def calibration_error(confidence: Tensor, right: Tensor) -> float:
    """The expected calibration error of confidences (n,) in [0, 1] of which ``right`` (n,) were right: the mean of
    |confidence - accuracy| over the bins, each weighted by what is in it; nan if a confidence is."""
    _, said, found = _sums(confidence, right)
    return ((said - found).abs().sum() / len(confidence)).item()


def reliability(confidence: Tensor, right: Tensor) -> list[dict[str, Any]]:
    """Of the bins that are not empty ``from``, ``to``, ``count``, mean ``confidence`` and ``accuracy``; arguments (n,)
    as above."""
    return [
        {"from": i / BINS, "to": (i + 1) / BINS, "count": int(n), "confidence": said / n, "accuracy": found / n}
        for i, (n, said, found) in enumerate(zip(*(of.tolist() for of in _sums(confidence, right)), strict=True))
        if n
    ]
