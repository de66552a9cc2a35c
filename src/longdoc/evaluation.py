"""Scoring a checkpoint on a split: one way, for train.py and the scripts alike."""

import logging
import warnings

import pytorch_lightning as pl
import torch

from longdoc.export import Loaded
from longdoc.tasks.base import Task
from longdoc.training.module import ClassifierModule
from longdoc.training.scores import Scores, TokenScores


def quiet() -> None:
    """Silences what Lightning says of devices and workers; its errors, its profiler and ours stay."""
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    logging.getLogger("pytorch_lightning.profilers.profiler").setLevel(logging.INFO)
    for text in (".*does not have many workers.*", ".*exists and is not empty.*", ".*isinstance.treespec.*"):
        warnings.filterwarnings("ignore", message=text)


def default_device() -> str:
    """``cuda`` where there is one, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def evaluate(loaded: Loaded, task: Task, split: str, device: str | None = None) -> Scores | TokenScores:
    """Every document of ``split`` by fixed windows, in float32 and not compiled, so that anyone gets the same."""
    module = ClassifierModule(
        loaded.model, len(task.classes), multi_label=task.multi_label, thresholds=loaded.thresholds
    )
    trainer = pl.Trainer(
        accelerator=device or default_device(), devices=1, precision="32-true", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.test(module, dataloaders=task.eval_dataloader(split), verbose=False)
    return module.scores
