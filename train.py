"""Train a classifier of long documents:  python train.py [task=listops] [feature_map=favor] [key=value ...]

compose -> task -> classifier -> trainer -> fit -> test the best checkpoint -> results.json
"""

import os
import secrets
import shlex
import signal
import sys
import time
import traceback
from datetime import datetime
from pathlib import Path
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

import hydra
import pytorch_lightning as pl
import torch
import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from longdoc.baseline_run import baseline_config, check_baseline, describe_baseline, run_baseline
from longdoc.build import TRUSTED, allow, build
from longdoc.calibration import calibrate, check_calibration
from longdoc.command_line import check_is_read, trust
from longdoc.errors import one_sentence
from longdoc.evaluation import default_device, evaluate, quiet
from longdoc.export import VERSION, build_classifier, check_causal, check_labels, check_lengths, check_pairs
from longdoc.protocol import check_protocol, prescribed
from longdoc.results.departures import Departures, departures, departures_text
from longdoc.results.metrics import absent, metrics_text, per_class
from longdoc.results.record import (
    SCHEMA_VERSION,
    config_hash,
    git_state,
    machine,
    mixing,
    read_record,
    versions,
    write_record,
)
from longdoc.speed import ProcessMemory, flops_per_token, keep_freed_memory
from longdoc.tasks.base import Task
from longdoc.training import Budget, ClassifierModule
from longdoc.training.acceleration import choose_compile, choose_precision
from longdoc.training.budget import seconds
from longdoc.training.callbacks import Compile, Interrupt, RunProgress, Throughput, checkpoints
from longdoc.training.loggers import build_loggers, finish_wandb, link_wandb

KEYS = {
    "attention", "baseline", "calibration", "callbacks", "decay", "encoder", "feature_map", "head", "interaction",
    "logger", "optimizer", "pooling", "protocol", "resume", "scheduler", "seed", "task", "trainer", "trust",
}  # fmt: skip
PROJECT = Path(__file__).resolve().parent
PROTOCOLS = PROJECT / "conf" / "protocol"
console = Console(highlight=False, markup=False, soft_wrap=True)


def run_folder(task: str, resume: str | None) -> str:
    """The resumed run's folder, or a new one that no other run can get, even in the same second."""
    if resume is None:
        return f"outputs/{task}/{new_run_name()}"
    folder = Path(resume)
    if not (folder / "config.yaml").is_file() or not (folder / "checkpoints" / "last.ckpt").is_file():
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


def describe(config: dict[str, Any], task: Task) -> dict[str, Any]:
    """The part of the record that is known before training."""
    commit, dirty = git_state(PROJECT)
    splits = {split: counts | {"content": task.documents(split).content()} for split, counts in task.describe().items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "config_hash": config_hash(config),
        "task": task.name,
        "protocol": config["protocol"]["name"],
        "departures": departed(config, splits),
        **mixing(config),
        "encoder": config["choices"]["encoder"],
        "max_length": task.max_length,
        "source": task.source,
        "seed": config["seed"],
        "splits": splits,
        "references": task.references(),
        "versions": versions(),
        "commit": commit,
        "dirty": dirty,
        "config": config,
    }


def departed(config: dict[str, Any], splits: dict[str, dict[str, Any]], steps: int | None = None) -> Departures:
    """What the run does otherwise than its protocol says, also in the rows that it has and the steps that it does."""
    choices, rows = config["choices"], {split: counts["rows"] for split, counts in splits.items()}
    values = prescribed(PROTOCOLS, choices["protocol"], choices["task"], choices["trainer"])
    return departures(values, config | {"rows": rows}, steps)


