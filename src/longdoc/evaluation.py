"""Scoring a checkpoint on a split: one way, for train.py and the scripts alike."""

import logging
import warnings
from dataclasses import dataclass

import pytorch_lightning as pl
from torch import Tensor

from longdoc.export import Loaded
from longdoc.tasks.base import Task
from longdoc.training.module import ClassifierModule


def quiet() -> None:
    """Silences what Lightning says of devices and workers; its errors and ours stay."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    for text in (".*does not have many workers.*", ".*exists and is not empty.*", ".*isinstance.treespec.*"):
        warnings.filterwarnings("ignore", message=text)


@dataclass
class Evaluation:
    """Metrics of a split, and for each of its documents row, label and log-probabilities."""

    metrics: dict[str, float]
    rows: Tensor
    labels: Tensor
    log_probabilities: Tensor


def evaluate(loaded: Loaded, task: Task, split: str) -> Evaluation:
    """Every document of ``split`` by fixed windows, in float32 and not compiled, so that anyone gets the same."""
    module = ClassifierModule(loaded.model, len(task.classes))
    trainer = pl.Trainer(
        accelerator="auto", devices=1, precision="32-true", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.test(module, dataloaders=task.eval_dataloader(split), verbose=False)
    return Evaluation(module.scores.metrics(), *module.scores.documents())
