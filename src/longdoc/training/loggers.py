"""CSV and W&B: everything of a run below its folder."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import wandb
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger, Logger, WandbLogger

from longdoc.build import TRUSTED, build

# Every row with one of the curves has both axes, so that W&B can draw it against either.
AXES = ("train/tokens", "train/seconds")
CURVES = ("train/loss", "val/loss", "val/accuracy", "val/f1_macro")
SUMMARY = ("parameters", "peak_memory_mb")  # of a record, beside its metrics
SHOWN = 50  # so many classes at most have a confusion matrix


class RunLogger(WandbLogger):
    """W&B's logger; in its summary val/... is what the best checkpoint has instead of what came last."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._wandb_init.pop("anonymous", None)  # Lightning passes it always, and W&B warns of it always
        self._validated: dict[str, float] = {}
        self._best: dict[str, float] = {}

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        super().log_metrics(metrics, step)
        if "val/loss" in metrics:
            self._validated = {name: value for name, value in metrics.items() if name.startswith("val/")}

    def after_save_checkpoint(self, checkpoint_callback: ModelCheckpoint) -> None:
        """After a validation: of best.ckpt if it is the best, then of last.ckpt always."""
        super().after_save_checkpoint(checkpoint_callback)
        if checkpoint_callback.monitor is not None:
            self._best = self._validated
        self.experiment.summary.update(self._best)


def build_loggers(
    config: dict[str, Any], folder: Path, record: Mapping[str, Any], trusted: tuple[str, ...] = TRUSTED
) -> list[Logger]:
    """The configured loggers, writing metrics.csv and wandb/ in ``folder``; ``WANDB_MODE=disabled`` leaves W&B out.

    record: what is known of the run; ``variant``, how its tokens mix in a word, goes into W&B's config.
    """
    loggers: list[Logger] = []
    for logger in config.values():
        target = logger["_target_"].rpartition(".")[2]
        if target == "CSVLogger":
            _keep(folder / "metrics.csv")
            loggers.append(CSVLogger(str(folder), name="", version=""))
        elif target == "WandbLogger":
            if os.environ.get("WANDB_MODE") == "disabled":
                continue
            tags = [record["attention"], record["feature_map"], record["decay"]]
            run = _run_logger(
                logger, folder, record["wandb_id"] or record["run_id"],
                name=record["run_id"],
                group=f"{record['task']}/{record['protocol']}",
                job_type="train",
                tags=[tag for tag in tags if tag not in (None, "none")],
                config=record["config"] | {"variant": record["variant"], "departures": record["departures"]},
            )  # fmt: skip
            for axis in AXES:
                run.experiment.define_metric(axis)
            for curve in CURVES:  # by name: of two patterns that match, Lightning's * is one, W&B takes any
                run.experiment.define_metric(curve, step_metric=AXES[0])
            loggers.append(run)
        else:
            loggers.append(build(logger, trusted))
    return loggers


def _run_logger(settings: Mapping[str, Any], folder: Path, wandb_id: str, **options: Any) -> RunLogger:
    """The logger of the run ``wandb_id``, new or resumed; W&B's agent gives the runs of its sweeps ids of their own."""
    os.environ["WANDB_DATA_DIR"] = str(folder.resolve() / "wandb")  # for copies of tables, until they are sent
    options |= {key: value for key, value in settings.items() if key != "_target_"}
    quiet = wandb.Settings(console="off", silent=True)
    return RunLogger(save_dir=str(folder), id=wandb_id, resume="allow", settings=quiet, **options)


def wandb_id(loggers: Iterable[Logger]) -> str | None:
    """The id that W&B knows the run by; None if it does not."""
    return next((str(logger.version) for logger in loggers if isinstance(logger, RunLogger)), None)


def _keep(metrics: Path) -> None:
    """A resumed run starts a new metrics.csv; the earlier parts stay as metrics.1.csv, metrics.2.csv, ..."""
    if metrics.exists():
        number = 1
        while (part := metrics.with_suffix(f".{number}.csv")).exists():
            number += 1
        metrics.rename(part)


def log_test(loggers: Iterable[Logger], record: Mapping[str, Any], confusion: Sequence[Sequence[int]] | None) -> None:
    """Metrics of the test split and, in W&B, its tables: test/by_length, test/per_class and test/confusion.

    confusion: row i, column j: documents of class i that were given class j.
    """
    step, columns = record["steps"], record["per_class"]
    tables: dict[str, tuple[list[str], list[list[Any]]]] = {}
    if bins := record.get("by_length"):
        tables["by_length"] = list(bins[0]), [list(found.values()) for found in bins]
    if columns:
        tables["per_class"] = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
    if columns and confusion and len(confusion) <= SHOWN:
        names = columns["class"]
        cells = [[names[i], names[j], count] for i, row in enumerate(confusion) for j, count in enumerate(row)]
        tables["confusion"] = ["Actual", "Predicted", "nPredictions"], cells  # as W&B's own chart has them
    for logger in loggers:
        logger.log_metrics({k: v for k, v in record["metrics"].items() if k.startswith("test/")}, step=step)
        if isinstance(logger, RunLogger):
            for name, (header, rows) in tables.items():
                logger.log_table(f"test/{name}", header, rows, step=step)


def log_evaluation(record: Mapping[str, Any], config: Mapping[str, Any], folder: Path) -> None:
    """Adds what a script found of a checkpoint to the W&B run that trained it, as evaluate/test/accuracy and so on.

    record: with ``wandb_id``, ``step``, ``metrics`` and under which conditions they were found. config: the run's
    ``logger``, which says whether it is offline. Files go to ``folder``/wandb. Raises ValueError if there is no run.
    """
    if record["wandb_id"] is None or "wandb" not in config:
        raise ValueError(f"{record['checkpoint']} was trained without W&B; there is no run to add to")
    conditions = ("checkpoint", "split", "step", "max_length", "truncation", "content")
    found = {name: record[name] for name in conditions if record.get(name) is not None} | record["metrics"]
    logger = _run_logger(config["wandb"], folder, record["wandb_id"])
    try:
        logger.log_metrics({f"evaluate/{name}": value for name, value in found.items()}, step=record["step"])
    finally:
        _close(0)


def finish_wandb(exit_code: int, record: Mapping[str, Any]) -> None:
    """Closes the W&B run, if any, so that the next job of a sweep gets its own; waits until its file is whole.

    Its summary has the ``record``'s metrics, those of the best checkpoint.
    """
    if wandb.run is not None:
        wandb.run.config.update({"departures": record.get("departures") or {}}, allow_val_change=True)
        wandb.run.summary.update({name: record[name] for name in SUMMARY if name in record} | record.get("metrics", {}))
        _close(exit_code)


def _close(exit_code: int) -> None:
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
