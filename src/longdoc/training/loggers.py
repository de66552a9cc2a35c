"""CSV and W&B: everything of a run below its folder."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import wandb
from pytorch_lightning.loggers import CSVLogger, Logger, WandbLogger

from longdoc.build import TRUSTED, build


def build_loggers(
    config: dict[str, Any], folder: Path, record: dict[str, Any], trusted: tuple[str, ...] = TRUSTED
) -> list[Logger]:
    """The configured loggers, writing metrics.csv and wandb/ in ``folder``."""
    loggers: list[Logger] = []
    for logger in config.values():
        target = logger["_target_"].rpartition(".")[2]
        if target == "CSVLogger":
            _keep(folder / "metrics.csv")
            loggers.append(CSVLogger(str(folder), name="", version=""))
        elif target == "WandbLogger":
            tags = [record["attention"], record["feature_map"], record["decay"]]
            run: WandbLogger = build(logger | {"_partial_": True})(
                save_dir=str(folder),
                id=record["wandb_id"],
                name=record["run_id"],
                group=f"{record['task']}/{record['protocol']}",
                job_type="train",
                tags=[tag for tag in tags if tag not in (None, "none")],
                config=record["config"] | {"departures": record["departures"]},
                resume="allow",
                settings=wandb.Settings(console="off", silent=True),
            )
            run._wandb_init.pop("anonymous", None)  # Lightning passes it always, and W&B warns of it always
            loggers.append(run)
        else:
            loggers.append(build(logger, trusted))
    return loggers


def _keep(metrics: Path) -> None:
    """A resumed run starts a new metrics.csv; the earlier parts stay as metrics.1.csv, metrics.2.csv, ..."""
    if metrics.exists():
        number = 1
        while (part := metrics.with_suffix(f".{number}.csv")).exists():
            number += 1
        metrics.rename(part)


def finish_wandb(exit_code: int, departures: Mapping[str, Any] | None = None) -> None:
    """Closes the W&B run, if any, so that the next job of a sweep gets its own; waits until its file is whole.

    departures: from the protocol, as they are at the end.
    """
    if wandb.run is not None:
        wandb.run.config.update({"departures": departures or {}}, allow_val_change=True)
        wandb.finish(exit_code=exit_code)
        wandb.teardown()


def link_wandb(folder: Path, outputs: Path) -> None:
    """Links the run's W&B folders into outputs/wandb, which `wandb leet outputs/wandb` shows together."""
    together = outputs / "wandb"
    with suppress(OSError):  # a file system without links; the runs are where they are all the same
        for run in folder.glob("wandb/*run-*-*"):
            together.mkdir(exist_ok=True)
            link = together / run.name
            if not link.is_symlink():
                link.symlink_to(Path("..") / run.relative_to(outputs))
