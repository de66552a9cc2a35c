"""Compare finished runs: a table per task, protocol, length, encoder and budget.

    python scripts/compare.py                        # every run below outputs/
    python scripts/compare.py outputs/listops        # some of them: folders, or results.json files
    python scripts/compare.py --by task.pairs        # test accuracy by a value of the config
    python scripts/compare.py --by length            # and by the length of the documents
    python scripts/compare.py --published            # beside published numbers of the same protocol and task
    python scripts/compare.py --markdown > table.md  # also --json, --csv, of any of these
    python scripts/compare.py --report report.html   # one web page: tables, intervals, curves, frontiers

With --published and no finished runs it prints the published tables alone, a table for each protocol.

Runs that could not be read are named on standard error, and without --by in --markdown, --json and --csv. The exit
status is 1 if there are no results at all.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from longdoc.results import collect_paths, formats, published_table
from longdoc.results.comparison import beside_published, compare
from longdoc.results.lengths import compare_lengths
from longdoc.results.pivot import pivot
from longdoc.results.published import of
from longdoc.results.sparklines import sparklines
from longdoc.results.table import to_csv, to_json, to_markdown
from longdoc.results.terminal import grids_to_rich, to_rich

PROJECT = Path(__file__).resolve().parents[1]
# Of each format the functions that write the comparison, a table --by a value, and the published numbers alone.
FORMATS = {
    "json": (to_json, formats.grids_to_json, published_table.to_json),
    "csv": (to_csv, formats.grids_to_csv, published_table.to_csv),
    "markdown": (to_markdown, formats.grids_to_markdown, published_table.to_markdown),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the comparison and returns the exit status."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="FOLDER",
        help="folders with runs (default: the project's outputs/, or outputs/ here if that one has no runs)",
    )
    written = parser.add_mutually_exclusive_group()
    for name in FORMATS:
        written.add_argument(f"--{name}", dest="written", action="store_const", const=name)
    parser.add_argument("--by", metavar="KEY", help="a table of accuracies, a column for each value of this key")
    parser.add_argument("--published", action="store_true", help="with the published numbers of the same protocol")
    written.add_argument("--report", metavar="FILE", type=Path, help="write a web page that needs no network")
    options = parser.parse_args(arguments)
    if options.by and options.published:
        parser.error("--by tells runs apart by a value that no published number has: leave one of the two out")
    if options.by and options.report:
        parser.error("--by makes a table, which no page shows: leave one of the two out")
    compared, by_value, alone = FORMATS.get(options.written, (None, None, None))
    terminal = Console(highlight=False)

    folders = options.folders or [PROJECT / "outputs"]
    found, problems = collect_paths(folders)
    if not found and not options.folders and Path("outputs").is_dir():
        folders = [Path("outputs")]
        found, problems = collect_paths(folders)
    records = list(found.values())
    for problem in problems:
        print(f"{problem.path} {problem.reason}", file=sys.stderr)
    done = [record for record in records if record["status"] == "finished"]
    if options.published and done and not any(of(record["protocol"], record["task"]) for record in done):
        print("No finished run here is of a protocol and task with published numbers.", file=sys.stderr)
    if options.report:
        from longdoc.results.report import page  # SciPy takes a second, which no other table needs

        try:
            made = page(found, problems, ", ".join(map(str, folders)), options.published)
            options.report.write_text(made, encoding="utf-8")
        except OSError as error:
            print(f"compare.py: {options.report} cannot be written ({error.strerror})", file=sys.stderr)
            return 1
        print(f"{options.report}: {len(records)} run{'' if len(records) == 1 else 's'}")
        if records:
            return 0
    if not done and options.published and not options.folders and not options.report:
        if records:
            print(f"None of the {len(records)} runs in {', '.join(map(str, folders))} is finished.", file=sys.stderr)
        print(alone(), end="") if alone else terminal.print(published_table.to_rich())
        return 0
    if not records:
        print(f"No results found in {', '.join(map(str, folders))}.", file=sys.stderr)
        return 1
    if options.by:
        try:
            grids = compare_lengths(records) if options.by == "length" else pivot(records, options.by)
        except ValueError as error:
            print(f"compare.py: {error}", file=sys.stderr)
            return 1
        if left := len(records) - sum(grid.runs for grid in grids):
            print(f"{left} of {len(records)} runs are not finished or say no {options.by}: not shown.", file=sys.stderr)
        print(by_value(grids), end="") if by_value else terminal.print(grids_to_rich(grids, terminal.width))
        return 0
    comparison = compare(records)
    if options.published:
        beside_published(comparison[0])
    if compared:
        print(compared(*comparison, problems), end="")
    else:
        curves = [sparklines(group, found) for group in comparison[0]]
        terminal.print(to_rich(*comparison, curves, terminal.width))
    return 0


if __name__ == "__main__":
    sys.exit(main())
