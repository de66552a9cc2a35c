"""Score checkpoints:  python scripts/evaluate.py CHECKPOINT... [--split test] [--data PATH] [--output FILE]

Needs nothing but the files: model, labels and tokenizer come out of each checkpoint. The data is the run's own,
found relative to the project, else --data. Scores are computed in float32 and not compiled, as train.py's are, and
written as JSON with the same metric names. Of a checkpoint that fails there is the error; all others are compared
with the first of them, document by document. Predictions are rows as scripts/predict.py writes them, in the split's
order, with the expected label; of several checkpoints, or ways to read, the files are NAME-1, NAME-2 and so on.
A .json file that was written before is taken as it is, in the summary and the picture beside what is scored now.
"""

import argparse
import json
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

from rich.console import Console
from rich.padding import Padding

from longdoc.errors import one_sentence
from longdoc.export import Loaded, load
from longdoc.latency import latency, latency_table, memory_point
from longdoc.prediction_files import check_suffix, write_whole
from longdoc.results.paired import Decided, compare_with, paired_view
from longdoc.results.plot import plot_lengths
from longdoc.results.record import plain
from longdoc.results.summary import Scored, full_view, reading, short_names, summary_table
from longdoc.scoring import PREFIX, Reading, score
from longdoc.speed import keep_freed_memory
from longdoc.tasks.base import SPLITS, TRUNCATIONS, Task
from longdoc.tasks.cache import resolve
from longdoc.tasks.collection import HUB
from longdoc.training.loggers import log_evaluation

