"""When a run ends, and how far it has come."""

import math
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytorch_lightning as pl


def seconds(limit: str | Mapping[str, float] | None) -> float | None:
    """Seconds of a limit in Lightning's notations: "DD:HH:MM:SS" or {hours: 1, minutes: 30}."""
    if limit is None:
        return None
    if not isinstance(limit, Mapping):
        parts = str(limit).split(":")
        if len(parts) != 4 or not all(part.isdigit() for part in parts):
            raise ValueError(f"trainer.max_time={limit} must read DD:HH:MM:SS, such as 00:00:10:00")
        limit = dict(zip(("days", "hours", "minutes", "seconds"), map(int, parts), strict=True))
    total = timedelta(**limit).total_seconds()
    if total <= 0:
        raise ValueError(f"trainer.max_time={limit} must be longer than nothing")
    return total


LIMITS = ("max_time", "max_steps", "max_epochs", "max_tokens")


class Budget(pl.Callback):
    """Ends the run at the first of max_time, max_steps, max_epochs and max_tokens; ``progress`` is the largest share
    used up.

    Time is counted from the first training step (compilation comes before it), validation included, and tokens are
    real ones, padding not counted, over all parts of a resumed run. At the end it asks Lightning to stop in
    ``on_train_batch_end``, at which Lightning validates this very step first; its own max_steps would skip that.
    """

    def __init__(
        self,
        max_time: float | None,
        max_steps: int | None,
        max_epochs: float | None,
        epoch_steps: float,
        max_tokens: float | None = None,
    ) -> None:
        for name, limit in {"max_steps": max_steps, "max_epochs": max_epochs, "max_tokens": max_tokens}.items():
            if limit is not None and not (isinstance(limit, int | float) and limit > 0):
                raise ValueError(f"trainer.{name}={limit} must be a number greater than 0, or null for no limit")
        if max_time is None and max_steps is None and max_epochs is None and max_tokens is None:
            raise ValueError(f"a run needs one of {', '.join(f'trainer.{name}' for name in LIMITS)}")
        if max_epochs is not None and math.isinf(epoch_steps):
            raise ValueError(
                f"trainer.max_epochs={max_epochs}: how many steps an epoch of task.streaming=true takes is not known "
                f"before; trainer.max_steps, trainer.max_tokens or trainer.max_time"
            )
        self.max_time, self.max_steps, self.max_epochs, self.max_tokens = max_time, max_steps, max_epochs, max_tokens
        self.epoch_steps = epoch_steps
        self.tokens = 0
        self.elapsed = 0.0
        self._since: float | None = None

    def time(self) -> float:
        """Seconds of training so far."""
        return self.elapsed + (0.0 if self._since is None else time.monotonic() - self._since)

    def epochs(self, step: int) -> float | None:
        """How many epochs so many optimizer steps are; None for a stream, whose end is not known."""
        return None if math.isinf(self.epoch_steps) else step / self.epoch_steps

    def progress(self, step: int) -> float:
        """The share of the budget used after ``step`` optimizer steps, 1 or more at the end."""
        shares = [0.0]
        if self.max_time is not None:
            shares.append(self.time() / self.max_time)
        if self.max_steps is not None:
            shares.append(step / self.max_steps)
        if self.max_epochs is not None:
            # The step that completes the last epoch counts, whatever rounding says.
            shares.append((step + 1e-9) / (self.max_epochs * self.epoch_steps))
        if self.max_tokens is not None:
            shares.append(self.tokens / self.max_tokens)
        return max(shares)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._since = time.monotonic()
        if self.progress(trainer.global_step) >= 1:  # a finished run was resumed: not a step more
            trainer.should_stop = True

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self.tokens += int(batch["tokens"])  # here, as the learning rate is set before the batch ends

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if self.progress(trainer.global_step) >= 1:
            trainer.should_stop = True

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # In the row of the validation, too.
        pl_module.log("train/tokens", float(self.tokens))
        pl_module.log("train/seconds", self.time())

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.elapsed, self._since = self.time(), None

    def state_dict(self) -> dict[str, Any]:
        return {"elapsed": self.time(), "tokens": self.tokens}

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        states = checkpoint["callbacks"]
        if "tokens" in states.get("Throughput", {}):  # of older runs, that one counted them
            states[self.state_key].setdefault("tokens", states["Throughput"]["tokens"])

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.elapsed, self.tokens = state_dict["elapsed"], state_dict["tokens"]
