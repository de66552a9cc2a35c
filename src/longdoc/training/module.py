"""The LightningModule around a classifier."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from longdoc.feature_maps import FeatureMap
from longdoc.models import Classifier, whole
from longdoc.training.budget import Budget
from longdoc.training.schedule import Schedule
from longdoc.training.scores import Batch, MultiLabelScores, Scores, TokenScores, label_weights


def step_seed(seed: int, step: int) -> int:
    """The seed of torch's generator at a step: dropout is the same in a run that was killed and resumed."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{step}".encode()).digest()[:8]) >> 1


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices only: not for biases and norms, which are vectors."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


class ClassifierModule(pl.LightningModule):
    """Trains and scores a classifier.

    ``payload`` is the plain data that goes into each checkpoint under "longdoc": all that is needed, beside the
    weights, to rebuild the model and the task. Without an optimizer it can only evaluate.

    multi_label: whether a document has any number of classes, labels (B, C) of 0 and 1, instead of one, (B,).
    class_weights: (C,), of the training loss alone: what a label of each class counts; of multi-label, what a document
        that has the class counts against one that has not. Losses of evaluation are unweighted.
    thresholds: (C,), of multi-label: the probability from which on a document has a class; None is 0.5.
    """

    class_weights: Tensor | None

    def __init__(
        self,
        model: Classifier,
        classes: int,
        seed: int = 0,
        optimizer: Callable[..., torch.optim.Optimizer] | None = None,
        schedule: Schedule | None = None,
        budget: Budget | None = None,
        payload: dict[str, Any] | None = None,
        multi_label: bool = False,
        class_weights: Sequence[float] | NDArray[Any] | None = None,
        thresholds: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.classes = classes
        self.seed = seed
        self.make_optimizer, self.schedule, self.budget, self.payload = optimizer, schedule, budget, payload
        self.multi_label, self.thresholds = multi_label, thresholds
        weights = None if class_weights is None else torch.as_tensor(class_weights, dtype=torch.float32)
        self.register_buffer("class_weights", weights, persistent=False)
        self.scores = self._scores()
        self._stepped = 0

    def _scores(self) -> Scores | TokenScores:
        if self.multi_label:
            return MultiLabelScores(self.classes, self.thresholds)
        return TokenScores(self.classes) if self.model.pooling.per_token else Scores(self.classes)

    def training_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """The mean over the labelled documents or tokens of a batch, of multi-label also over the classes.

        It is divided by their number, not by the sum of class weights as torch does: in a batch of one long document
        that would take the weight out again.
        """
        label, weights, logits = batch["label"], label_weights(batch), logits.float()
        if self.multi_label:
            losses = F.binary_cross_entropy_with_logits(logits, label, pos_weight=self.class_weights, reduction="none")
        else:
            losses = F.cross_entropy(logits.flatten(0, -2), label.flatten(), self.class_weights, reduction="none")
        return (losses.flatten() * weights.flatten()).sum() / weights.sum().clamp(min=1)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        torch.manual_seed(step_seed(self.seed, batch_idx))
        # Lightning counts the steps it logs apart from those it has taken; after a resume the two may differ.
        self.trainer.fit_loop.epoch_loop._batches_that_stepped = self.global_step

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        logits = self.model(batch["ids"], batch["mask"])
        loss = self.training_loss(logits, batch)
        if not loss.isfinite():  # on a GPU this also waits for the step, which makes its time true
            raise FloatingPointError(
                f"the training loss is {loss.item()} at step {self.global_step}; the checkpoints stay. "
                f"A lower optimizer.lr or trainer.precision=32-true may help"
            )
        self.log("train/loss", loss, batch_size=len(logits))
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        if (self.global_step + 1) % self.trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]
            gradients = [p.grad for p in self.parameters() if p.grad is not None]
            self.log("train/gradient_norm", nn.utils.get_total_norm(gradients))

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        if self.global_step != self._stepped:
            self._stepped = self.global_step
            for module in self.modules():
                if isinstance(module, FeatureMap):
                    module.on_optimizer_step(self.global_step)
        assert self.budget is not None
        self.log("train/lr", self.trainer.optimizers[0].param_groups[0]["lr"])
        self.log("train/epoch", self.global_step / self.budget.epoch_steps)
        self.log("train/seconds", self.budget.time())
        self.log("train/tokens", float(self.budget.tokens))

    def on_validation_epoch_start(self) -> None:
        self.scores = self._scores()

    def on_test_epoch_start(self) -> None:
        self.scores = self._scores()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        # Not the compiled call: evaluation would compile every shape a second time.
        self.scores.update(whole.logits(self.model, batch["ids"], batch["mask"]), batch)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        self.validation_step(batch, batch_idx)

    def on_validation_epoch_end(self) -> None:
        self.log_dict({f"val/{name}": value for name, value in self.scores.metrics().items()})

    def configure_optimizers(self) -> Any:
        assert self.make_optimizer is not None
        assert self.schedule is not None
        assert self.budget is not None
        schedule, budget = self.schedule, self.budget
        decay = getattr(self.make_optimizer, "keywords", {}).get("weight_decay", 0.0)
        optimizer = self.make_optimizer(parameter_groups(self.model, decay))
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: schedule(step, budget.progress(step)))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["longdoc"] = self.payload

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._stepped = checkpoint["global_step"]
