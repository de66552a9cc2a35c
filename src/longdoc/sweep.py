"""The jobs of a sweep: which are done already, where one goes on, and what became of each."""

import json
import os
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from longdoc.errors import one_sentence
from longdoc.results.record import Record, git_state, learned, read_record
from longdoc.tasks.cache import PROJECT

COMPARE = PROJECT / "scripts" / "compare.py"
ALREADY = "already finished"
_OUTCOMES = ("finished", ALREADY, "failed", "interrupted")

# The file in which jobs, also those of other processes, say what became of them.
_JOURNAL = "LONGDOC_JOURNAL"


def begun(folder: Path) -> bool:
    """Whether there is something in a run's folder to go on from."""
    return (folder / "checkpoints" / "last.ckpt").is_file() or (folder / "fold_0").is_dir()


def finished(folder: Path) -> Record | None:
    """The record of a run's folder if the run is finished."""
    record = _read(folder)
    return record if record and record["status"] == "finished" else None


def folder_of(config: Mapping[str, Any], runs: Path) -> Path | None:
    """Of the folders in ``runs`` that of a run of this very config, seed among it: the newest that is finished, or else
    the newest that can go on; None if there is neither."""
    wanted = learned(config)
    alike = [folder for folder in sorted(runs.glob("*/"), reverse=True) if _learned(folder) == wanted]
    return next(filter(finished, alike), next(filter(begun, alike), None))


def _learned(folder: Path) -> dict[str, Any] | None:
    record = _read(folder)
    return learned(record["config"]) if record else None


def _read(folder: Path) -> Record | None:
    try:
        return read_record(folder)
    except (OSError, ValueError):  # of no run, of an older schema, or half a copy
        return None


def other_commit(record: Record) -> str:
    """Words on a finished run of another commit than the project's, or of changes to one, if it is."""
    then, changed_then = record.get("commit"), record.get("dirty")
    now, changed_now = git_state(PROJECT)
    if not then or not now or (then == now and not changed_then and not changed_now):
        return ""
    before, after = (" with changes" if changed else "" for changed in (changed_then, changed_now))
    return f", at commit {then[:10]}{before}, now {now[:10]}{after}"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """While a run goes on in ``folder``; raises ValueError if another process has one going there."""
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise ValueError(f"another process is training in {os.path.relpath(folder)}") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def told(number: int, words: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    """Writes into the journal what became of a job; yields it, for ``outcome`` to be changed.

    words: the job's overrides, key=value.
    """
    job: dict[str, Any] = {"number": number, "words": words, "folder": str(folder), "outcome": "finished"}
    _write(job | {"outcome": "interrupted", "sentence": "its process was killed"})  # unless it comes to say otherwise
    try:
        yield job
    except Exception as error:
        job |= {"outcome": "failed", "sentence": one_sentence(error)}
        print(f"failed: {job['sentence']}", file=sys.stderr, flush=True)
        raise
    except BaseException:
        job["outcome"] = "interrupted"
        raise
    finally:
        _write(job)


def _write(job: Mapping[str, Any]) -> None:
    if path := os.environ.get(_JOURNAL):
        Path(path).parent.mkdir(exist_ok=True)
        with open(path, "a") as file:
            file.write(json.dumps(job) + "\n")


@contextmanager
def journal(jobs: list[dict[str, Any]]) -> Iterator[None]:
    """Within it jobs tell what becomes of them, in whatever process; at its end ``jobs`` holds that, in their order."""
    # Where other machines of a cluster look as well; the number of a process comes again.
    path = Path(f"outputs/.jobs_{os.getpid()}_{secrets.token_hex(3)}").absolute()
    os.environ[_JOURNAL] = str(path)
    try:
        yield
    finally:
        if path.is_file():
            said = {job["number"]: job for job in map(json.loads, path.read_text().splitlines())}  # the last of each
            jobs += [said[number] for number in sorted(said)]
            path.unlink()


def summary(jobs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line on all jobs, one on each with the words that not all have, and what to do next."""
    outcomes = [job["outcome"] for job in jobs]
    counts = [f"{outcomes.count(outcome)} {outcome}" for outcome in _OUTCOMES if outcome in outcomes]
    yield f"{len(jobs)} job{'' if len(jobs) == 1 else 's'} of the sweep: {', '.join(counts)}"
    common = set.intersection(*(set(job["words"]) for job in jobs))
    width = max(map(len, outcomes))
    for job in jobs:
        words = " ".join(word for word in job["words"] if word not in common)
        end = job.get("sentence") or os.path.relpath(job["folder"])
        yield f"  {job['outcome']:{width}}  {words}{': ' if words else ''}{end}"
    if "failed" in outcomes or "interrupted" in outcomes:
        yield "the same command runs what is not finished"
    if ALREADY in outcomes:
        yield "sweep=NAME, another folder, runs all of them anew"
    folders = sorted({os.path.relpath(Path(job["folder"]).parent) for job in jobs})
    yield f"compare:    {shlex.join(['python', os.path.relpath(COMPARE), *folders])}"
