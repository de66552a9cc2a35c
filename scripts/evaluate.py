"""Score checkpoints:  python scripts/evaluate.py CHECKPOINT... [--split test] [--data PATH] [--output FILE]
                                                        [--predictions FILE] [--max-length N...] [--plot PNG]

Needs nothing but the files: model, labels and tokenizer come out of each checkpoint. The data is the run's own,
found relative to the project, else --data. Scores are computed in float32 and not compiled, as train.py's are, and
written as JSON with the same metric names. Of a checkpoint that fails there is the error. The predictions of one
checkpoint are rows as scripts/predict.py writes them, in the split's order, with the expected label.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

from rich.console import Console
from rich.padding import Padding

from longdoc.errors import one_sentence
from longdoc.evaluation import evaluate
from longdoc.export import load
from longdoc.prediction import names, predictions, tokens_of
from longdoc.prediction_files import check_suffix, to_rows, write
from longdoc.results.comparison import variant
from longdoc.results.lengths import by_length, length_table
from longdoc.results.metrics import absent, class_table, metrics_text, per_class
from longdoc.results.plot import plot_lengths
from longdoc.results.record import mixing, plain
from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.collection import HUB
from longdoc.training.scores import Scores, TokenScores

PREFIX = {"train": "train", "validation": "val", "test": "test"}


def score(
    path: Path, split: str, data: str | None, trusted: list[str], predicted: Path | None = None, read: str | None = None
) -> dict[str, Any]:
    """The record of one checkpoint on one split, or what was wrong with it; predictions go to ``predicted``.

    read: how many tokens of each document, the first, or ``whole``; None: as in training.
    """
    record: dict[str, Any] = {"checkpoint": str(path), "split": split, "read": read, "error": None}
    start = time.monotonic()
    try:
        loaded = load(path, trusted)
        length = int(read) if read and read != "whole" else None
        task = loaded.task(data, length, whole=read == "whole", head=length is not None)
        task.documents(split)  # encoded before the clock starts
        start_scoring = time.monotonic()
        scores = evaluate(loaded, task, split)
        scoring = time.monotonic() - start_scoring
        there, seen = tokens_of(task, split)
        if predicted is not None:
            write_predictions(task, split, scores, predicted)
        record |= {
            "task": loaded.config["choices"]["task"],
            "variant": variant(mixing(loaded.config) | {"config": loaded.config}),
            **mixing(loaded.config),
            "step": loaded.step,
            "rows": scores.rows,
            "temperature": loaded.model.temperature,
            "metrics": {f"{PREFIX[split]}/{name}": value for name, value in scores.metrics().items()},
            "per_class": per_class(task.classes, scores.per_class()),
            "precision": "32-true",
            "compiled": False,
            "by_length": by_length(there, seen, scores.right().numpy()) if isinstance(scores, Scores) else [],
            "max_length": None if task.truncation == "none" else task.max_length,
            "tokens": int(there.sum()),
            "tokens_read": int(seen.sum()),
            "tokens_per_second": int(seen.sum()) / scoring,
            "scoring_seconds": scoring,
            "seconds": time.monotonic() - start,
        }
    except Exception as error:
        record["error"] = one_sentence(error)
    return record


def write_predictions(task: Task, split: str, scores: Scores | TokenScores, path: Path) -> None:
    """One row a document; raises ValueError if tokens are what has labels."""
    if not isinstance(scores, Scores):
        raise ValueError(f"--predictions: {task.name} labels tokens, not documents")
    labels = task.documents(split).labels
    expected = [names(task, row) for row in labels] if task.multi_label else [task.classes[label] for label in labels]
    write(to_rows(predictions(task, split, scores), expected=expected), path)


def show(record: dict[str, Any], console: Console) -> None:
    """The checkpoint, its metrics and its classes."""
    console.print(record["checkpoint"], style="bold")
    if record["error"]:
        console.print(f"  {record['error']}", style="red")
        return
    metrics = metrics_text(record["metrics"], PREFIX[record["split"]])
    console.print(f"  {record['task']}, {record['variant']}, {record['rows']:,} rows: {metrics}")
    if record["read"]:
        first = "whole documents" if record["read"] == "whole" else f"first {int(record['read']):,} tokens"
        share = record["tokens_read"] / max(record["tokens"], 1)
        console.print(f"  {first}: {share:.1%} of all tokens, {record['tokens_per_second'] / 1000:,.1f}k tokens/s")
    columns = record["per_class"]
    if columns and (of_classes := class_table(columns)):
        console.print(Padding(of_classes, (0, 0, 0, 2)))
        if missing := absent(columns):
            console.print(f"  in no document of the {record['split']} split: {', '.join(missing)}")


def point(record: dict[str, Any]) -> dict[str, Any]:
    """What the picture shows of a record."""
    (accuracy,) = [value for name, value in record["metrics"].items() if name.endswith("/accuracy")]
    each = record["tokens_read"] / record["rows"]
    kept = {key: record[key] for key in ("tokens_per_second", "max_length")}
    return kept | {"name": record["variant"], "accuracy": accuracy, "tokens_per_document": each}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", nargs="+", type=Path)
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument(
        "--data", help="where the task's data lies, if not where it lay in training; of task=documents also hf:NAME"
    )
    told = "a module of your own, here or on PYTHONPATH, that checkpoints may build from"
    parser.add_argument("--trust", action="append", default=[], metavar="MODULE", help=told)
    parser.add_argument("--output", type=Path, help="JSON file; by default beside the first checkpoint")
    parser.add_argument("--predictions", type=Path, metavar="FILE", help=".jsonl, .csv or .parquet; of one checkpoint")
    lengths = "score the first N tokens of each document alone, for each N, or the whole of it"
    parser.add_argument("--max-length", nargs="+", metavar="N|whole", help=lengths)
    parser.add_argument("--plot", type=Path, metavar="PNG", help="accuracy and tokens/s against the tokens read")
    options = parser.parse_args()
    for read in options.max_length or ():
        if read != "whole" and not (read.isdecimal() and int(read)):
            parser.error(f"--max-length {read} is neither a number of tokens nor whole")
    if options.predictions is not None:
        if len(options.max_length or ()) > 1:
            parser.error("--predictions are of one --max-length")
        if len(options.checkpoint) > 1:
            parser.error("--predictions are of one checkpoint")
        try:
            check_suffix(options.predictions)
        except ValueError as error:
            parser.error(f"--predictions: {error}")
    local = options.data is not None and not options.data.startswith(HUB)
    data = str(Path(options.data).resolve()) if local else options.data
    records = [
        score(path, options.split, data, options.trust, options.predictions, read)
        for path in options.checkpoint
        for read in options.max_length or [None]
    ]
    console = Console(markup=False, highlight=False, soft_wrap=True)
    for record in records:
        show(record, console)
        if of_lengths := length_table(record.get("by_length", [])):
            console.print(of_lengths)
    first: Path = options.checkpoint[0]
    output = options.output or first.with_suffix(f".{options.split}.json")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(plain(records), indent=2) + "\n")
    except OSError as error:
        sys.exit(f"evaluate.py: the results cannot be written to {output}: {error.strerror}")
    console.print(f"written to {output}")
    if options.plot:
        plot_lengths([point(record) for record in records if not record["error"]], options.plot)
        console.print(f"drawn in {options.plot}")
    return 1 if any(record["error"] for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
