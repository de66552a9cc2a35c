"""What train.py does: one run, or one job of a sweep. Launchers of Hydra's import it in processes of their own."""

import math
import os
import re
import secrets
import signal
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from longdoc import sweep
from longdoc.baseline_run import baseline_config
from longdoc.command_line import check_is_read, command_line, trust
from longdoc.evaluation import quiet
from longdoc.folds import run_folds
from longdoc.protocol import check_protocol
from longdoc.results.last_lines import last_lines
from longdoc.results.record import Record
from longdoc.run import PROTOCOLS, console, run
from longdoc.speed import keep_freed_memory

KEYS = {
    "attention", "baseline", "calibration", "callbacks", "decay", "encoder", "feature_map", "head", "interaction",
    "logger", "optimizer", "pooling", "protocol", "resume", "scheduler", "seed", "sweep", "task", "trainer", "trust",
}  # fmt: skip


def run_folder(task: str, name: str | None, resume: str | None) -> str:
    """The resumed run's folder, or a new one in that of the sweep's ``name`` or of the task."""
    return f"outputs/{_new_folder(task, name)}" if resume is None else _resumed(resume)


def job_folder(task: str, name: str | None, resume: str | None, *, _root_: DictConfig) -> str:
    """Of a sweep's job, below the sweep's folder: as ``run_folder``, but where a run of the very same config lies
    there, that one."""
    if resume is not None:
        return _resumed(resume)
    new = _new_folder(task, name)
    try:
        config = plain_config(OmegaConf.masked_copy(_root_, [str(key) for key in _root_ if key != "hydra"]))
    except Exception:  # the job says it, and the others of its sweep go on
        return new
    found = sweep.folder_of(config, Path(_root_.hydra.sweep.dir, new).parent)
    return str(found.resolve()) if found else new


def _resumed(resume: str) -> str:
    folder = Path(resume)
    if not (folder / "config.yaml").is_file() or not sweep.begun(folder):
        raise FileNotFoundError(f"resume={resume} is no run's folder with config.yaml and checkpoints/last.ckpt")
    return str(folder.resolve())


def _new_folder(task: str, name: str | None) -> str:
    """One that no other run can get, even in the same second."""
    if name is not None and not re.fullmatch(r"\w[\w.-]*", str(name)):
        raise ValueError(f"sweep={name} must be the name of a folder, of letters, digits and any of . _ -")
    if name == "wandb":
        raise ValueError("sweep=wandb: outputs/wandb is the folder that W&B's runs are linked in; take another name")
    return f"{task if name is None else name}/{datetime.now():%Y-%m-%d_%H-%M-%S}_{secrets.token_hex(3)}"


OmegaConf.register_new_resolver("longdoc.run_folder", run_folder, replace=True)
OmegaConf.register_new_resolver("longdoc.job_folder", job_folder, replace=True)


def plain_config(cfg: DictConfig) -> dict[str, Any]:
    """The resolved config as plain values; of a resumed run the saved one, changed where the command line says so."""
    hydra_config = HydraConfig.get()
    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True)  # type: ignore[assignment]
    for key in config.keys() - KEYS:  # "+key=value" creates what nothing reads
        raise ValueError(f"{key} does not exist; the valid names there are {', '.join(sorted(KEYS))}")
    groups = [g for g in hydra_config.runtime.choices if not g.startswith("hydra/")]
    choices = config["choices"] = {group: hydra_config.runtime.choices[group] for group in groups}
    config["trust"] = trust(config["trust"], sys.argv[1:])
    if cfg.resume is None:
        check_is_read(config["attention"], choices, hydra_config.overrides.task)
        check_protocol(PROTOCOLS, choices["protocol"], choices, config["scheduler"])
        return baseline_config(config, hydra_config.overrides.task) if choices["baseline"] else config
    resumed = OmegaConf.load(Path(cfg.resume) / "config.yaml")
    resumed.trust = config["trust"]  # the saved one is not believed
    for override in hydra_config.overrides.task:
        key = override.split("=")[0]
        if key == "resume":
            resumed.resume = cfg.resume
        elif key.startswith("trainer."):
            OmegaConf.update(resumed, key, OmegaConf.select(cfg, key))
        elif key != "trust":
            raise ValueError(f"{override} cannot change a resumed run; only values of trainer can, such as its limits")
    return OmegaConf.to_container(resumed, resolve=True)  # type: ignore[return-value]


def job(cfg: DictConfig) -> float:
    """One run in one folder; returns the best val/loss, which a sweeper may minimise."""
    hydra_config = HydraConfig.get()
    folder = Path(hydra_config.runtime.output_dir)
    # Outside of training, where Interrupt waits for the step to end.
    signal.signal(signal.SIGTERM, lambda signum, _: sys.exit(128 + signum))
    quiet()
    keep_freed_memory()
    overrides = list(hydra_config.overrides.task)
    command = command_line(overrides, cfg.resume)
    if hydra_config.mode != RunMode.MULTIRUN:
        return _selected(_run(plain_config(cfg), folder, command))
    with sweep.told(hydra_config.job.num, overrides, folder) as outcome:
        config = plain_config(cfg)
        if cfg.resume is None:
            if record := sweep.finished(folder):
                outcome["outcome"] = sweep.ALREADY
                console.print(f"{sweep.ALREADY}: {os.path.relpath(folder)}{sweep.other_commit(record)}")
                return _selected(record)
            config["resume"] = str(folder) if sweep.begun(folder) else None
        return _selected(_run(config, folder, command))


def _run(config: dict[str, Any], folder: Path, command: str | None) -> Record:
    folds, fold = (config["task"].get(key) for key in ("folds", "fold"))
    with sweep.alone(folder):
        record = (run_folds if folds and fold is None else run)(config, folder, command)
    for line in last_lines(folder, record):
        console.print(line)
    return record


def _selected(record: Record) -> float:
    value = record["selection"]["value"] if "selection" in record else record["metrics"].get("val/loss")
    return math.nan if value is None else value
