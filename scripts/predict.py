"""Classify documents:  python scripts/predict.py CHECKPOINT INPUT [--output FILE]

The checkpoint is enough: model, labels and tokenizer come out of it. INPUT is a .csv, .tsv, .json, .jsonl or .parquet
file with a column of texts, a folder of .txt files, one such file, hf:NAME for a set of the Hugging Face hub, or - for
standard input; or --text gives the texts.
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
from rich.table import Table as RichTable
from rich.text import Text

from longdoc.errors import one_sentence
from longdoc.export import load
from longdoc.inputs import Input, Texts, decode, find_table, split_lines
from longdoc.prediction import task_of_texts
from longdoc.prediction_files import Row, check_suffix, to_json, to_rows, write
from longdoc.tasks.tables import Table

console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("checkpoint", type=Path)
    add("input", nargs="?", help="a file, a folder, hf:NAME, or - for standard input")
    add("--text", action="append", metavar="TEXT", help="a document, in place of INPUT; repeatable")
    add("--text-column", action="append", metavar="NAME",
        help="default: the checkpoint's, else what could be meant; repeated for pairs and joined texts")  # fmt: skip
    add("--split", help="of a folder of several, or a set of the hub: train, validation or test")
    add("--lines", action="store_true", help="of standard input and .txt files each line is a document")
    add("--errors", choices=("strict", "replace"), default="strict",
        help="what is not in its encoding: an error, or read as \N{REPLACEMENT CHARACTER} and counted")  # fmt: skip
    add("--output", type=Path, metavar="FILE", help=".jsonl, .csv or .parquet")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--max-length", type=int, metavar="N", help="tokens seen at once (default: as in training)")
    length.add_argument("--whole", action="store_true", help="whole documents are seen at once, in bounded memory")
    add("--trust", action="append", default=[], metavar="MODULE",
        help="a module of yours that the checkpoint's classes come from; repeatable")  # fmt: skip
    options = parser.parse_args()
    if (options.input is None) == (options.text is None):
        parser.error("give an INPUT or a --text, one of the two")
    return options


def find(options: argparse.Namespace) -> Table:
    """The table of documents that the arguments name."""
    if options.text is not None:
        return Texts(options.text, "--text")
    if options.input == "-":
        text = decode(sys.stdin.buffer.read())
        return Texts(split_lines(text) if options.lines else [text], "standard input")
    return find_table(options.input, options.lines, options.split)


def show(rows: list[Row]) -> None:
    """To standard output."""
    if not sys.stdout.isatty():
        for row in rows:
            print(to_json(row))
        return
    shown = RichTable()
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
    documents = Input(find(options), task_of_texts(loaded), options.text_column, options.errors)
    if documents.guessed:
        console.print(f"the texts are read from the column {documents.guessed}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        reading = progress.add_task("reading documents", total=None)

        def follow(batches):  # type: ignore[no-untyped-def]
            progress.remove_task(reading)
            return progress.track(batches, description="classifying batches")

        predictions = loaded.predict(
            progress.track(documents, task_id=reading),
            max_length=options.max_length,
            whole=options.whole,
            follow=follow,
        )
    named = {"id": documents.ids} if documents.id else {}
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
