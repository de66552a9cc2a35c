"""All folds of a task as one run: a run each, in a folder each, and what they say together."""

import csv
import time
from pathlib import Path
from typing import Any

import yaml

from longdoc import sweep
from longdoc.build import TRUSTED, allow, build
from longdoc.errors import one_sentence
from longdoc.out_of_fold import PREDICTIONS
from longdoc.results.folds import combine
from longdoc.results.process import process
from longdoc.results.record import Record, of_config, read_record, write_record
from longdoc.run import check_dealt, run
from longdoc.tasks.base import Task


def run_folds(config: dict[str, Any], folder: Path, command: str | None = None) -> Record:
    """A run in ``fold_0``, ``fold_1``, ... below ``folder``; in it, results.json and predictions.csv of all.

    Where a fold fails, or is interrupted, results.json says which and why; what others have finished they keep, if the
    whole is resumed.
    command: as ``run`` has it.

    Raises ValueError before anything is written if folds to go on with were dealt from other documents.
    """
    start, folds = time.monotonic(), config["task"]["folds"]
    if config["resume"]:
        _check_dealt(config, folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    own = of_config(config) | {"run_id": folder.name, "status": "running", "command": command}
    write_record(folder, own | {"process": process()})
    records: list[Record] = []
    try:
        for fold in range(folds):
            records.append(_run_fold(config, folder / f"fold_{fold}", fold, command))
    except BaseException as error:
        interrupted = isinstance(error, SystemExit | KeyboardInterrupt)
        own["status"] = "interrupted" if interrupted else "failed"
        own["error"] = f"fold_{len(records)}: {'interrupted' if interrupted else one_sentence(error)}"
        write_record(folder, own | {"wall_seconds": time.monotonic() - start})
        raise
    _write_predictions(folder, folds)
    whole = combine(records) | {key: own[key] for key in ("run_id", "config", "config_hash", "command")}
    write_record(folder, whole)
    return whole


def _check_dealt(config: dict[str, Any], folder: Path) -> None:
    begun = [place for fold in range(config["task"]["folds"]) if _begun(place := folder / f"fold_{fold}")]
    if begun:
        task: Task = build(config["task"] | {"fold": 0}, TRUSTED + allow(config["trust"]))
        task.prepare()
        for place in begun:
            check_dealt(read_record(place), task)


def _run_fold(config: dict[str, Any], place: Path, fold: int, command: str | None) -> Record:
    """Goes on with a fold that has a checkpoint, or is finished, if the whole is resumed."""
    place.mkdir(exist_ok=True)
    resume = str(place) if config["resume"] and _begun(place) else None
    return run(config | {"task": config["task"] | {"fold": fold}, "resume": resume}, place, command)


def _begun(place: Path) -> bool:
    return sweep.begun(place) or sweep.finished(place) is not None


def _write_predictions(folder: Path, folds: int) -> None:
    rows: list[list[str]] = []
    for fold in range(folds):
        with (folder / f"fold_{fold}" / PREDICTIONS).open(newline="") as file:
            header, *of_fold = csv.reader(file)
        rows += of_fold
    with (folder / PREDICTIONS).open("w", newline="") as file:
        csv.writer(file).writerows([header, *sorted(rows, key=lambda row: int(row[0]))])