console = Console(markup=False, highlight=False, soft_wrap=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("checkpoint", nargs="+", type=Path)
    add("--split", choices=SPLITS, default="test")
    add("--data", help="where the task's data lies, if not where it lay in training; of task=documents also hf:NAME")
    add("--trust", action="append", default=[], metavar="MODULE",
        help="a module of your own, here or on PYTHONPATH, that checkpoints may build from")  # fmt: skip
    add("--output", type=Path, metavar="FILE", help="JSON; by default beside the first checkpoint that was scored")
    add("--predictions", type=Path, metavar="FILE", help=".jsonl, .csv or .parquet")
    add("--max-length", nargs="+", metavar="N|whole",
        help="score the first N tokens of each document alone, for each N, or the whole of it")  # fmt: skip
    add("--truncation", nargs="+", choices=TRUNCATIONS, metavar="WORD",
        help=f"what is read of documents longer than is seen at once: {', '.join(TRUNCATIONS)}")  # fmt: skip
    add("--latency", nargs="+", type=int, default=[], metavar="N",
        help="also the time and memory that one document of N tokens takes")  # fmt: skip
    add("--wandb", action="store_true", help="add what is found to the W&B run of each checkpoint, offline if that was")
    add("--plot", type=Path, metavar="PNG", help="accuracy and tokens/s against the tokens read")
    add("--memory-point", nargs=2, help=argparse.SUPPRESS)  # in a child process
    options = parser.parse_args()
    for length in options.max_length or ():
        if length != "whole" and not (length.isdecimal() and int(length)):
            parser.error(f"--max-length {length} is neither a number of tokens nor whole")
    for length, truncation in product(options.max_length or (), options.truncation or ()):
        if (length == "whole") != (truncation == "none"):
            parser.error(f"--max-length {length} and --truncation {truncation} contradict each other")
    if any(tokens < 1 for tokens in options.latency):
        parser.error(f"--latency {min(options.latency)}: a document has at least 1 token")
    if options.predictions is not None:
        try:
            check_suffix(options.predictions)
        except ValueError as error:
            parser.error(f"--predictions: {error}")
    if options.data is not None and not options.data.startswith(HUB):
        options.data = str(resolve(options.data))
    return options


def written(path: Path, split: str) -> list[Scored]:
    """The records of a file that ``write`` wrote; raises ValueError if it is another, or of another split."""
    try:
        records: list[Scored] = json.loads(path.read_text())
        splits = {record["split"] for record in records if record["checkpoint"]}
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{path} is no JSON that evaluate.py has written: {one_sentence(error)}") from error
    if splits != {split}:
        raise ValueError(f"{path} holds scores of {', '.join(sorted(splits)) or 'nothing'}, not of --split {split}")
    return records


def ways(options: argparse.Namespace) -> list[Reading]:
    """Every way to read that is asked for; so many first tokens alone, where nothing is said of truncation."""
    found = []
    for truncation, length in product(options.truncation or [None], options.max_length or [None]):
        tokens = None if length in (None, "whole") else int(length)
        found.append(Reading(tokens, "none" if length == "whole" else truncation or (tokens and "head")))
    return found


def costs(path: Path, how: Reading, options: argparse.Namespace, loaded: Loaded, task: Task) -> dict[str, Any]:
    """``latency``, if it is asked for."""
    if not options.latency:
        return {}
    words = [word for module in options.trust for word in ("--trust", module)]
    words += [] if how.max_length is None else ["--max-length", str(how.max_length)]
    words += [] if how.truncation is None else ["--truncation", how.truncation]
    child = [sys.executable, __file__, str(path), *words, "--memory-point"]
    return {"latency": latency(loaded, task, options.latency, child, str(path))}


def add_to_run(path: Path, record: Scored, trusted: list[str]) -> None:
    """Into W&B's files of the run's folder, or here if the checkpoint lies elsewhere; ``wandb_error`` says why not."""
    folder = path.resolve().parent.parent
    folder = folder if (folder / "results.json").is_file() else Path()
    try:
        log_evaluation(record, load(path, trusted).config.get("logger", {}), folder)
    except Exception as error:
        record["wandb_error"] = one_sentence(error)
        console.print(f"--wandb: {record['wandb_error']}")


def compare(records: list[Scored], decided: list[Decided | None], names: list[str]) -> None:
    """Tells of each record, and shows, how it differs from the first that was scored."""
    known = [(record, found, name) for record, found, name in zip(records, decided, names, strict=True) if found]
    if len(known) < 2:
        return
    (first, base, name), *others = known
    found = compare_with(base, [of for _, of, _ in others])
    for (record, _, _), comparison in zip(others, found, strict=True):
        record["paired"] = {"with": first["checkpoint"], "reading": reading(first), **comparison}
    console.print(paired_view(name, [other for _, _, other in others], found))


def point(record: Scored, name: str) -> dict[str, Any]:
    """What the picture shows of a record, in the line of a name."""
    (accuracy,) = [value for name, value in record["metrics"].items() if name.endswith("/accuracy")]
    each = record["tokens_read"] / record["rows"]
    kept = {key: record[key] for key in ("tokens_per_second", "max_length")}
    return kept | {"name": name, "accuracy": accuracy, "tokens_per_document": each}


def points(records: list[Scored]) -> list[dict[str, Any]]:
    """Of those that were scored, a line for each checkpoint: its variant and, of several alike, what tells them apart.

    Where documents are cut in several ways each has a line of its own, too.
    """
    scored = [record for record in records if not record["error"]]
    paths = [record["checkpoint"] for record in scored]
    variants = {path: record["variant"] for path, record in zip(paths, scored, strict=True)}
    alike = len(set(variants.values())) < len(variants)
    names = [f", {name}" for name in short_names(paths)] if alike else [""] * len(paths)
    if len({record["truncation"] for record in scored} - {"none"}) > 1:
        names = [f"{name}, {record['truncation']}" for name, record in zip(names, scored, strict=True)]
    return [point(record, record["variant"] + name) for record, name in zip(scored, names, strict=True)]


def write(records: list[Scored], options: argparse.Namespace) -> None:
    """All records as JSON, by default beside the first checkpoint that was scored."""
    there = [Path(record["checkpoint"]) for record in records if not record["error"]]
    beside = [path.resolve() if path.is_dir() else path for path in there if path.exists()]  # one may be the hub's
    if options.output is None and not beside:
        console.print("not written: none of the checkpoints here could be scored, and no --output FILE is given")
        return
    output = options.output or beside[0].with_suffix(f".{options.split}.json")
    text = json.dumps(plain(records), indent=2) + "\n"
    try:
        write_whole(output, lambda path: path.write_text(text))
    except OSError as error:
        sys.exit(f"evaluate.py: the results cannot be written to {output}: {error.strerror}")
    console.print(f"written to {output}")


def main() -> int:
    options = arguments()
    if options.memory_point:
        loaded = load(options.checkpoint[0], options.trust)
        print(json.dumps(memory_point(loaded, loaded.task(None, *ways(options)[0]), int(options.memory_point[1]))))
        return 0
    keep_freed_memory()
    files = [path for path in options.checkpoint if path.suffix == ".json"]
    try:
        earlier = [record for path in files for record in written(path, options.split)]
    except ValueError as error:
        sys.exit(f"evaluate.py: {error}")
    jobs = [*product([path for path in options.checkpoint if path not in files], ways(options))]
    records, decided = [], []
    for number, (path, how) in enumerate(jobs, 1):
        predicted: Path | None = options.predictions
        if predicted and len(jobs) > 1:
            predicted = predicted.with_stem(f"{predicted.stem}-{number}")
        more = partial(costs, path, how, options)
        record, found = score(path, options.split, how, options.data, options.trust, predicted, more)
        console.print(full_view(record, PREFIX[options.split]))
        if "latency" in record:
            console.print(Padding(latency_table(record["latency"]), (0, 0, 1, 2), expand=False))
        if options.wandb and found:
            add_to_run(path, record, options.trust)
        records.append(record)
        decided.append(found)
    shown = earlier + records
    if len(shown) > 1:
        names = short_names([record["checkpoint"] for record in shown])
        if len(ways(options)) > 1 or files:
            names = [
                name if record["error"] else f"{name}, {reading(record)}"
                for name, record in zip(names, shown, strict=True)
            ]
        console.print(summary_table(shown, names, PREFIX[options.split]))
        compare(records, decided, names[len(earlier) :])
    if jobs:
        write(records, options)
    if options.plot and (drawn := points(shown)):
        plot_lengths(drawn, options.plot)
        console.print(f"drawn in {options.plot}")
    elif options.plot:
        console.print("not drawn: none of the checkpoints could be scored")
    errors = [record["error"] or record.get("wandb_error") for record in records]
    errors += [of["error"] for record in records for of in record.get("latency", [])]
    return 1 if any(errors) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
