"""Throughput, the progress line, checkpoints and orderly interruption."""

import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.utilities.exceptions import SIGTERMException
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from torch import nn

from longdoc.speed import ProcessMemory
from longdoc.training.acceleration import compile_ahead
from longdoc.training.budget import Budget

WARMUP_STEPS = 5


class Compile(pl.Callback):
    """Compiles the model for all training shapes before the first step, outside the budget."""

    def __init__(self, shapes: list[tuple[int, int, bool]], console: Console) -> None:
        self.shapes, self.console = shapes, console
        self.seconds = 0.0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        model = pl_module.model
        assert isinstance(model, nn.Module)
        model.train()
        with self.console.status(f"compiling {len(self.shapes)} shapes"):
            self.seconds = compile_ahead(model, self.shapes, pl_module.device, trainer.precision_plugin.forward_context)
        self.console.print(f"compiled {len(self.shapes)} shapes in {self.seconds:.0f} s, not counted in the budget")


class Throughput(pl.Callback):
    """Real tokens (padding not counted) and seconds of training steps after a short warm-up, the seconds of validation,
    and the process's peak memory, libraries included, from the first step on."""

    def __init__(self, memory: ProcessMemory) -> None:
        self.memory = memory
        self._timed_tokens, self._timed_seconds = 0, 0.0
        self._steps, self._start = 0, 0.0
        self.validation_seconds = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.memory.reset_peak()  # compilation took more

    def on_train_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        self._start = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._steps += 1
        if self._steps > WARMUP_STEPS:
            self._timed_tokens += int(batch["tokens"])
            self._timed_seconds += time.perf_counter() - self._start
        if self.tokens_per_second is not None:
            pl_module.log("train/tokens_per_second", self.tokens_per_second)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = time.perf_counter()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.validation_seconds += time.perf_counter() - self._start

    @property
    def tokens_per_second(self) -> float | None:
        """Real tokens a second of training steps; None before the first timed one."""
        return self._timed_tokens / self._timed_seconds if self._timed_seconds else None

    def state_dict(self) -> dict[str, Any]:
        return {
            "timed": [self._timed_tokens, self._timed_seconds],
            "validation_seconds": self.validation_seconds,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._timed_tokens, self._timed_seconds = state_dict["timed"]
        self.validation_seconds = state_dict["validation_seconds"]


class RunProgress(pl.Callback):
    """One bar for the whole run on a terminal; elsewhere one line a validation."""

    def __init__(self, budget: Budget, throughput: Throughput, console: Console) -> None:
        self.budget, self.throughput, self.console = budget, throughput, console
        self.bar: Progress | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self.console.is_terminal:
            columns = (TextColumn("step {task.fields[step]}"), BarColumn(None), TaskProgressColumn(),
                       TextColumn("{task.fields[text]}"))  # fmt: skip
            self.bar = Progress(*columns, console=self.console)
            self.bar.add_task("train", total=1.0, step=trainer.global_step, text="")
            self.bar.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=min(1.0, self.budget.progress(trainer.global_step)),
                            step=trainer.global_step, text=self._text(trainer))  # fmt: skip

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self.bar is None and not trainer.sanity_checking:
            share = min(1.0, self.budget.progress(trainer.global_step))
            self.console.print(f"step {trainer.global_step:>6} {share:>4.0%}  {self._text(trainer)}")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._stop()

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        self._stop()

    def _stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _text(self, trainer: pl.Trainer) -> str:
        metrics = trainer.callback_metrics
        parts = []
        for name, label, form in (
            ("train/loss", "loss", ".3f"), ("val/loss", "val loss", ".3f"), ("val/accuracy", "val acc", ".3f"),
        ):  # fmt: skip
            if name in metrics:
                parts.append(f"{label} {float(metrics[name]):{form}}")
        if self.throughput.tokens_per_second is not None:
            parts.append(f"{self.throughput.tokens_per_second / 1000:,.0f}k tok/s")
        share, spent = self.budget.progress(trainer.global_step), self.budget.time()
        if share > 0:
            left = max(0.0, spent / share - spent)
            parts.append(f"{int(left) // 60}:{int(left) % 60:02} left")
        return "  ".join(parts)


def checkpoints(folder: Path) -> tuple[ModelCheckpoint, ModelCheckpoint]:
    """best.ckpt by val/loss and last.ckpt, both written at validations; two, since one that has a monitor writes
    its ``last`` only when the monitor improves."""
    common: dict[str, Any] = {
        "dirpath": folder, "save_top_k": 1, "enable_version_counter": False, "save_on_train_epoch_end": False,
    }  # fmt: skip
    return (
        ModelCheckpoint(filename="best", monitor="val/loss", mode="min", **common),
        ModelCheckpoint(filename="last", monitor=None, **common),
    )


class Interrupt(pl.Callback):
    """On SIGTERM or Ctrl-C finishes the step, writes last.ckpt and ends with the status 128 + signal.

    Lightning alone ends with status 0 after a SIGTERM. A validation that is due, or under way, is finished first, so
    that a resumed run validates at the same steps as one that was never stopped. A second signal ends at once.

    every: batches between validations.
    """

    def __init__(self, newest: ModelCheckpoint, last: Path, every: int) -> None:
        self.newest, self.last, self.every = newest, last, every
        self.signum: int | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._note)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if self.signum is not None:
            raise SystemExit(128 + signum)
        self.signum = signum

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        batches = batch_idx + 1
        stepped = batches % trainer.accumulate_grad_batches == 0  # half a group of gradients cannot be saved
        if self.signum is not None and stepped and batches % self.every and not trainer.should_stop:
            trainer._signal_connector.received_sigterm = True

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self.signum is not None and not trainer.sanity_checking:
            trainer._signal_connector.received_sigterm = True

    def on_exception(self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException) -> None:
        if isinstance(exception, SIGTERMException) and self.signum is not None:
            if trainer.global_step != self.newest._last_global_step_saved:
                trainer.save_checkpoint(self.last)
            exception.code = 128 + self.signum
