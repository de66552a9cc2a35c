"""Train a classifier of long documents:  python train.py [task=listops] [feature_map=favor] [key=value ...]

compose -> run: task -> classifier -> trainer -> fit -> test the best checkpoint -> results.json
"""

import os
import secrets
import signal
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from longdoc.baseline_run import baseline_config
from longdoc.command_line import check_is_read, trust
from longdoc.errors import one_sentence
from longdoc.evaluation import quiet
from longdoc.folds import run_folds
from longdoc.protocol import check_protocol
from longdoc.results.last_lines import last_lines
from longdoc.run import PROTOCOLS, console, run
from longdoc.speed import keep_freed_memory

KEYS = {
    "attention", "baseline", "calibration", "callbacks", "decay", "encoder", "feature_map", "head", "interaction",
    "logger", "optimizer", "pooling", "protocol", "resume", "scheduler", "seed", "task", "trainer", "trust",
}  # fmt: skip


def run_folder(task: str, resume: str | None) -> str:
    """The resumed run's folder, or a new one that no other run can get, even in the same second."""
    if resume is None:
        return f"outputs/{task}/{new_run_name()}"
    folder = Path(resume)
    begun = (folder / "checkpoints" / "last.ckpt").is_file() or (folder / "fold_0").is_dir()
    if not (folder / "config.yaml").is_file() or not begun:
        raise FileNotFoundError(f"resume={resume} is no run's folder with config.yaml and checkpoints/last.ckpt")
    return str(folder.resolve())


def new_run_name() -> str:
    """Date, time and six random digits."""
    return f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{secrets.token_hex(3)}"


OmegaConf.register_new_resolver("longdoc.run_folder", run_folder, replace=True)
OmegaConf.register_new_resolver("longdoc.run_name", new_run_name, replace=True)


def plain_config(cfg: DictConfig, folder: Path) -> dict[str, Any]:
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
    resumed = OmegaConf.load(folder / "config.yaml")
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


@hydra.main(config_path="conf", config_name="train", version_base="1.3")
def main(cfg: DictConfig) -> float:
    """One run in one folder; returns the best val/loss, which a sweeper may minimise."""
    folder = Path(HydraConfig.get().runtime.output_dir)
    # Outside of training, where Interrupt waits for the step to end.
    signal.signal(signal.SIGTERM, lambda signum, _: sys.exit(128 + signum))
    quiet()
    keep_freed_memory()
    config = plain_config(cfg, folder)
    folds, fold = (config["task"].get(key) for key in ("folds", "fold"))
    record = run_folds(config, folder) if folds and fold is None else run(config, folder)
    for line in last_lines(folder, record):
        console.print(line)
    return record["selection"]["value"] if "selection" in record else record["metrics"]["val/loss"]


if __name__ == "__main__":
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # so that Hydra raises its errors instead of printing them
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        sys.exit(f"train.py: {one_sentence(error)}")
