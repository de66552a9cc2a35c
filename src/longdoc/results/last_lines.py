"""What a run says at its end."""

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.table import Table

from longdoc.results.comparison import of_folds
from longdoc.results.departures import departures_text
from longdoc.results.lengths import length_table
from longdoc.results.metrics import absent, metrics_text
from longdoc.results.record import Record

EVALUATE = Path(__file__).resolve().parents[3] / "scripts" / "evaluate.py"


def last_lines(folder: Path, record: Record) -> Iterator[str | Table]:
    """Counts of the data, references, metrics, where the run lies and how to score it again."""
    metrics, selection = record["metrics"], record.get("selection", {})
    shown = Path(os.path.relpath(folder))
    for split, counts in record["splits"].items():
        if counts["empty_rows"]:
            yield f"  {counts['empty_rows']} of {counts['rows']} documents of the {split} split are empty"
        if counts.get("duplicate_rows"):
            yield f"  {counts['duplicate_rows']} documents of the {split} split are in an earlier split, too"
        if counts.get("group_rows"):
            yield f"  {counts['group_rows']} documents of the {split} split are of a group of an earlier split, too"
        if split == "test":
            yield from truncated(split, counts)
    if record.get("validation_seconds", 0) > 0.1 * record["train_seconds"] > 10:  # of a short run it says nothing
        share = record["validation_seconds"] / record["train_seconds"]
        yield f"  validation took {share:.0%} of the training time; a larger trainer.val_check_interval helps"
    if record.get("departures"):
        yield f"  departs from {record['protocol']}: {departures_text(record['departures'])}"
    for name, value in record["references"].items():
        yield f"  {name.replace('_', ' ')} reaches {value:.3f} on the test split"
    if record.get("temperature", 1.0) != 1:
        yield f"  calibrated on the validation split: temperature {record['temperature']:.3f}"
    if record.get("per_class") and (missing := absent(record["per_class"])):
        yield f"  in no document of the test split: {', '.join(missing)}"
    if table := length_table(record.get("by_length", [])):
        yield table
    speed = record["tokens_per_second"]
    yield (
        f"test {metrics_text(metrics, 'test')}, by {record.get('baseline') or checkpoint_text(record)}"
        + ("" if speed is None else f", {speed / 1000:,.0f}k tokens/s in training")
    )
    if limits := of_folds(record):
        number, method = record["folds"]["number"], record["folds"]["interval"]
        yield f"test accuracy of {number} folds: mean in [{limits[0]:.4f}, {limits[1]:.4f}] by {method}"
    yield f"run folder: {shown}"
    if any(folder.glob("wandb/offline-run-*")):
        yield f"to W&B:     wandb sync {shlex.quote(str(shown))}/wandb/offline-run-*"
    if "checkpoint" not in selection:
        return
    yield f"evaluate:   {shlex.join(['python', os.path.relpath(EVALUATE), str(shown / selection['checkpoint'])])}"


def truncated(split: str, counts: Mapping[str, int]) -> Iterator[str]:
    """A line on what is never read of a split, if anything."""
    if counts["truncated_rows"]:
        # Older records do not say how many tokens there are.
        of = f" of {counts['tokens']:,}" if "tokens" in counts else ""
        rows = f"{counts['truncated_rows']:,} of {counts['rows']:,} documents of the {split} split"
        yield f"  {rows} are read in part, {counts['truncated_tokens']:,}{of} tokens left out"


def checkpoint_text(record: Record) -> str:
    """Which checkpoint was scored, and why."""
    selection = record.get("selection")
    if selection is None:
        return "the checkpoints of the folds"
    return f"{selection['checkpoint']} of step {selection['step']} (best {selection['metric']})"
