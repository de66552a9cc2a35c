"""The LightningModule around a classifier."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchmetrics.functional.classification import multiclass_accuracy, multiclass_f1_score

from longdoc.feature_maps import FeatureMap
from longdoc.models import Classifier
from longdoc.training.budget import Budget
from longdoc.training.schedule import Schedule

Batch = dict[str, Any]


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


def label_weights(batch: Batch) -> Tensor:
    """What each label counts in a loss, in the labels' shape (B,) or (B, N): 0 for missing rows and labels."""
    label = batch["label"]
    return batch["weight"].reshape(-1, *[1] * (label.ndim - 1)) * (label >= 0)


class Scores:
    """Averages the log-probabilities of a document's windows, then scores documents."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.parts: list[tuple[Tensor, Tensor, Tensor]] = []

    def update(self, logits: Tensor, batch: Batch) -> None:
        real = batch["weight"] > 0
        log_probabilities = F.log_softmax(logits[real].cpu().double(), -1)
        self.parts.append((batch["index"][real].cpu(), batch["label"][real].cpu(), log_probabilities))

    @property
    def rows(self) -> int:
        """The number of documents seen."""
        return len(torch.cat([index for index, _, _ in self.parts]).unique())

    def documents(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows (D,), labels (D,) and normalised log-probabilities (D, C) of the documents seen, in row order."""
        index, label, log_probabilities = (torch.cat(part) for part in zip(*self.parts, strict=True))
        rows, inverse = index.unique(return_inverse=True)
        total = torch.zeros(len(rows), self.classes, dtype=torch.float64)
        total.index_add_(0, inverse, log_probabilities)
        mean = total / inverse.bincount()[:, None]
        labels = torch.empty(len(rows), dtype=torch.long)
        labels[inverse] = label
        return rows, labels, mean.log_softmax(-1)

    def metrics(self) -> dict[str, float]:
        """loss (nats a document), accuracy (micro) and f1_macro."""
        _, labels, log_probabilities = self.documents()
        predicted = log_probabilities.argmax(-1)
        return {
            "loss": F.nll_loss(log_probabilities, labels).item(),
            "accuracy": multiclass_accuracy(predicted, labels, self.classes, average="micro").item(),
            "f1_macro": multiclass_f1_score(predicted, labels, self.classes, average="macro").item(),
        }


class TokenScores:
    """Scores labelled tokens by sums alone: log-probabilities of a large vocabulary would fill the memory."""

    def __init__(self, classes: int) -> None:
        self.loss = torch.zeros((), dtype=torch.float64)
        self.right, self.predicted, self.labelled = torch.zeros(3, classes, dtype=torch.long)
        self.seen: set[int] = set()

    @property
    def rows(self) -> int:
        """The number of documents seen."""
        return len(self.seen)

    def update(self, logits: Tensor, batch: Batch) -> None:
        """logits (B, N, C) of a batch with labels (B, N)."""
        known = label_weights(batch) > 0
        logits, label = logits[known].float(), batch["label"][known]
        predicted = logits.argmax(-1)
        self.seen.update(batch["index"][batch["weight"] > 0].tolist())
        self.loss += F.cross_entropy(logits, label, reduction="none").double().sum().cpu()
        classes = len(self.right)
        for counts, of in (
            (self.right, label[predicted == label]), (self.predicted, predicted), (self.labelled, label),
        ):  # fmt: skip
            counts += torch.bincount(of.cpu(), minlength=classes)

    def metrics(self) -> dict[str, float]:
        """loss (nats) and accuracy of a labelled token, and f1_macro over the classes there or predicted."""
        tokens, found = self.labelled.sum(), self.predicted + self.labelled
        f1 = 2 * self.right.double() / found
        return {
            "loss": (self.loss / tokens).item(),
            "accuracy": (self.right.sum().double() / tokens).item(),
            "f1_macro": f1[found > 0].mean().item(),
        }


class ClassifierModule(pl.LightningModule):
    """Trains and scores a classifier.

    ``payload`` is the plain data that goes into each checkpoint under "longdoc": all that is needed, beside the
    weights, to rebuild the model and the task. Without an optimizer it can only evaluate.
    """

    def __init__(
        self,
        model: Classifier,
        classes: int,
        seed: int = 0,
        optimizer: Callable[..., torch.optim.Optimizer] | None = None,
        schedule: Schedule | None = None,
        budget: Budget | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.classes = classes
        self.seed = seed
        self.make_optimizer, self.schedule, self.budget, self.payload = optimizer, schedule, budget, payload
        self.scores = self._scores()
        self._stepped = 0

    def _scores(self) -> Scores | TokenScores:
        return TokenScores(self.classes) if self.model.pooling.per_token else Scores(self.classes)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        torch.manual_seed(step_seed(self.seed, batch_idx))
        # Lightning counts the steps it logs apart from those it has taken; after a resume the two may differ.
        self.trainer.fit_loop.epoch_loop._batches_that_stepped = self.global_step

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        logits = self.model(batch["ids"], batch["mask"])
        weights = label_weights(batch).flatten()
        losses = F.cross_entropy(logits.float().flatten(0, -2), batch["label"].flatten(), reduction="none")
        loss = (losses * weights).sum() / weights.sum().clamp(min=1)
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

    def on_validation_epoch_start(self) -> None:
        self.scores = self._scores()

    def on_test_epoch_start(self) -> None:
        self.scores = self._scores()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        # forward() itself, not the compiled call: evaluation would compile every shape a second time.
        self.scores.update(self.model.forward(batch["ids"], batch["mask"]), batch)

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
