"""The record of a checkpoint on a split: everything that its scores say, or what was wrong with it."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longdoc.errors import one_sentence
from longdoc.evaluation import evaluate
from longdoc.export import Loaded, load
from longdoc.prediction import names, predictions, tokens_of
from longdoc.prediction_files import to_rows, write
from longdoc.results.bootstrap import metric_intervals
from longdoc.results.comparison import variant
from longdoc.results.confusion import confusion
from longdoc.results.lengths import by_length
from longdoc.results.metrics import per_class
from longdoc.results.paired import Decided
from longdoc.results.record import mixing
from longdoc.results.summary import Scored
from longdoc.tasks.base import Task
from longdoc.training.reliability import reliability
from longdoc.training.scores import Scores, TokenScores

PREFIX = {"train": "train", "validation": "val", "test": "test"}
Also = Callable[[Loaded, Task], dict[str, Any]]


class Reading(NamedTuple):
    """How documents are read, None for as in training: the tokens seen at once, and what is seen of longer ones."""

    max_length: int | None = None
    truncation: str | None = None


def score(
    path: Path,
    split: str,
    how: Reading,
    data: str | None = None,
    trusted: Sequence[str] = (),
    predicted: Path | None = None,
    also: Also = lambda loaded, task: {},
) -> tuple[Scored, Decided | None]:
    """The record of one checkpoint on one split with what it decided; None if it failed, with the ``error``.

    predicted: a file for its predictions. also: more for the record.
    """
    record: Scored = {"checkpoint": str(path), "split": split, **how._asdict(), "error": None}
    start = time.monotonic()
    try:
        loaded = load(path, trusted)
        task = loaded.task(data, *how)
        task.documents(split)  # encoded before the clock starts
        start_scoring = time.monotonic()
        scores = evaluate(loaded, task, split)
        scoring = time.monotonic() - start_scoring
        there, seen = tokens_of(task, split)
        decided = Decided(
            scores.right().numpy() if isinstance(scores, Scores) else None, task.content(split), task.classes
        )
        if predicted is not None:
            write_predictions(task, split, scores, predicted)
        record |= {
            "task": loaded.config["choices"]["task"],
            "variant": variant(mixing(loaded.config) | {"config": loaded.config}),
            **mixing(loaded.config),
            "step": loaded.step,
            "wandb_id": loaded.wandb_id,
            "rows": scores.rows,
            "content": decided.content,
            "temperature": loaded.model.temperature,
            "metrics": {f"{PREFIX[split]}/{name}": value for name, value in scores.metrics().items()},
            "per_class": per_class(task.classes, scores.per_class()),
            **(of_documents(task, split, scores) if isinstance(scores, Scores) else OF_TOKENS),
            "by_length": by_length(there, seen, decided.right) if decided.right is not None else [],
            "precision": "32-true",
            "compiled": False,
            "max_length": None if task.truncation == "none" else task.max_length,
            "truncation": task.truncation,
            "tokens": int(there.sum()),
            "tokens_read": int(seen.sum()),
            "tokens_per_second": int(seen.sum()) / scoring,
            "scoring_seconds": scoring,
            "predictions": None if predicted is None else str(predicted),
        }
        record |= also(loaded, task)
    except Exception as error:
        record["error"] = one_sentence(error)
        return record, None
    finally:
        record["seconds"] = time.monotonic() - start
    return record, decided


OF_TOKENS: dict[str, Any] = {"intervals": {}, "reliability": [], "confusion": None}


def of_documents(task: Task, split: str, scores: Scores) -> dict[str, Any]:
    """What labels of tokens, which hang together in their documents, do not have."""
    labels, given = (of.numpy() for of in scores.decisions())
    intervals = metric_intervals(scores.metrics(), labels, given, len(task.classes))
    return {
        "intervals": {f"{PREFIX[split]}/{name}": limits for name, limits in intervals.items()},
        "reliability": reliability(*scores.certainty()),
        "confusion": None if task.multi_label else confusion(labels, given, len(task.classes)),
    }


def write_predictions(task: Task, split: str, scores: Scores | TokenScores, path: Path) -> None:
    """One row a document; raises ValueError if tokens are what has labels."""
    if not isinstance(scores, Scores):
        raise ValueError(f"--predictions: {task.name} labels tokens, not documents")
    labels = task.documents(split).labels
    expected = [names(task, row) for row in labels] if task.multi_label else [task.classes[label] for label in labels]
    write(to_rows(predictions(task, split, scores), expected=expected), path)
