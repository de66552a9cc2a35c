"""One run: a config and a folder in, a record in the folder out."""

import os
import shlex
import time
import traceback
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
import yaml
from rich.console import Console

from longdoc.baseline_run import check_baseline, describe_baseline, run_baseline
from longdoc.build import TRUSTED, allow, build
from longdoc.calibration import calibrate, check_calibration
from longdoc.command_line import override
from longdoc.errors import one_sentence
from longdoc.evaluation import default_device, evaluate
from longdoc.export import VERSION, build_classifier, check_causal, check_labels, check_lengths, check_pairs
from longdoc.out_of_fold import write_out_of_fold
from longdoc.prediction import tokens_of
from longdoc.protocol import prescribed
from longdoc.results.comparison import variant
from longdoc.results.confusion import confusion
from longdoc.results.departures import Departures, departures
from longdoc.results.last_lines import truncated
from longdoc.results.lengths import by_length
from longdoc.results.metrics import per_class
from longdoc.results.process import process
from longdoc.results.record import (
    SCHEMA_VERSION,
    Record,
    git_state,
    machine,
    of_config,
    read_record,
    versions,
    write_record,
)
from longdoc.speed import ProcessMemory, flops_per_token
from longdoc.tasks.base import Task
from longdoc.tasks.cache import PROJECT
from longdoc.training import Budget, ClassifierModule
from longdoc.training.acceleration import choose_compile, choose_precision
from longdoc.training.budget import LIMITS, seconds
from longdoc.training.callbacks import Compile, Interrupt, RunProgress, Throughput, checkpoints
from longdoc.training.loggers import build_loggers, finish_wandb, link_wandb, log_test, wandb_id
from longdoc.training.scores import Scores, TokenScores

PROTOCOLS = PROJECT / "conf" / "protocol"
console = Console(highlight=False, markup=False, soft_wrap=True)


