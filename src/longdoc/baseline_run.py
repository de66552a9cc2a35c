"""A baseline in place of an encoder: the same task, splits, metrics and record."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.baselines import Baseline
from longdoc.calibration import best_thresholds
from longdoc.results.lengths import by_length
from longdoc.results.metrics import per_class
from longdoc.results.record import machine
from longdoc.speed import ProcessMemory
from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.cache import Documents
from longdoc.training.scores import MultiLabelScores, Scores

READ = ("baseline", "task", "protocol", "seed", "resume", "trust", "choices")
CHOSEN_BY = ("baseline", "task", "protocol", "seed", "trust", "experiment", "debug", "sweep")


def baseline_config(config: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """What a baseline reads of a run's config; raises ValueError for what the command line asks of an encoder."""
    name = config["choices"]["baseline"]
    for override in overrides:
        group = override.lstrip("+~").partition("=")[0].partition(".")[0].partition("@")[0]
        if group not in CHOSEN_BY:
            raise ValueError(f"{override}: baseline={name} trains no encoder and does not read {group}; leave it out")
    return {key: config[key] for key in READ if key in config}


class Texts:
    """The texts of a split's documents, each made when it is asked for; of each the first ``length`` tokens.

    lengths, read: (D,), the tokens of each and how many of them are read.
    """

    def __init__(self, task: Task, split: str, length: int | None) -> None:
        self.task, self.length = task, length
        self.documents: Documents = task.documents(split)
        self.rows = len(self.documents)
        if split == "train" and task.train_rows is not None:
            self.rows = min(self.rows, task.train_rows)
        self.lengths = self.documents.sides[: self.rows].sum(1)
        self.read = self.lengths if length is None else np.minimum(self.lengths, length)

    def __iter__(self) -> Iterator[str]:
        for row in range(self.rows):
            yield self.task.decode(self.documents.ids(row)[: self.length])

    @property
    def labels(self) -> NDArray[Any]:
        return self.documents.labels[: self.rows]

    def report(self) -> dict[str, int]:
        """As ``Task.describe`` has it of a split."""
        left = self.lengths - self.read
        return {
            "rows": self.rows,
            "empty_rows": int((self.lengths == 0).sum()),
            "truncated_rows": int((left > 0).sum()),
            "truncated_tokens": int(left.sum()),
        }


def check_baseline(baseline: Baseline, name: str, task: Task) -> None:
    """Raises ValueError where the task has nothing that the baseline could read."""
    if task.token_labels:
        raise ValueError(f"baseline={name}: {task.name} labels tokens; baselines answer whole documents")
    if baseline.reads_text and task.pairs:
        raise ValueError(f"baseline={name}: {task.name} has pairs of documents; it reads single ones")


def describe_baseline(baseline: Baseline, task: Task, record: Mapping[str, Any]) -> dict[str, Any]:
    """What a run's record says otherwise of a baseline, before it is fitted; of a protocol it has but the rows."""
    name = record["config"]["choices"]["baseline"]
    return {
        "baseline": name if baseline.length is None else f"{name} {baseline.length}",
        "encoder": None,
        "max_length": baseline.length,
        "splits": {split: record["splits"][split] | Texts(task, split, baseline.length).report() for split in SPLITS},
        "departures": {key: value for key, value in record["departures"].items() if key.startswith("rows")},
    }


def run_baseline(baseline: Baseline, task: Task, record: dict[str, Any]) -> Scores:
    """Fits the training split, chooses on validation, scores validation and test, and fills the record.

    The fitted model is not kept: the config and the data make it again. Returns the scores of the test split.
    """
    start = time.monotonic()
    memory = ProcessMemory(torch.device("cpu"))
    texts = {split: Texts(task, split, baseline.length) for split in SPLITS}
    classes, train, validation = len(task.classes), texts["train"], texts["validation"]
    weights = np.ones(classes) if task.class_weights is None else task.class_weights.astype(np.float64)
    baseline.fit(train, train.labels, validation, validation.labels, weights)
    seconds = time.monotonic() - start
    metrics: dict[str, float] = {}
    thresholds = None
    if task.multi_label and baseline.reads_text:  # chosen as an encoder's are
        _, labels, log_odds = score(baseline, texts["validation"]).documents()
        thresholds = best_thresholds(log_odds.sigmoid(), labels)
    for split, prefix in (("validation", "val"), ("test", "test")):
        scores = score(baseline, texts[split], thresholds)
        metrics |= {f"{prefix}/{key}": value for key, value in scores.metrics().items()}
    record |= machine(torch.get_num_threads())
    record |= {
        "budget": {},
        "parameters": baseline.parameters,
        "steps": None,
        "tokens": int(train.read.sum()),
        "tokens_per_second": int(train.read.sum()) / seconds,
        "train_seconds": seconds,
        "peak_memory_mb": memory.peak() / 1e6,
        "precision": "float64",
        "compiled": False,
        "device": "cpu",
        "selection": {"metric": "val/loss", "value": metrics["val/loss"], **baseline.chosen()},
        "metrics": metrics,
        "per_class": per_class(task.classes, scores.per_class()),  # of the test split, as is
        "by_length": by_length(texts["test"].lengths, texts["test"].read, scores.right().numpy()),
    }
    return scores


def score(baseline: Baseline, texts: Texts, thresholds: list[float] | None = None) -> Scores:
    """Every document of a split; thresholds as ``MultiLabelScores`` has them."""
    classes = len(texts.task.classes)
    scores = MultiLabelScores(classes, thresholds) if texts.task.multi_label else Scores(classes)
    rows = torch.arange(texts.rows)
    batch = {"index": rows, "label": torch.from_numpy(np.array(texts.labels)), "weight": torch.ones(texts.rows)}
    scores.update(torch.from_numpy(baseline.logits(texts)), batch)
    return scores
