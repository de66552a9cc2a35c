"""A text's tables made from the records that they show, with the commands, seeds and commits of these."""

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from longdoc.results.collect import collect_paths
from longdoc.results.commands import sweeps, trains
from longdoc.results.comparison import beside_published, compare
from longdoc.results.conditions import measured
from longdoc.results.formats import grids_to_markdown, markdown_head, markdown_line
from longdoc.results.lengths import compare_lengths
from longdoc.results.pivot import pivot
from longdoc.results.record import Record
from longdoc.results.table import LEGEND, markdown_table, notes

BLOCK = re.compile(r"(<!-- results: (.+?) -->\n).*?(<!-- /results -->)", re.DOTALL)
# Arguments of scripts/benchmark.py that make a number what it is, beside the machine.
_BENCHMARK = (
    *("variants", "lengths", "tokens", "modes", "repeats", "max_seconds_per_point"),
    *("width", "depth", "heads", "feedforward", "vocab"),
)
COMMANDS = "commands.txt"  # of a folder with records of older runs, which do not hold them: a command a line


def filled(text: str, project: Path, folder: str = ".") -> str:
    """``text`` with all between ``<!-- results: ARGUMENTS -->`` and ``<!-- /results -->`` made anew.

    folder: of the project, where the text's file lies.

    The arguments are those of compare.py, with folders of records below ``project``; or a benchmark's JSON file.
    Raises ValueError, naming the place, where records are missing, broken, unfinished, or not of the commands given.
    """
    if (begun := text.count("<!-- results:")) != (whole := len(BLOCK.findall(text))):
        raise ValueError(f"of {begun} lines <!-- results: ... --> only {whole} have a <!-- /results --> of their own")
    return BLOCK.sub(lambda found: f"{found[1]}\n{_block(found[2], project, folder)}\n{found[3]}", text)


def _block(words: str, project: Path, folder: str) -> str:
    parser = argparse.ArgumentParser(prog=f"<!-- results: {words} -->")
    parser.add_argument("places", nargs="+")
    parser.add_argument("--by")
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args(shlex.split(words))
    if options.places[0].endswith(".json"):
        return _benchmark(options.places[0], project, folder)
    found, problems = collect_paths(project / place for place in options.places)
    for problem in problems:
        raise ValueError(f"{problem.path} {problem.reason}")
    records = list(found.values())
    for path, record in found.items():
        if record["status"] != "finished":
            raise ValueError(f"{path}: the run is {record['status']}; only finished ones are shown")
    if not records:
        raise ValueError(f"no results found in {' '.join(options.places)}")
    commands = [*_commands(found, [project / place for place in options.places]), f"python scripts/compare.py {words}"]
    return "\n".join(
        [
            *(f"    {command}" for command in commands),
            "",
            *_tables(records, options),
            _source(records, options.places, folder),
            "",
        ]
    )


def _commands(found: Mapping[Path, Record], places: Sequence[Path]) -> list[str]:
    """What trained the records: as they say, or, of older ones, what stands beside them, if it is true of them."""
    files = [file for place in places if (file := place / COMMANDS).is_file()]
    written = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    told, used = [], []
    for path, record in found.items():
        if record.get("command"):
            told.append(record["command"])
        elif true := [line for line in written if trains(line, record)]:
            used += true
        else:
            raise ValueError(f"{path}: no command in {path.parents[1] / COMMANDS} trains this run, and it holds none")
    return [*sweeps(told), *(line for line in dict.fromkeys(written) if line in used)]


def _tables(records: Sequence[Record], options: argparse.Namespace) -> list[str]:
    if options.by:
        grids = compare_lengths(records) if options.by == "length" else pivot(records, options.by)
        return [re.sub("^### (.+)$", r"**\1**", grids_to_markdown(grids), flags=re.MULTILINE)]
    groups, _ = compare(records)
    if options.published:
        beside_published(groups)
    lines = []
    for group in groups:
        lines += [f"**{group.title}**", "", f"{group.subtitle}.", "", *markdown_table(group), ""]
        sources = [note for note in notes(group) if note.startswith("[")]
        more = len(notes(group)) - len(sources)
        lines += [f"{'; '.join(sources)}.", ""] if sources else []
        lines += [f"Notes that compare.py adds to these rows, such as departures: {more}.", ""] if more else []
    return [*lines, f"{LEGEND}.", ""]


def _source(records: Sequence[Record], places: Iterable[str], folder: str) -> str:
    """Seeds, commits, machine and where the records are."""
    seeds = sorted({record["seed"] for record in records})
    commits = dict.fromkeys(
        (record.get("commit") or "unknown")[:7] + (" with changes" if record.get("dirty") else "") for record in records
    )
    links = ", ".join(f"[{Path(place).name}]({os.path.relpath(place, folder)})" for place in places)
    return (
        f"Seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}; commit{'s' if len(commits) > 1 else ''} "
        f"{', '.join(commits)}; {'; '.join(dict.fromkeys(map(measured, records)))}; records: {links}."
    )


def _benchmark(place: str, project: Path, folder: str) -> str:
    """Speeds in training by length, against softmax where it was measured, or else the first variant."""
    report: dict[str, Any] = json.loads((project / place).read_text(encoding="utf-8"))
    settings, where = report["arguments"], report["environment"]
    variants, lengths = settings["variants"], settings["lengths"]
    timed = {(point["variant"], point["length"]): point["train"] for point in report["points"]}

    def ratio(variant: str, length: int) -> float:
        own, base = timed[variant, length], timed[variants[0], length]
        return own["ratio"] or own["tokens_per_second"] / base["tokens_per_second"]

    options = [f"--{name.replace('_', '-')} {_words(settings[name])}" for name in _BENCHMARK]
    machine = f"{where['cpu']}, {where['threads']} threads, {where['precision']}"
    lines = [
        f"    python scripts/benchmark.py {' '.join(options)}",
        "",
        *markdown_head([f"training, tokens/s against {variants[0]}, by length", *(f"{n:,}" for n in lengths)]),
        *(markdown_line([name, *(f"×{ratio(name, n):#.3g}".rstrip(".") for n in lengths)]) for name in variants),
        "",
        f"Commit {where['commit'][:7]}; {machine}; [record]({os.path.relpath(place, folder)}).",
        "",
    ]
    return "\n".join(lines)


def _words(value: Any) -> str:
    return shlex.join(map(str, value)) if isinstance(value, list) else f"{value:g}"
