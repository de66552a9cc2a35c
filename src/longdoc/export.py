"""From a config to a model and a task, and from a checkpoint back to both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub import ModelHubMixin
from torch import Tensor

from longdoc import __version__
from longdoc.build import TRUSTED, allow, build
from longdoc.feature_maps import FeatureMap
from longdoc.models import Classifier
from longdoc.models.positions import LearnedPositions
from longdoc.results.record import read_record
from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.say import say

if TYPE_CHECKING:
    from longdoc.prediction import Document, Prediction

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


def check_lengths(task: Task, model: Classifier) -> None:
    """Raises ValueError if a document that is read whole is longer than the model has positions for."""
    if task.truncation == "none":
        longest, split = max((int(task.documents(split).lengths.max(initial=0)), split) for split in SPLITS)
        for module in model.modules():
            if isinstance(module, LearnedPositions | FeatureMap):
                try:
                    module.require(longest)
                except ValueError as error:
                    raise ValueError(f"task.truncation=none reads whole documents, {split} split: {error}") from error


@dataclass
class Loaded(ModelHubMixin):
    """A trained classifier: the model in evaluation mode, the run's plain config, and the task's state.

    trusted: the packages whose classes are built from it.
    multi_label: whether a document has any number of classes. thresholds: then the probability from which on it has
        one, for each class; None is 0.5.
    metrics: what its run found, by name. wandb_id: what W&B knows the run by; None if it does not.
    dealt: of a fold the digest of the pool that it was dealt from; empty if that is not known.
    """

    model: Classifier
    config: dict[str, Any]
    task_state: dict[str, Any]
    step: int
    trusted: tuple[str, ...] = ("longdoc",)
    multi_label: bool = False
    thresholds: list[float] | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    wandb_id: str | None = None
    dealt: str = ""

    def __new__(cls, *_: Any, **__: Any) -> "Loaded":
        return object.__new__(cls)  # the mixin's would take the arguments for a config of its own

    def predict(self, texts: "str | Iterable[Document]", **options: Any) -> "list[Prediction]":
        """Classifies texts, or pairs; see ``longdoc.prediction.predict``, whose ``options`` these are."""
        from longdoc.prediction import predict  # which evaluates, as training does, and so knows this module

        return predict(self, [texts] if isinstance(texts, str) else texts, **options)

    def save(self, folder: str | Path) -> None:
        """Writes config.json, model.safetensors and a model card, README.md, from which alone ``load`` builds it.

        Of where the training's data lay they keep the last names.
        """
        from longdoc.folder import model_card, portable, write_folder

        payload = {
            "version": VERSION, "config": portable(self.config), "task": self.task_state, "step": self.step,
            "multi_label": self.multi_label, "thresholds": self.thresholds, "temperature": self.model.temperature,
            "metrics": self.metrics, "dealt": self.dealt,
        }  # fmt: skip
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        card = model_card(payload, parameters, self._reads_texts(), __version__)
        write_folder(Path(folder), payload, self.model.state_dict(), card)

    def _reads_texts(self) -> bool:
        try:
            return bool(self.task().tokenizer)
        except TypeError:
            return False

    def _save_pretrained(self, save_directory: Path) -> None:
        self.save(save_directory)

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, pretrained_model_name_or_path: str | Path, trusted: str | Iterable[str] = (), revision: str | None = None
    ) -> "Loaded":
        """``load``, by the name that the hub's libraries give it."""
        return load(pretrained_model_name_or_path, trusted, revision)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Saves to the hub, under ``repo_id``; ``options`` are those of ``huggingface_hub.ModelHubMixin.push_to_hub``.

        Returns the commit's address; raises OSError, in a sentence, if the hub does not take it.
        """
        try:
            return super().push_to_hub(repo_id, **options)
        except Exception as error:  # of the network and the hub, of every kind
            why = " ".join(str(error).split())
            raise OSError(f"{repo_id} was not pushed ({why}); it needs the network, and `hf auth login`") from error

    def task(self, data: str | None = None, max_length: int | None = None, truncation: str | None = None) -> Task:
        """The run's task with the checkpoint's labels and encoding.

        data: read in place of the run's. max_length: tokens that a model sees at once, and truncation: what it sees of
        longer documents (``none``: whole ones at once), both in place of the run's. A fold has its own test split of
        the documents that it was dealt from; others are not dealt out, and have the splits that they have.
        """
        config = dict(self.config["task"])
        if max_length is not None or truncation is not None:  # as many tokens a batch as before, at least one row's
            tokens = config.get("batch_tokens") or config["batch_rows"] * config["max_length"]
            row = (max_length or config["max_length"]) * (2 if self.config.get("interaction") else 1)
            config |= {"batch_rows": None, "batch_tokens": tokens if truncation == "none" else max(tokens, row)}
        if max_length is not None:
            config["max_length"] = max_length
        if truncation is not None:
            config["truncation"] = truncation
        if data is not None and "path" in config:
            if data != config["path"]:  # another set has other configurations and commits
                config |= {"config": None, "revision": None}
            config["path"] = data
        elif data is not None:
            if "data" not in config:
                raise ValueError(
                    f"the task {self.config['choices']['task']} makes its own data and reads none from {data}"
                )
            config["data"] = data
            if "source" in config:  # whatever the run was trained on
                config["source"] = "local"
        if data is not None and config.get("fold") is not None:
            task = self._built(config)
            if _has_pool(task, self.dealt):
                return task
            say(f"nothing says that task.fold={config['fold']} was dealt from {data}: all of its split is scored")
            config |= {"folds": None, "fold": None}
        if data is not None and "path" in config:
            config["test"] = data  # where that is a single table, it is all to be scored
        return self._built(config)

    def _built(self, config: Mapping[str, Any]) -> Task:
        task: Task = build(config, self.trusted)
        task.state, task.multi_label, task.dealt = self.task_state, self.multi_label, self.dealt
        return task


def _has_pool(task: Task, digest: str) -> bool:
    try:
        return task.pool.digest == digest
    except (OSError, ValueError):  # without a training split, say, or with other classes
        return False


def load(name: str | Path, trusted: str | Iterable[str] = (), revision: str | None = None) -> Loaded:
    """Rebuilds a classifier from a checkpoint alone: float32, not compiled, on the CPU.

    name: a checkpoint's file, a folder that ``Loaded.save`` wrote, or such a folder's id on the Hugging Face hub.
    trusted: your own modules, by their top-level names, whose classes may be built beside longdoc's; what the
    checkpoint itself says of trust is not believed.
    revision: of the hub: a branch, tag or commit.

    Raises ValueError with one sentence if the file is not a checkpoint of longdoc, or needs a module not trusted.
    """
    path, packages = Path(name), ("longdoc", *allow(trusted))
    if path.is_file():
        payload, weights = _read_checkpoint(path)
        metrics = _metrics(path)
    else:
        from longdoc.folder import HUB_ID, download, read_folder

        if not path.exists() and (path.suffix == ".ckpt" or not HUB_ID.fullmatch(str(name))):
            raise FileNotFoundError(f"{path} is not there; a run's checkpoints are in its folder's checkpoints/")
        payload, weights = read_folder(path if path.is_dir() else download(str(name), revision))
        metrics = payload.get("metrics", {})
    if payload["version"] != VERSION:
        raise ValueError(f"{path} is a checkpoint of version {payload['version']}; this longdoc reads {VERSION}")
    state = payload["task"]
    model = build_classifier(payload["config"], state["vocab_size"], len(state["classes"]), packages)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{path}: the weights do not fit the config beside them ({error})") from error
    model.temperature = payload.get("temperature", 1.0)
    return Loaded(
        model.eval(), payload["config"], state, payload["step"], packages,
        payload.get("multi_label", False), payload.get("thresholds"), metrics,  # older ones say nothing of any
        payload.get("wandb_id"), payload.get("dealt") or "",
    )  # fmt: skip


def _read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What it says of itself, and the model's weights."""
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        payload = checkpoint["longdoc"] | {"step": checkpoint["global_step"]}
    except Exception as error:
        said = " ".join(str(error).split()).partition(". ")[0]  # torch goes on to advise what would run its code
        raise ValueError(f"{path} is not a checkpoint of longdoc ({type(error).__name__}: {said})") from error
    return payload, {name.removeprefix(PREFIX): weight for name, weight in checkpoint["state_dict"].items()}


def _metrics(path: Path) -> dict[str, float]:
    """What the run found of this checkpoint, if it lies where it was tested."""
    try:
        record = read_record(path.parents[1])
    except (OSError, ValueError, IndexError):
        return {}
    tested = record.get("selection", {}).get("checkpoint") == path.relative_to(path.parents[1]).as_posix()
    return record["metrics"] if tested and record["status"] == "finished" else {}
