"""Classify documents:  python scripts/predict.py CHECKPOINT INPUT [--output FILE]

The checkpoint is enough: model, labels and tokenizer come out of it. INPUT is a .csv, .tsv, .json, .jsonl or .parquet
file with a column of texts, a folder of .txt files, one such file, or - for standard input; or --text gives the texts.
Every row of the input is a row of the output, in order: row (from 0), id (of the column id, or the file's name), label,
the probability of each class, the document's tokens, how many of them were read, and whether it was truncated.

Without --output rows go to standard output: a table on a terminal, else JSON lines. All else goes to standard error.
The same text gets the same numbers as in scripts/evaluate.py, whatever stands beside it.
"""

import argparse
import sys
from pathlib import Path

import longdoc.caches  # noqa: F401  # isort: skip

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from longdoc.errors import one_sentence
from longdoc.export import load
from longdoc.inputs import Input, StreamInput, TextInput, open_input
from longdoc.prediction_files import Row, check_suffix, to_json, to_rows, write

console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("checkpoint", type=Path)
    add("input", nargs="?", type=Path, help="a file, a folder, or - for standard input")
    add("--text", action="append", metavar="TEXT", help="a document, in place of INPUT; repeatable")
    add("--text-column", metavar="NAME", help="default: as in training; else text, or the only one beside label and id")
    add("--lines", action="store_true", help="of standard input and .txt files each line is a document")
    add("--errors", choices=("strict", "replace"), default="strict",
        help="what is not in its encoding: an error, or read as \N{REPLACEMENT CHARACTER} and counted")  # fmt: skip
    add("--output", type=Path, metavar="FILE", help=".jsonl, .csv or .parquet")
    add("--max-length", type=int, metavar="N", help="tokens that the model sees at once (default: as in training)")
    add("--trust", action="append", default=[], metavar="MODULE",
        help="a module of yours that the checkpoint's classes come from; repeatable")  # fmt: skip
    options = parser.parse_args()
    if (options.input is None) == (options.text is None):
        parser.error("give an INPUT or a --text, one of the two")
    return options


def open_documents(options: argparse.Namespace, trained: list[str] | None) -> Input:
    """The documents that the arguments name; trained: the columns that a classifier of tables has learnt from."""
    if options.text is not None:
        return TextInput(options.text, options.errors)
    if str(options.input) == "-":
        return StreamInput(sys.stdin.buffer, "standard input", options.lines, options.errors)
    columns = [options.text_column] if options.text_column else trained
    return open_input(options.input, columns, options.lines, options.errors)


def show(rows: list[Row]) -> None:
    """To standard output."""
    if not sys.stdout.isatty():
        for row in rows:
            print(to_json(row))
        return
    shown = Table()
    for header in ("row", "id", "label", "probability", "tokens", "read"):
        shown.add_column(header, overflow="fold")
    for row in rows:
        labels = row["label"] if isinstance(row["label"], list) else [row["label"]]
        shares = [f"{row['probabilities'][label]:.4f}" for label in labels]
        name, numbers = str(row.get("id", "")), [f"{row[key]:,}" for key in ("tokens", "tokens_read")]
        shown.add_row(str(row["row"]), Text(name), Text(", ".join(labels)), ", ".join(shares), *numbers)
    Console(markup=False).print(shown)


def main() -> None:
    options = arguments()
    if options.output is not None:
        check_suffix(options.output)
    loaded = load(options.checkpoint, options.trust)
    documents, ids = open_documents(options, loaded.task_state.get("columns", {}).get("text")), []

    def texts():  # type: ignore[no-untyped-def]
        for name, text in documents:
            ids.append(name)
            if len(ids) % 1000 == 0:
                progress.update(reading, description=f"reading {len(ids):,} documents")
            yield text

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        reading = progress.add_task("reading", total=None)

        def follow(batches):  # type: ignore[no-untyped-def]
            progress.remove_task(reading)
            return progress.track(batches, description=f"{len(ids):,} documents, batches")

        predictions = loaded.predict(texts(), max_length=options.max_length, follow=follow)
    named = {} if None in ids else {"id": ids}
    rows = to_rows(predictions, **named)
    left_out = sum(row["tokens"] - row["tokens_read"] for row in rows)
    for what, count in {
        "missing, read as empty": documents.missing,
        "read with replacement characters": documents.replaced,
        "empty": sum(row["tokens"] == 0 for row in rows),
        f"read in part, {left_out:,} tokens left out": sum(row["truncated"] for row in rows),
    }.items():
        if count:
            console.print(f"{count:,} of {len(rows):,} documents: {what}")
    if options.output is None:
        show(rows)
    else:
        write(rows, options.output)
        console.print(f"{len(rows):,} rows written to {options.output}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        sys.exit(f"predict.py: {one_sentence(error)}")
