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
import io
import sys
from dataclasses import asdict
from pathlib import Path

import longdoc.caches  # noqa: F401  # isort: skip

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn, track
from rich.table import Table as RichTable
from rich.text import Text

from longdoc.errors import one_sentence
from longdoc.explanation import explain
from longdoc.explanation_page import to_page
from longdoc.export import Loaded, load
from longdoc.inputs import Input, TextFolder, Texts, find_table, split_lines
from longdoc.prediction import task_of_texts
from longdoc.prediction_files import Row, check_suffix, to_json, to_rows, write, write_whole
from longdoc.speed import keep_freed_memory
from longdoc.streaming import running
from longdoc.tasks.encodings import decode, encoding_of
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
    add("--stream", action="store_true",
        help="read standard input or a text file while it comes, in constant memory, with a causal model; subwords are"
        " made of pieces of it that end before white space")  # fmt: skip
    add("--every", type=int, default=4096, metavar="K", help="tokens between two predictions of --stream (%(default)s)")
    add("--explain", type=int, nargs="?", const=5, metavar="N",
        help="also the N passages (5) that moved each decision most, in the time of some 33 predictions")  # fmt: skip
    add("--html", type=Path, metavar="FILE", help="write a page with all passages shaded; implies --explain")
    add("--errors", choices=("strict", "replace"), default="strict",
        help="what is not in its encoding: an error, or read as \N{REPLACEMENT CHARACTER} and counted")  # fmt: skip
    add("--output", type=Path, metavar="FILE", help=".jsonl, .csv or .parquet")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--max-length", type=int, metavar="N", help="tokens seen at once (default: as in training)")
    length.add_argument("--whole", action="store_true", help="whole documents are seen at once, in bounded memory")
    add("--trust", action="append", default=[], metavar="MODULE",
        help="a module of yours that the checkpoint's classes come from; repeatable")  # fmt: skip
    options = parser.parse_args()
    if options.html is not None:
        options.explain = 5 if options.explain is None else options.explain
    others = ("text", "text_column", "split", "lines", "explain", "output", "max_length", "whole")
    if options.stream and (vain := [name for name in others if getattr(options, name) not in (None, False)]):
        parser.error(f"--stream reads one text to standard output: it has no use for --{vain[0].replace('_', '-')}")
    if (options.input is None) == (options.text is None):
        parser.error("give an INPUT or a --text, one of the two")
    if options.split is not None and options.input in (None, "-"):
        parser.error("--split is of a collection: neither --text nor standard input has splits")
    return options


def find(options: argparse.Namespace) -> Table:
    """The table of documents that the arguments name."""
    if options.text is not None:
        return Texts(options.text, "--text")
    if options.input == "-":
        text = decode(sys.stdin.buffer.read())
        return Texts(split_lines(text) if options.lines else [text], "standard input")
    return find_table(options.input, options.lines, options.split)


def stream(loaded: Loaded, options: argparse.Namespace) -> None:
    """Predictions to standard output, each as soon as it is there."""
    with sys.stdin.buffer if options.input == "-" else Path(options.input).open("rb") as file:
        text = io.TextIOWrapper(file, encoding_of(file.peek(4)), options.errors, newline="")
        for row, found in enumerate(running(loaded, text, options.every)):
            print(to_json({"row": row} | asdict(found)), flush=True)


def add_explanations(loaded: Loaded, texts: list[str], rows: list[Row], options: argparse.Namespace) -> None:
    """Gives each row its ``passages``, and writes the page."""
    shown = track(texts, "explaining documents", console=console, transient=True, disable=not console.is_terminal)
    found = [explain(loaded, text, options.max_length, options.whole) for text in shown]
    for row, explanation in zip(rows, found, strict=True):
        row["passages"] = [asdict(passage) for passage in explanation.top(options.explain)]
    if options.html is not None:
        names = [str(row.get("id", f"row {row['row']}")) for row in rows]
        write_whole(options.html, lambda path: path.write_text(to_page(list(zip(names, found, strict=True))), "utf-8"))
        console.print(f"{len(found):,} explanations written to {options.html}")


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
    plain = Console(markup=False, highlight=False)
    plain.print(shown)
    for row in rows:
        for passage in row.get("passages", []):
            text = " ".join(passage["text"].split())
            plain.print(
                f"row {row['row']}, tokens {passage['start']:,} to {passage['end']:,}, {passage['weight']:+.3f}: {text}"
            )


def main() -> None:
    options = arguments()
    keep_freed_memory()
    if options.output is not None:
        check_suffix(options.output)
    loaded = load(options.checkpoint, options.trust)
    if options.stream:
        stream(loaded, options)
        return
    table = find(options)
    documents = Input(table, task_of_texts(loaded), options.text_column, options.errors)
    if isinstance(table, TextFolder) and table.left_out:
        console.print(f"{table.left_out:,} files of {table.where} are no .txt and left out")
    if documents.guessed:
        console.print(f"the texts are read from the column {documents.guessed}")
    texts = documents if options.explain is None else list(documents)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        reading = progress.add_task("reading documents", total=None)

        def follow(batches):  # type: ignore[no-untyped-def]
            progress.remove_task(reading)
            return progress.track(batches, description="classifying batches")

        predictions = loaded.predict(
            progress.track(texts, task_id=reading),
            max_length=options.max_length,
            whole=options.whole,
            follow=follow,
        )
    named = {"id": documents.ids} if documents.id else {}
    rows = to_rows(predictions, **named)
    if options.explain is not None:
        add_explanations(loaded, list(texts), rows, options)
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
