"""Scoring a checkpoint on a split: one way, for train.py and the scripts alike."""

import logging
import warnings
from collections.abc import Callable, Iterable

import torch
from torch.utils.data import DataLoader

from longdoc.export import Loaded
from longdoc.tasks.base import Task
from longdoc.training.module import ClassifierModule
from longdoc.training.scores import Batch, Scores, TokenScores

Follow = Callable[[DataLoader], Iterable[Batch]]  # hands batches on, and may tell of them


def quiet() -> None:
    """Silences what Lightning says of devices and workers; its errors, its profiler and ours stay."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    logging.getLogger("pytorch_lightning.profilers.profiler").setLevel(logging.INFO)
    for text in (".*does not have many workers.*", ".*exists and is not empty.*", ".*isinstance.treespec.*"):
        warnings.filterwarnings("ignore", message=text)


def default_device() -> str:
    """``cuda`` where there is one, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def evaluate(
    loaded: Loaded, task: Task, split: str, device: str | None = None, follow: Follow = iter
) -> Scores | TokenScores:
    """Every document of ``split`` by fixed windows, in float32 and not compiled, so that anyone gets the same."""
    place = torch.device(device or default_device())
    module = ClassifierModule(
        loaded.model, len(task.classes), multi_label=task.multi_label, thresholds=loaded.thresholds
    )
    module.to(place).eval()
    with torch.inference_mode():
        for number, batch in enumerate(follow(task.eval_dataloader(split))):
            module.test_step(module.transfer_batch_to_device(batch, place, 0), number)
    return module.scores