def fit(config: dict[str, Any], folder: Path, task: Task, record: dict[str, Any]) -> ClassifierModule:
    """Trains, and fills the record with what the training was."""
    trusted = TRUSTED + allow(config["trust"])
    options = dict(config["trainer"])
    limits = {name: options.pop(name) for name in ("max_time", "max_steps", "max_epochs")}
    default_time = options.pop("default_time")
    options.pop("workers", None)  # the task's
    if all(limit is None for limit in limits.values()):
        limits["max_time"] = default_time
    device = options["accelerator"] = {"auto": default_device(), "gpu": "cuda"}.get(
        options["accelerator"], options["accelerator"]
    )
    options["precision"] = choose_precision(options["precision"], device, console.print)
    compiled = choose_compile(options.pop("compile"), device, console.print)

    max_time = seconds(limits["max_time"])
    batches = task.train_sampler().epoch_batches
    budget = Budget(max_time, limits["max_steps"], limits["max_epochs"], batches / options["accumulate_grad_batches"])
    last = folder / "checkpoints" / "last.ckpt"
    throughput = Throughput(ProcessMemory(torch.device(device)))
    options["val_check_interval"] *= options["accumulate_grad_batches"]  # Lightning counts batches
    compilation = Compile([tuple(shape) for shape in task.train_shapes()], console)
    best, newest = checkpoints(last.parent)
    callbacks: list[pl.Callback] = [
        *([compilation] if compiled else []), budget, throughput, RunProgress(budget, throughput, console),
        *(build(callback, trusted) for callback in config["callbacks"].values()), best, newest,
        Interrupt(newest, last, options["val_check_interval"]),
    ]  # fmt: skip
    pl.seed_everything(config["seed"], verbose=False)
    model = build_classifier(config, task.vocab_size, len(task.classes), trusted)
    check_causal(task, model)
    check_lengths(task, model)
    record["parameters"] = sum(p.numel() for p in model.parameters())
    record["flops_per_token"] = {"forward": flops_per_token(model, task.max_length), "at": task.max_length}
    module = ClassifierModule(
        model, len(task.classes), config["seed"], build(config["optimizer"], trusted),
        build(config["scheduler"], trusted), budget,
        {"version": VERSION, "config": config, "task": task.state, "multi_label": task.multi_label},
        task.multi_label, task.class_weights,
    )  # fmt: skip
    trainer = pl.Trainer(
        **options, devices=1, max_epochs=1, logger=build_loggers(config["logger"], folder, record, trusted),
        callbacks=callbacks, check_val_every_n_epoch=None, num_sanity_val_steps=0, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False, default_root_dir=str(folder),
    )  # fmt: skip
    console.print(
        f"{record['task']}: {record['attention']} {record['feature_map'] or ''} {record['encoder']}, "
        f"{record['parameters']:,} parameters, {options['precision']}, {'compiled' if compiled else 'not compiled'}"
    )
    record |= machine(torch.get_num_threads())
    record |= {
        "budget": limits | {"max_time": max_time},
        "precision": options["precision"],
        "compiled": compiled,
        "accelerator": device,
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
    }
    write_record(folder, record)  # a run still going, or killed for good, can be told from others
    try:
        trainer.fit(module, datamodule=task, ckpt_path=str(last) if config["resume"] else None, weights_only=True)
    finally:
        record |= {
            "steps": trainer.global_step,
            "departures": departed(config, record["splits"], trainer.global_step),
            "epochs": trainer.global_step / budget.epoch_steps,
            "tokens": throughput.tokens,
            "tokens_per_second": throughput.tokens_per_second,
            "train_seconds": budget.time(),
            "validation_seconds": throughput.validation_seconds,
            "compile_seconds": compilation.seconds,
            "peak_memory_mb": throughput.memory.peak() / 1e6,
        }
    return module


def test(folder: Path, task: Task, record: dict[str, Any], module: ClassifierModule) -> None:
    """Scores the best checkpoint from its file alone, as scripts/evaluate.py does: float32, not compiled."""
    path = folder / "checkpoints" / "best.ckpt"
    config, device = record["config"], record["accelerator"]
    loaded = calibrate(path, task, config.get("calibration"), config["trust"], device)
    metrics = {}
    for split, prefix in (("validation", "val"), ("test", "test")):
        console.print(f"scoring {path.name} on the {split} split")
        scores = evaluate(loaded, task, split, device)
        metrics |= {f"{prefix}/{name}": value for name, value in scores.metrics().items()}
    record["temperature"] = loaded.model.temperature
    record["per_class"] = per_class(task.classes, scores.per_class())  # of the test split
    best = module.trainer.checkpoint_callbacks[0]
    record["selection"] = {
        "metric": "val/loss", "value": float(best.best_model_score), "epoch": loaded.step / module.budget.epoch_steps,
        "step": loaded.step, "checkpoint": "checkpoints/best.ckpt",
    }  # fmt: skip
    record["metrics"] = metrics
    for logger in module.trainer.loggers:
        logger.log_metrics({k: v for k, v in metrics.items() if k.startswith("test/")}, step=record["steps"])


def say_truncated(split: str, counts: dict[str, int]) -> None:
    """A line on what is never read of a split, if anything."""
    if counts["truncated_rows"]:
        # Older records do not say how many tokens there are.
        of = f" of {counts['tokens']:,}" if "tokens" in counts else ""
        console.print(f"  {counts['truncated_rows']:,} of {counts['rows']:,} documents of the {split} split are read "
                      f"in part, {counts['truncated_tokens']:,}{of} tokens left out")  # fmt: skip


