"""A baseline in place of an encoder: the same task, splits, metrics and record."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.baselines import Baseline
from longdoc.calibration import best_thresholds, fit_temperature
from longdoc.results.lengths import by_length
from longdoc.results.metrics import per_class
from longdoc.results.record import machine
from longdoc.speed import ProcessMemory
from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.cache import Documents
from longdoc.training.scores import MultiLabelScores, Scores

READ = ("baseline", "task", "protocol", "seed", "calibration", "resume", "trust", "choices")
CHOSEN_BY = ("baseline", "task", "protocol", "seed", "calibration", "trust", "experiment", "debug", "sweep")


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

    pairs: (D, 2), of pairs of documents which two texts they are, for a text that is in many of them comes once.
    lengths, read: (D,), the tokens of each document, or pair, and how many of them are read.
    """

    def __init__(self, task: Task, split: str, length: int | None) -> None:
        self.task, self.length = task, length
        self.documents: Documents = task.documents(split)
        self.rows = len(self.documents)
        if split == "train" and task.train_rows is not None:
            self.rows = min(self.rows, task.train_rows)
        self.sides = self.documents.sides[: self.rows]
        self.lengths = self.sides.sum(1)
        self.read = (self.sides if length is None else np.minimum(self.sides, length)).sum(1)
        numbers = self.documents.numbers[: self.rows]
        self.numbers, places = np.unique(numbers, return_inverse=True)
        self.pairs = places.reshape(numbers.shape) if task.pairs else None

    def __iter__(self) -> Iterator[str]:
        for number in self.numbers:
            yield self.task.decode(self.documents.stored[number][: self.length])

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def labels(self) -> NDArray[Any]:
        return self.documents.labels[: self.rows]

    def report(self) -> dict[str, int]:
        """As ``Task.describe`` has it of a split."""
        left = self.lengths - self.read
        return {
            "rows": self.rows,
            "empty_rows": int((self.sides == 0).any(1).sum()),
            "truncated_rows": int((left > 0).sum()),
            "truncated_tokens": int(left.sum()),
        }


def check_baseline(name: str, task: Task) -> None:
    """Raises ValueError where the task has nothing that a baseline could answer."""
    if task.token_labels:
        raise ValueError(f"baseline={name}: {task.name} labels tokens; baselines answer whole documents")


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


def run_baseline(baseline: Baseline, task: Task, record: dict[str, Any], calibration: str | None = None) -> Scores:
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
    logits = {split: torch.from_numpy(baseline.logits(texts[split])) for split in ("validation", "test")}
    known, temperature, thresholds = torch.from_numpy(np.array(validation.labels)), 1.0, None
    if calibration:  # both as of an encoder
        temperature = fit_temperature(logits["validation"], known)
        logits = {split: values / temperature for split, values in logits.items()}
    if task.multi_label and baseline.reads_text:
        thresholds = best_thresholds(logits["validation"].sigmoid(), known)
    metrics: dict[str, float] = {}
    for split, prefix in (("validation", "val"), ("test", "test")):
        scores = score(texts[split], logits[split], thresholds)
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
        "device": torch.cuda.get_device_name() if baseline.device == "cuda" else baseline.device,
        "selection": {"metric": "val/loss", "value": metrics["val/loss"], **baseline.chosen()},
        "metrics": metrics,
        "temperature": temperature,
        "per_class": per_class(task.classes, scores.per_class()),  # of the test split, as is
        "by_length": by_length(texts["test"].lengths, texts["test"].read, scores.right().numpy()),
    }
    return scores


def score(texts: Texts, logits: torch.Tensor, thresholds: list[float] | None = None) -> Scores:
    """Every document of a split by its logits (D, C); thresholds as ``MultiLabelScores`` has them."""
    classes = len(texts.task.classes)
    scores = MultiLabelScores(classes, thresholds) if texts.task.multi_label else Scores(classes)
    rows = torch.arange(texts.rows)
    batch = {"index": rows, "label": torch.from_numpy(np.array(texts.labels)), "weight": torch.ones(texts.rows)}
    scores.update(logits, batch)
    return scores