def run(config: dict[str, Any], folder: Path, command: str | None = None) -> Record:
    """Trains and tests what the plain, resolved ``config`` says; returns the record that ``folder`` then holds.

    A resumed run goes on from the folder's last checkpoint; one that is finished is returned as it is.
    command: what was typed, kept in the record; of a resumed run what was first typed and what is changed since.
    """
    start = time.monotonic()
    whole = folder.parent if folder.name == f"fold_{config['task'].get('fold')}" else folder  # of all folds
    of_now: dict[str, Any] = {"resume": None, "trust": None}
    previous = read_record(folder) if config["resume"] and (folder / "results.json").is_file() else {}
    if previous.get("status") == "finished" and previous["config"] | of_now == config | of_now:
        console.print("this run is finished; to go on, raise one of its limits, such as trainer.max_steps")
        return previous
    record: dict[str, Any] = {}
    status = "failed"
    try:
        pl.seed_everything(config["seed"], verbose=False)
        task: Task = build(config["task"], TRUSTED + allow(config["trust"]))
        baseline = build(config["baseline"]) if "baseline" in config else None
        if baseline:
            check_baseline(config["choices"]["baseline"], task)
        else:
            check_labels(task, config["pooling"])
            check_pairs(task, config.get("interaction"))
        check_calibration(task, config.get("calibration"))
        console.print(f"preparing the data of {task.name}")
        task.prepare_data()
        record = describe(config, task)
        if previous:
            check_dealt(previous, task)
        if baseline:
            record |= describe_baseline(baseline, task, record)
        for split, counts in record["splits"].items():
            for line in truncated(split, counts):
                console.print(line)
        name = folder.name if whole is folder else f"{whole.name}_{folder.name}"
        # What a resumed run had found stays until there is better.
        record = previous | {"run_id": name, "wandb_id": previous.get("wandb_id"), "status": "running"} | record
        record |= {"command": command, "process": process()}
        record.pop("error", None)
        start -= previous.get("wall_seconds", 0.0)
        (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        write_record(folder, record)
        if task.fold is None:
            task.write_splits(folder)
        if baseline:
            console.print(f"fitting {record['baseline']}")
            scores: Scores | TokenScores = run_baseline(baseline, task, record, config.get("calibration"))
        else:
            module = fit(config, folder, task, record)
            scores = test(folder, task, record, module)
        if task.fold is not None and isinstance(scores, Scores):
            write_out_of_fold(folder, task, scores)
        status = "finished"
    except (SystemExit, KeyboardInterrupt):
        status = "interrupted"
        if (folder / "checkpoints" / "last.ckpt").is_file():
            word = shlex.quote(override("resume", os.path.relpath(whole)))
            console.print(f"interrupted; go on with: python train.py {word}")
        raise
    except Exception as error:
        record["error"] = one_sentence(error)
        (folder / "traceback.txt").write_text(traceback.format_exc())
        raise
    finally:
        if "run_id" in record:
            record |= {"status": status, "wall_seconds": time.monotonic() - start}
            record.pop("process", None)
            write_record(folder, record)
        finish_wandb(0 if status == "finished" else 1, record)
        link_wandb(folder, whole.parents[1])
    return record


def check_dealt(previous: Record, task: Task) -> None:
    """Raises ValueError if a fold that was begun, by its record, was not dealt from the documents that ``task`` has."""
    if task.fold is not None and previous.get("dealt") != task.pool.digest:
        raise ValueError(
            f"nothing says that {previous['run_id']} was dealt from the documents that are there now, and folds of "
            f"others do not go with these; start anew, without resume"
        )


def describe(config: dict[str, Any], task: Task) -> dict[str, Any]:
    """The part of the record that is known before training."""
    commit, dirty = git_state(PROJECT)
    splits = {split: counts | {"content": task.content(split)} for split, counts in task.describe().items()}
    return {
        "schema_version": SCHEMA_VERSION,
        **of_config(config),
        "task": task.name,
        "departures": departed(config, splits),
        "max_length": task.max_length,
        "source": task.source,
        "splits": splits,
        "dealt": None if task.fold is None else task.pool.digest,
        "references": task.references(),
        "versions": versions(),
        "commit": commit,
        "dirty": dirty,
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
    limits = {name: options.pop(name, None) for name in LIMITS}  # older runs have no max_tokens
    default_time = options.pop("default_time")
    options.pop("workers", None)  # the task's
    if all(limit is None for limit in limits.values()):
        limits["max_time"] = default_time
    device: str = options["accelerator"]
    device = options["accelerator"] = {"auto": default_device(), "gpu": "cuda"}.get(device, device)
    options["precision"] = choose_precision(options["precision"], device, console.print)
    compiled = choose_compile(options.pop("compile"), device, console.print)

    limits["max_time"] = seconds(limits["max_time"])
    batches = task.train_sampler().epoch_batches
    budget = Budget(**limits, epoch_steps=batches / options["accumulate_grad_batches"])
    last = folder / "checkpoints" / "last.ckpt"
    throughput = Throughput(ProcessMemory(torch.device(device)))
    options["val_check_interval"] *= options["accumulate_grad_batches"]  # Lightning counts batches
    compilation = Compile([(*shape,) for shape in task.train_shapes()], console)
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
    loggers = build_loggers(config["logger"], folder, record | {"variant": variant(record)}, trusted)
    record["wandb_id"] = wandb_id(loggers)
    module = ClassifierModule(
        model, len(task.classes), config["seed"], build(config["optimizer"], trusted),
        build(config["scheduler"], trusted), budget,
        {"version": VERSION, "config": config, "task": task.state, "multi_label": task.multi_label,
         "wandb_id": record["wandb_id"], "dealt": record["dealt"]},
        task.multi_label, task.class_weights,
    )  # fmt: skip
    trainer = pl.Trainer(
        **options, devices=1, max_epochs=1, logger=loggers, callbacks=callbacks,
        check_val_every_n_epoch=None, num_sanity_val_steps=0, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False, default_root_dir=str(folder),
    )  # fmt: skip
    console.print(
        f"{record['task']}: {record['attention']} {record['feature_map'] or ''} {record['encoder']}, "
        f"{record['parameters']:,} parameters, {options['precision']}, {'compiled' if compiled else 'not compiled'}"
    )
    record |= machine(torch.get_num_threads())
    record |= {
        "budget": limits,
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
            "epochs": budget.epochs(trainer.global_step),
            "tokens": budget.tokens,
            "tokens_per_second": throughput.tokens_per_second,
            "train_seconds": budget.time(),
            "validation_seconds": throughput.validation_seconds,
            "compile_seconds": compilation.seconds,
            "peak_memory_mb": throughput.memory.peak() / 1e6,
        }
    return module


def test(folder: Path, task: Task, record: dict[str, Any], module: ClassifierModule) -> Scores | TokenScores:
    """Scores the best checkpoint from its file alone, as scripts/evaluate.py does: float32, not compiled.

    Returns the scores of the test split.
    """
    path = folder / "checkpoints" / "best.ckpt"
    config, device = record["config"], record["accelerator"]
    loaded = calibrate(path, task, config.get("calibration"), config["trust"], device)
    metrics: dict[str, float] = {}
    for split, prefix in (("validation", "val"), ("test", "test")):
        console.print(f"scoring {path.name} on the {split} split")
        scores = evaluate(loaded, task, split, device)
        metrics |= {f"{prefix}/{name}": value for name, value in scores.metrics().items()}
    record["temperature"] = loaded.model.temperature
    record["per_class"] = per_class(task.classes, scores.per_class())  # of the test split
    matrix = None
    if isinstance(scores, Scores):
        if not task.multi_label:
            labels, given = scores.decisions()
            matrix = confusion(labels.numpy(), given.numpy(), len(task.classes))
        record["by_length"] = by_length(*tokens_of(task, "test"), scores.right().numpy())
    best: Any = module.trainer.checkpoint_callbacks[0]
    assert module.budget is not None
    record["selection"] = {
        "metric": "val/loss", "value": float(best.best_model_score), "epoch": module.budget.epochs(loaded.step),
        "step": loaded.step, "checkpoint": "checkpoints/best.ckpt",
    }  # fmt: skip
    record["metrics"] = metrics
    log_test(module.trainer.loggers, record, matrix)
    return scores
