"""From a config to a model and a task, and from a checkpoint back to both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from longdoc.build import TRUSTED, allow, build
from longdoc.models import Classifier
from longdoc.tasks.base import Task

if TYPE_CHECKING:
    from longdoc.prediction import Prediction

VERSION = 1
PREFIX = "model."  # of the weights' names in a LightningModule's state


def build_classifier(
    config: Mapping[str, Any], vocab_size: int, classes: int, trusted: tuple[str, ...] = TRUSTED
) -> Classifier:
    """The model that a plain, resolved config describes."""
    encoder = build(config["encoder"], trusted=trusted)(vocab_size=vocab_size, max_length=config["task"]["max_length"])
    # Older checkpoints say nothing of heads and pairs.
    return Classifier(encoder, config["pooling"], classes, config.get("head", "linear"), config.get("interaction"))


def check_labels(task: Task, pooling: str) -> None:
    """Raises ValueError unless labels of tokens meet ``pooling=none``, and labels of documents another one."""
    if task.token_labels != (pooling == "none"):
        labelled, right = ("token", "none") if task.token_labels else ("document", "mean or another pool")
        raise ValueError(f"pooling={pooling}: {task.name} has a label for each {labelled}, which needs pooling={right}")


def check_pairs(task: Task, interaction: str | None) -> None:
    """Raises ValueError unless pairs of documents meet an ``interaction``, and single documents none."""
    if task.pairs != (interaction is not None):
        found, right = ("pairs of documents", "full or concat") if task.pairs else ("single documents", "null")
        said = "null" if interaction is None else interaction
        raise ValueError(f"interaction={said}: {task.name} has {found}, which need interaction={right}")


def check_causal(task: Task, model: Classifier) -> None:
    """Raises ValueError if the model sees labels that later tokens give away, or never sees more than a first token."""
    if task.causal_only and not model.encoder.causal:
        raise ValueError(f"attention.causal=false: {task.name}'s labels are its next tokens; it needs causal=true")
    if model.encoder.causal and model.pooling.kinds == ["first"]:
        raise ValueError(
            "pooling=first: with attention.causal=true the first token reads itself alone; use last or mean"
        )


@dataclass
class Loaded:
    """What a checkpoint holds: the model in evaluation mode, the run's plain config, and the task's state.

    trusted: the packages whose classes are built from it.
    multi_label: whether a document has any number of classes. thresholds: then the probability from which on it has
        one, for each class; None is 0.5.
    """

    model: Classifier
    config: dict[str, Any]
    task_state: dict[str, Any]
    step: int
    trusted: tuple[str, ...] = ("longdoc",)
    multi_label: bool = False
    thresholds: list[float] | None = None

    def predict(self, texts: Iterable[str], **options: Any) -> "list[Prediction]":
        """Classifies texts; see ``longdoc.prediction.predict``, whose ``options`` these are."""
        from longdoc.prediction import predict  # which evaluates, as training does, and so knows this module

        return predict(self, [texts] if isinstance(texts, str) else texts, **options)

    def task(self, data: str | None = None, max_length: int | None = None) -> Task:
        """The run's task with the checkpoint's labels and encoding.

        data: read in place of the run's. max_length: tokens that a model sees at once, in place of the run's.
        """
        config = dict(self.config["task"])
        if max_length is not None:
            config["max_length"] = max_length
            if config["batch_tokens"] is not None:  # a batch is at least one row
                config["batch_tokens"] = max(max_length, config["batch_tokens"])
        if data is not None and "path" in config:
            config |= {"path": data, "test": data}  # where that is a single table, it is all to be scored
        elif data is not None:
            if "data" not in config:
                raise ValueError(
                    f"the task {self.config['choices']['task']} makes its own data and reads none from {data}"
                )
            config["data"] = data
            if "source" in config:  # whatever the run was trained on
                config["source"] = "local"
        task: Task = build(config, self.trusted)
        task.state, task.multi_label = self.task_state, self.multi_label
        return task


def load(path: str | Path, trusted: str | Iterable[str] = ()) -> Loaded:
    """Rebuilds a classifier from a checkpoint alone: float32, not compiled, on the CPU.

    trusted: your own modules, by their top-level names, whose classes may be built beside longdoc's; what the
    checkpoint itself says of trust is not believed.

    Raises ValueError with one sentence if the file is not a checkpoint of longdoc, or needs a module not trusted.
    """
    path, packages = Path(path), ("longdoc", *allow(trusted))
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; a run's checkpoints are in its folder's checkpoints/")
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        payload = checkpoint["longdoc"]
    except Exception as error:
        raise ValueError(f"{path} is not a checkpoint of longdoc ({type(error).__name__}: {error})") from error
    if payload["version"] != VERSION:
        raise ValueError(f"{path} is a checkpoint of version {payload['version']}; this longdoc reads {VERSION}")
    state = payload["task"]
    model = build_classifier(payload["config"], state["vocab_size"], len(state["classes"]), packages)
    weights = {name.removeprefix(PREFIX): weight for name, weight in checkpoint["state_dict"].items()}
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{path}: the weights do not fit the config beside them ({error})") from error
    model.temperature = payload.get("temperature", 1.0)
    return Loaded(
        model.eval(), payload["config"], state, checkpoint["global_step"], packages,
        payload.get("multi_label", False), payload.get("thresholds"),  # older ones say nothing of any
    )  # fmt: skip
