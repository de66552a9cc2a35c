"""All folds of a task as one run: a run each, in a folder each, and what they say together."""

import csv
import time
from pathlib import Path
from typing import Any

import yaml

from longdoc.out_of_fold import PREDICTIONS
from longdoc.results.folds import combine
from longdoc.results.record import Record, config_hash, write_record
from longdoc.run import run


def run_folds(config: dict[str, Any], folder: Path) -> Record:
    """A run in ``fold_0``, ``fold_1``, ... below ``folder``; in it, results.json and predictions.csv of all.

    What a fold has finished it keeps, if the whole is resumed.
    """
    start = time.monotonic()
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    records = []
    for fold in range(config["task"]["folds"]):
        place = folder / f"fold_{fold}"
        place.mkdir(exist_ok=True)
        begun = config["resume"] and (place / "results.json").is_file()
        task = config["task"] | {"fold": fold}
        records.append(run(config | {"task": task, "resume": str(place) if begun else None}, place))
    whole = combine(records)
    whole |= {"run_id": folder.name, "config": config, "config_hash": config_hash(config)}
    whole["wall_seconds"] = time.monotonic() - start
    rows: list[list[str]] = []
    for fold in range(len(records)):
        with (folder / f"fold_{fold}" / PREDICTIONS).open(newline="") as file:
            header, *of_fold = csv.reader(file)
        rows += of_fold
    with (folder / PREDICTIONS).open("w", newline="") as file:
        csv.writer(file).writerows([header, *sorted(rows, key=lambda row: int(row[0]))])
    write_record(folder, whole)
    return whole
