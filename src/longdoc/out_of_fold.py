"""What each fold says of the documents that it was not trained on."""

import csv
from pathlib import Path
from typing import Any

from longdoc.prediction import decisions, names
from longdoc.tasks.base import Task
from longdoc.training.scores import Scores

PREDICTIONS = "predictions.csv"


def write_out_of_fold(folder: Path, task: Task, scores: Scores) -> None:
    """predictions.csv: a row for each document of the fold's test split, which the fold was not trained on.

    row: of all documents, in the order of the splits, from 1 on; split and index: where it was before; fold; label and
    predicted, of several joined by "; "; and the probability of each class.
    """
    rows, labels = task.fold_rows("test").tolist(), task.documents("test").labels
    with (folder / PREDICTIONS).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["row", "split", "index", "fold", "label", "predicted", *(f"p_{name}" for name in task.classes)]
        )
        for row, label, (predicted, probabilities) in zip(rows, labels, decisions(task, scores), strict=True):
            true: Any = names(task, label) if task.multi_label else [task.classes[label]]
            said = [predicted] if isinstance(predicted, str) else predicted
            split, index = task.pool.places[row]
            place = [row + 1, split, index + 1, task.fold]
            writer.writerow([*place, "; ".join(true), "; ".join(said), *probabilities.values()])