def report(folder: Path, record: dict[str, Any]) -> None:
    """The last lines of a run."""
    metrics, selection = record["metrics"], record["selection"]
    shown = Path(os.path.relpath(folder))
    for split, counts in record["splits"].items():
        if counts["empty_rows"]:
            console.print(f"  {counts['empty_rows']} of {counts['rows']} documents of the {split} split are empty")
        if counts.get("duplicate_rows"):
            console.print(f"  {counts['duplicate_rows']} documents of the {split} split are in an earlier split, too")
        if split == "test":
            say_truncated(split, counts)
    if record.get("validation_seconds", 0) > 0.1 * record["train_seconds"] > 10:  # of a short run it says nothing
        share = record["validation_seconds"] / record["train_seconds"]
        console.print(f"  validation took {share:.0%} of the training time; a larger trainer.val_check_interval helps")
    if record.get("departures"):
        console.print(f"  departs from {record['protocol']}: {departures_text(record['departures'])}")
    for name, value in record["references"].items():
        console.print(f"  {name.replace('_', ' ')} reaches {value:.3f} on the test split")
    if record.get("temperature", 1.0) != 1:
        console.print(f"  calibrated on the validation split: temperature {record['temperature']:.3f}")
    if record.get("per_class") and (missing := absent(record["per_class"])):
        console.print(f"  in no document of the test split: {', '.join(missing)}")
    console.print(
        f"test {metrics_text(metrics, 'test')}, by {record.get('baseline') or checkpoint_text(selection)}, "
        f"{record['tokens_per_second'] / 1000:,.0f}k tokens/s in training"
    )
    console.print(f"run folder: {shown}")
    if "checkpoint" not in selection:
        return
    evaluate_script = Path(os.path.relpath(PROJECT / "scripts" / "evaluate.py"))
    console.print(f"evaluate:   python {evaluate_script} {shlex.quote(str(shown / selection['checkpoint']))}")


def checkpoint_text(selection: dict[str, Any]) -> str:
    """Which checkpoint was scored, and why."""
    return f"{selection['checkpoint']} of step {selection['step']} (best {selection['metric']})"


@hydra.main(config_path="conf", config_name="train", version_base="1.3")
def main(cfg: DictConfig) -> float:
    """One run in one folder; returns the best val/loss, which a sweeper may minimise."""
    folder, start = Path(HydraConfig.get().runtime.output_dir), time.monotonic()
    # Outside of training, where Interrupt waits for the step to end.
    signal.signal(signal.SIGTERM, lambda signum, _: sys.exit(128 + signum))
    quiet()
    keep_freed_memory()
    config = plain_config(cfg, folder)
    of_now: dict[str, Any] = {"resume": None, "trust": None}
    previous = read_record(folder) if config["resume"] and (folder / "results.json").is_file() else {}
    if previous.get("status") == "finished" and previous["config"] | of_now == config | of_now:
        console.print("this run is finished; to go on, raise one of its limits, such as trainer.max_steps")
        report(folder, previous)
        return previous["selection"]["value"]
    record: dict[str, Any] = {}
    status = "failed"
    try:
        pl.seed_everything(config["seed"], verbose=False)
        task: Task = build(config["task"], TRUSTED + allow(config["trust"]))
        baseline = build(config["baseline"]) if "baseline" in config else None
        if baseline:
            check_baseline(baseline, config["choices"]["baseline"], task)
        else:
            check_labels(task, config["pooling"])
            check_pairs(task, config.get("interaction"))
            check_calibration(task, config.get("calibration"))
        console.print(f"preparing the data of {task.name}")
        task.prepare_data()
        record = describe(config, task)
        if baseline:
            record |= describe_baseline(baseline, task, record)
        for split, counts in record["splits"].items():
            say_truncated(split, counts)
        wandb_id = previous.get("wandb_id", folder.name) if "wandb" in config.get("logger", {}) else None
        # What a resumed run had found stays until there is better.
        record = previous | {"run_id": folder.name, "wandb_id": wandb_id, "status": "running"} | record
        record.pop("error", None)
        start -= previous.get("wall_seconds", 0.0)
        (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        write_record(folder, record)
        task.write_splits(folder)
        if baseline:
            console.print(f"fitting {record['baseline']}")
            run_baseline(baseline, task, record)
        else:
            module = fit(config, folder, task, record)
            test(folder, task, record, module)
        status = "finished"
    except (SystemExit, KeyboardInterrupt):
        status = "interrupted"
        if (folder / "checkpoints" / "last.ckpt").is_file():
            console.print(f"interrupted; go on with: python train.py resume={shlex.quote(os.path.relpath(folder))}")
        raise
    except Exception as error:
        record["error"] = one_sentence(error)
        (folder / "traceback.txt").write_text(traceback.format_exc())
        raise
    finally:
        if "run_id" in record:
            record |= {"status": status, "wall_seconds": time.monotonic() - start}
            write_record(folder, record)
        finish_wandb(0 if status == "finished" else 1, record.get("departures"))
        link_wandb(folder)
    report(folder, record)
    return record["selection"]["value"]


if __name__ == "__main__":
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # so that Hydra raises its errors instead of printing them
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        sys.exit(f"train.py: {one_sentence(error)}")
