"""What a checkpoint learns from the validation split after training: how sure to be, and from when on to say yes."""

import os
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from longdoc.evaluation import evaluate
from longdoc.export import Loaded, load
from longdoc.tasks.base import Task
from longdoc.training.scores import THRESHOLD, MultiLabelScores, Scores

METHODS = ("temperature",)
EXTREME = 10.0  # temperatures lie between this and its inverse


def check_calibration(task: Task, method: str | None) -> None:
    """Raises ValueError for a method that does not exist, or does not suit the task."""
    if method not in {None, *METHODS}:
        raise ValueError(f"calibration={method} is not one of {', '.join(METHODS)}, or null")
    if method and task.token_labels:
        raise ValueError(f"calibration={method}: {task.name} labels tokens; only documents' labels are calibrated")


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """The T for which softmax(logits / T), of labels (D, C) sigmoid, has the least loss (Guo et al. 2017,
    arXiv:1706.04599): the likeliest class stays what it was.

    logits (D, C), labels (D,), or (D, C) of 0 and 1 -> T, between 0.1 and 10. Where every label is right the loss falls
    for ever as T does, and T is 1: documents without an error cannot say how sure to be.
    """
    logits, multi_label = logits.double(), labels.ndim == 2
    right = (logits > 0) == (labels > 0) if multi_label else logits.argmax(-1) == labels
    if right.all():
        return 1.0
    truth = labels.double() if multi_label else F.one_hot(labels, logits.shape[-1]).double()

    def slope(sharpness: float) -> float:  # of the loss, which is convex in 1 / T
        scaled = sharpness * logits
        return (((scaled.sigmoid() if multi_label else scaled.softmax(-1)) - truth) * logits).sum().item()

    low, high = 1 / EXTREME, EXTREME
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return 1 / middle


def best_thresholds(probabilities: Tensor, labels: Tensor) -> list[float]:
    """For each class the probability from which on to say yes that has the best F1, half-way to the next document's.

    probabilities (D, C), labels (D, C) of 0 and 1 -> C numbers; 0.5 for a class that no document has.
    """
    return [_best_threshold(*column) for column in zip(probabilities.double().T, labels.T > 0, strict=True)]


def _best_threshold(probabilities: Tensor, labels: Tensor) -> float:
    if not labels.any():
        return THRESHOLD
    ranked, order = probabilities.sort(descending=True)
    below = torch.cat([ranked[1:], ranked.new_zeros(1)])
    chosen = torch.arange(1, len(ranked) + 1)
    f1 = 2 * labels[order].cumsum(0) / (chosen + labels.sum())
    f1[ranked == below] = -1  # equal ones are all chosen, or none
    best = f1.argmax()
    return ((ranked[best] + below[best]) / 2).item()


def calibrate(path: Path, task: Task, method: str | None, trusted: list[str], device: str | None = None) -> Loaded:
    """The checkpoint, after what it lacks was fitted on the validation split and written into it: a temperature if
    ``method`` says so, and thresholds where documents have any number of classes."""
    loaded = load(path, trusted)
    if method is None and not task.multi_label:
        return loaded
    loaded.model.temperature = 1.0
    scores = evaluate(loaded, task, "validation", device)
    assert isinstance(scores, Scores)
    _, labels, logits = scores.documents()
    found: dict[str, Any] = {}
    if method:
        found["temperature"] = fit_temperature(logits, labels)
    if isinstance(scores, MultiLabelScores):
        found["thresholds"] = best_thresholds((logits / found.get("temperature", 1.0)).sigmoid(), labels)
    amend(path, found)
    return load(path, trusted)


def amend(path: Path, payload: dict[str, Any]) -> None:
    """Adds to what a checkpoint says of itself. The file is there at all times, and whole."""
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    checkpoint["longdoc"] |= payload
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            torch.save(checkpoint, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
