"""train.py from end to end, in processes of its own."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from commands import PROJECT, SETTINGS, TINY, record, run, train, write_books
from wandb_file import read

from longdoc.tasks.cache import Documents


def words(group: str) -> str:
    return ", ".join(sorted(path.stem for path in (PROJECT / "conf" / group).glob("*.yaml")))


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_books(tmp_path_factory.mktemp("books"))


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> Path:
    """13 steps of epochs of 10, validated every 4, at a rate so high that the best validation is not the last."""
    options = ("trainer.max_steps=13", "trainer.val_check_interval=4", "optimizer.betas=[0.8,0.95]", "optimizer.lr=1")
    return train(*options, "logger=csv", data=data, cwd=tmp_path_factory.mktemp("work"))


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_last_step_is_validated_and_saved_though_it_falls_inside_an_epoch(finished):
    validated = [int(row["step"]) + 1 for row in rows(finished) if row["val/loss"]]
    assert validated == [4, 8, 12, 13]
    checkpoint = torch.load(finished / "checkpoints" / "last.ckpt", weights_only=True)
    assert checkpoint["global_step"] == 13
    assert sorted(path.name for path in (finished / "checkpoints").iterdir()) == ["best.ckpt", "last.ckpt"]


def test_what_is_cut_is_said_before_the_training(data, tmp_path):
    overrides = ["task.truncation=head", "task.max_length=8", "trainer.max_steps=1", "callbacks=none"]
    words = [*TINY, f"task.data={data}", f"task.cache={data}/cache", *overrides]
    done = run("train.py", *words, cwd=tmp_path, WANDB_MODE="disabled")
    assert done.returncode == 0, done.stderr
    assert not [path for path in tmp_path.rglob("*") if "wandb" in path.name]
    before, after = done.stdout.split("parameters,")
    for split, rows in {"train": 20, "validation": 3, "test": 6}.items():
        line = (
            rf"  {rows} of {rows} documents of the {split} split are read in part, [\d,]+ of [\d,]+ tokens left out\n"
        )
        assert re.search(line, before)
    assert "documents of the test split are read in part" in after


def test_a_stream_is_trained_on_by_steps(data, tmp_path):
    overrides = ["task=documents", f"task.path={data}", "task.streaming=true", "task.truncation=head"]
    overrides += ["trainer.workers=2", f"task.cache={tmp_path}", "trainer.max_steps=12"]
    done = run("train.py", *TINY, *overrides, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "outputs" / "documents").iterdir()
    result = record(folder)
    assert (result["status"], result["steps"], result["epochs"]) == ("finished", 12, None)
    assert result["splits"]["train"]["rows"] == 20
    assert result["selection"]["epoch"] is None
    for split, rows in {"validation": 3, "test": 6}.items():
        assert f"  {rows} documents of the {split} split are in an earlier split, too\n" in done.stdout
    assert run("scripts/compare.py", "outputs", cwd=tmp_path).returncode == 0


def test_the_record_says_under_which_conditions_the_numbers_came(finished):
    result = record(finished)
    assert result["status"] == "finished"
    assert (result["steps"], result["epochs"]) == (13, 1.3)
    contents = [counts.pop("content") for counts in result["splits"].values()]
    assert len(set(contents)) == 3
    assert 100 < result["splits"]["test"].pop("tokens") < 1000
    assert result["splits"]["test"] == {
        "rows": 6,
        "empty_rows": 0,
        "truncated_rows": 0,
        "truncated_tokens": 0,
    }
    assert (result["attention"], result["feature_map"], result["decay"]) == ("linear", "elu", "none")
    assert result["config"]["optimizer"]["betas"] == [0.8, 0.95]
    assert set(result) >= {
        "schema_version", "run_id", "wandb_id", "config_hash", "task", "protocol", "encoder", "max_length", "seed",
        "tokens", "parameters", "flops_per_token", "tokens_per_second", "peak_memory_mb", "wall_seconds", "precision",
        "compiled", "device", "cpu", "threads", "selection", "metrics", "versions", "commit", "dirty", "config",
    }  # fmt: skip
    validations = {int(row["step"]) + 1: float(row["val/loss"]) for row in rows(finished) if row["val/loss"]}
    best = min(validations, key=validations.get)
    assert result["selection"]["step"] == best < 13
    assert result["selection"]["value"] == pytest.approx(validations[best], abs=1e-5)
    assert result["metrics"]["val/loss"] == pytest.approx(validations[best], abs=1e-5)


def test_tokens_are_real_ones(data, tmp_path):
    """Two epochs see every document twice; with windows of 200 tokens nothing is cut, and much is padding."""
    folder = train(
        "trainer.max_epochs=2",
        "task.max_length=200",
        "task.batch_tokens=400",
        "task.buckets=1",
        data=data,
        cwd=tmp_path,
    )
    (cached,) = (d for d in map(Documents, data.glob("cache/*/documents")) if len(d) == 20)
    assert len(set(cached.lengths.tolist())) > 1
    assert record(folder)["tokens"] == 2 * cached.lengths.sum()


def test_the_checkpoint_holds_plain_data_only(finished):
    checkpoint = torch.load(finished / "checkpoints" / "best.ckpt", weights_only=True)
    assert checkpoint["longdoc"]["config"]["choices"]["feature_map"] == "elu"
    assert checkpoint["longdoc"]["task"]["classes"] == ["austen", "melville", "shelley"]


@pytest.mark.parametrize(
    "limit",
    ["trainer.max_time=00:00:00:02", "trainer.max_epochs=2", "trainer.max_steps=7", "trainer.max_tokens=500"],
)
def test_the_learning_rate_ends_at_its_minimum_under_every_limit(limit, data, tmp_path):
    folder = train(limit, "scheduler.warmup_steps=2", "logger=csv", data=data, cwd=tmp_path)
    rates = [float(row["train/lr"]) for row in rows(folder) if row["train/lr"]]
    peak, minimum = 1e-3, 1e-5
    assert max(rates) > 0.5 * peak
    assert rates[-1] == pytest.approx(minimum, rel=0.02)
    checkpoint = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)
    assert checkpoint["global_step"] == record(folder)["steps"]
    if "epochs" in limit:
        assert record(folder)["epochs"] == 2
    if "tokens" in limit:
        assert record(folder)["budget"]["max_tokens"] == 500
        assert 500 <= record(folder)["tokens"] < 500 + 64  # the batch that crosses it


def test_a_row_of_the_log_holds_the_gradient_norm_of_its_own_step(data, tmp_path):
    common = ("trainer.max_steps=9", "logger=csv")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    each = train(*common, data=data, cwd=tmp_path / "a")
    third = run(
        "train.py", *TINY[:-1], "trainer.log_every_n_steps=3", f"task.data={data}", f"task.cache={data}/cache", *common,
        cwd=tmp_path / "b",
    )  # fmt: skip
    assert third.returncode == 0, third.stderr
    (folder,) = tmp_path.glob("b/outputs/books/*")
    norms = [{r["step"]: r["train/gradient_norm"] for r in rows(f) if r["train/gradient_norm"]} for f in (each, folder)]
    assert list(norms[1]) == ["2", "5", "8"]
    assert norms[1] == {step: norms[0][step] for step in norms[1]}


def test_runs_of_the_same_second_get_folders_of_their_own(data, tmp_path):
    arguments = [*TINY, f"task.data={data}", f"task.cache={data}/cache", "trainer.max_steps=2", "logger=csv"]
    jobs = [run("train.py", *arguments, f"seed={seed}", cwd=tmp_path, background=True) for seed in range(4)]
    for job in jobs:
        output, _ = job.communicate(timeout=300)
        assert job.returncode == 0, output
    folders = list(tmp_path.glob("outputs/books/*"))
    assert len(folders) == 4
    assert {record(folder)["seed"] for folder in folders} == {0, 1, 2, 3}
    assert {record(folder)["tokens_per_second"] for folder in folders} == {None}  # two steps are all warm-up
    assert "tokens/s" not in output
    assert "tok/s" not in output


def test_a_sweep_goes_on_after_a_failed_job_and_says_so(data, tmp_path):
    done = run(
        "train.py", "-m", *TINY, f"task.data={data}", f"task.cache={data}/cache", "trainer.max_steps=2",
        "variant=softmax,elu,favor", "encoder.heads=2,3", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    sentence = "encoder.heads=3 does not divide encoder.width=16"
    assert done.stderr.splitlines()[-1].startswith(f"train.py: 3 of 6 jobs failed, the first: {sentence}")
    assert "6 jobs of the sweep: 3 finished, 3 failed\n" in done.stdout
    for variant in ("softmax", "elu", "favor"):
        assert f"  failed    variant={variant} encoder.heads=3: {sentence}" in done.stdout
    results = [record(folder) for folder in tmp_path.glob("outputs/books/*")]
    good = [result for result in results if result["status"] == "finished"]
    assert sorted((r["attention"], r["feature_map"] or "") for r in good) == [
        ("linear", "elu"), ("linear", "favor"), ("softmax", ""),
    ]  # fmt: skip
    assert sum(result["status"] == "failed" for result in results) == 3
    assert "trainer.max_steps=2 variant=softmax encoder.heads=2" in " ".join(result["command"] for result in results)
    files = [read(path) for path in tmp_path.glob("outputs/books/*/wandb/offline-run-*/*.wandb")]
    assert len({file["run_id"] for file in files if file["exit_code"] == 0}) == 3


BAD_INPUT = [
    (["feature_map=elru"], f"feature_map=elru does not exist; choose one of {words('feature_map')}"),
    (["task=bookz"], f"task=bookz does not exist; choose one of {words('task')}"),
    (
        ["encoder.widht=3"],
        "encoder.widht does not exist: longdoc.models.Encoder has no such option; its options are",
    ),
    (["trainer.max_step=3"], "trainer.max_step does not exist; the valid names there are accelerator,"),
    (["+encoder.n_head=4"], "has no option n_head; its options are width, depth, heads, feedforward, attention,"),
    (
        ["feature_map.features=64"],
        "feature_map.features does not exist: longdoc.feature_maps.Elu has no such option",
    ),
    (
        ["attention=softmax", "feature_map=favor"],
        "feature_map=favor: attention=softmax has no feature_map; leave it",
    ),
    (["+sed=3"], "sed does not exist; the valid names there are attention, baseline,"),
    (["encoder.heads=5"], "encoder.heads=5 does not divide encoder.width=16"),
    (
        ["encoder.positions=rotari"],
        "encoder.positions=rotari is not one of none, learned, sinusoidal, rotary",
    ),
    (["pooling=median"], "is not one of mean, max, first, last, embeddings"),
    (
        ["pooling=none"],
        "pooling=none: books has a label for each document, which needs pooling=mean or another pool",
    ),
    (
        ["task=next_token", "pooling=mean"],
        "pooling=mean: next_token has a label for each token, which needs pooling=none",
    ),
    (
        ["task=next_token", "attention.causal=false"],
        "next_token's labels are its next tokens; it needs causal=true",
    ),
    (["task.data=nowhere"], "train.parquet is missing"),
    (["trainer.max_time=7"], "must read DD:HH:MM:SS"),
    (["trainer.compile=maybe"], "trainer.compile=maybe must be true, false or auto"),
    (["sweep=wandb"], "sweep=wandb: outputs/wandb is the folder that W&B's runs are linked in"),
    (["resume=nowhere"], "resume=nowhere is no run's folder"),
    (["protocol=skyformer"], "task=books: protocol=skyformer has no settings for it, only for image, listops,"),
]

# Runs a script with each list of arguments that standard input holds, and says how each run ended.
ONE_AFTER_THE_OTHER = """
import json, runpy, sys

script, cases = json.load(sys.stdin)
for case in cases:
    sys.argv = [script, *case]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        print("ended", json.dumps(end.code))
"""


def test_bad_input_is_one_sentence_and_a_failure(data, tmp_path):
    """In one process, most of whose time is importing; that train.py exits with the sentence others show."""
    common = [*TINY, "logger=csv", f"task.data={data}", f"task.cache={data}/cache"]
    cases = [[*common, *overrides] for overrides, _ in BAD_INPUT]
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER], input=json.dumps([str(PROJECT / "train.py"), cases]),
        cwd=tmp_path, env=os.environ | SETTINGS, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    ends = [json.loads(line.removeprefix("ended ")) for line in done.stdout.splitlines() if line.startswith("ended ")]
    assert len(ends) == len(BAD_INPUT), done.stderr
    for (overrides, sentence), said in zip(BAD_INPUT, ends, strict=True):
        assert str(said).startswith("train.py: "), overrides
        assert sentence in said
        assert "\n" not in said


def test_a_yaml_cannot_say_what_is_trusted(data, tmp_path):
    """Neither by itself, nor by a sweep of its own."""
    for name, text in {"one": "trust: [theirs]", "two": "hydra: {sweeper: {params: {trust: theirs}}}"}.items():
        (tmp_path / "conf" / "experiment").mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / "experiment" / f"{name}.yaml").write_text(f"# @package _global_\n{text}\n")
        done = run("train.py", "-m", "--config-dir", "conf", f"experiment={name}", *TINY, cwd=tmp_path)
        assert done.returncode == 1
        assert "is not from the command line, where alone it can be set: trust=my_maps" in done.stderr.splitlines()[-1]


def test_a_loss_that_is_not_finite_ends_the_run_with_a_message(data, tmp_path):
    """In W&B too it has failed, and the next job of the sweep has a run of its own there."""
    done = run(
        "train.py", "-m", *TINY, f"task.data={data}", f"task.cache={data}/cache", "trainer.max_steps=9",
        "trainer.gradient_clip_val=null", "optimizer.betas=[0.0,0.0]", "optimizer.weight_decay=1e-30",
        "optimizer.lr=1e32,1e-3", "trainer.val_check_interval=1", "scheduler.warmup_steps=1", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the training loss is nan" in done.stderr
    failed, good = sorted(tmp_path.glob("outputs/books/*"), key=lambda folder: record(folder)["status"])
    assert [record(folder)["status"] for folder in (failed, good)] == ["failed", "finished"]
    assert "the training loss is nan" in record(failed)["error"]
    assert "training_step" in (failed / "traceback.txt").read_text()
    for folder, code in {failed: 1, good: 0}.items():
        (path,) = folder.glob("wandb/offline-run-*/*.wandb")
        assert (read(path)["run_id"], read(path)["exit_code"]) == (record(folder)["wandb_id"], code)


@pytest.mark.parametrize(("when", "accumulate"), [(signal.SIGTERM, 1), (signal.SIGINT, 3)])
def test_a_killed_run_that_is_resumed_ends_with_the_weights_of_one_that_was_not(when, accumulate, data, tmp_path):
    """With dropout, random features that are redrawn, and a kill inside an epoch; then resumed at its end."""
    options = ["feature_map=favor", "feature_map.redraw_every=7", "encoder.dropout=0.1", "trainer.max_steps=400",
               "trainer.val_check_interval=150", f"trainer.accumulate_grad_batches={accumulate}"]  # fmt: skip
    for name in "ab":
        (tmp_path / name).mkdir()
    whole = train(*options, data=data, cwd=tmp_path / "a")
    arguments = [*TINY, f"task.data={data}", f"task.cache={data}/cache", *options]
    job = run("train.py", *arguments, cwd=tmp_path / "b", background=True)
    deadline = time.monotonic() + 200
    metrics: list[Path] = []
    while not metrics or len(metrics[0].read_text().splitlines()) < 20:
        assert time.monotonic() < deadline
        assert job.poll() is None, job.communicate()
        metrics = list(tmp_path.glob("b/outputs/books/*/metrics.csv"))
        time.sleep(0.02)
    going = record(metrics[0].parent)
    assert (going["status"], going["budget"]["max_steps"]) == ("running", 400)
    assert (going["process"]["pid"], going["command"]) == (job.pid, shlex.join(["python", "train.py", *arguments]))
    job.send_signal(when)
    output, _ = job.communicate(timeout=200)
    assert job.returncode == 128 + when, output
    (folder,) = tmp_path.glob("b/outputs/books/*")
    assert record(folder)["status"] == "interrupted"
    assert "process" not in record(folder)
    stopped = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)["global_step"]
    assert 0 < stopped < 400

    resumed = run("train.py", f"resume={folder}", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    ends = [torch.load(f / "checkpoints" / "last.ckpt", weights_only=True) for f in (whole, folder)]
    assert ends[0]["global_step"] == ends[1]["global_step"] == 400
    for name, weight in ends[0]["state_dict"].items():
        assert torch.equal(weight, ends[1]["state_dict"][name]), name
    assert record(folder)["wandb_id"] == record(folder)["run_id"]
    assert record(folder)["command"] == going["command"]
    assert record(folder)["metrics"] == record(whole)["metrics"]
    assert record(folder)["tokens"] == record(whole)["tokens"]
    assert len(list(folder.glob("metrics*.csv"))) == 2
    parts = [read(path) for path in sorted(folder.glob("wandb/offline-run-*/*.wandb"))]
    # By these two `wandb sync` adds the second part to the first.
    assert {(part["run_id"], part["resume"]) for part in parts} == {(record(folder)["wandb_id"], True)}
    logged = [{row["trainer/global_step"] for row in part["history"] if "train/loss" in row} for part in parts]
    assert logged == [set(range(stopped)), set(range(stopped, 400))]  # without a gap, and nothing twice

    if when == signal.SIGINT:
        return  # what follows does not hang on how the run was ended

    over = run("train.py", f"resume={folder}", cwd=tmp_path)
    assert over.returncode == 0, over.stdout + over.stderr
    assert "this run is finished" in over.stdout
    assert record(folder)["status"] == "finished"
    again = run("train.py", f"resume={folder}", "trainer.log_every_n_steps=2", cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert record(folder)["steps"] == 400
    assert record(folder)["metrics"] == record(whole)["metrics"]
    assert record(folder)["command"] == f"{going['command']} trainer.log_every_n_steps=2"
    refused = run("train.py", f"resume={folder}", "seed=3", cwd=tmp_path)
    assert refused.returncode == 1
    assert "seed=3 cannot change a resumed run" in refused.stderr


def test_what_a_run_does_otherwise_than_its_protocol_is_said_everywhere(tmp_path):
    done = run(
        "train.py", "experiment=lra/listops", "task.sizes={train: 16, validation: 4, test: 4}", "task.batch_rows=4",
        f"task.cache={tmp_path}/cache", "trainer.max_steps=2", "trainer.compile=false", "trainer.accelerator=cpu",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "departs from skyformer: trainer.max_steps 2 for 50,000; task.batch_rows 4 for 32; rows.train" in done.stdout
    (folder,) = tmp_path.glob("outputs/listops/*")
    found = record(folder)["departures"]
    assert found == {
        "trainer.max_steps": [50000, 2], "rows.train": [96000, 16], "rows.validation": [2000, 4],
        "rows.test": [2000, 4], "task.batch_rows": [32, 4],
    }  # fmt: skip
    assert record(folder)["protocol"] == "skyformer"
    (path,) = folder.glob("wandb/offline-run-*/*.wandb")
    assert read(path)["config"]["departures"] == found
    # Shorter than trainer.log_every_n_steps, and yet something is seen of the training.
    assert [{"train/loss", "train/lr"} <= row.keys() for row in read(path)["history"]].count(True) == 1


def test_every_yaml_of_a_group_composes_and_trains(data, tmp_path):
    """One step for each word, a sweep a group."""
    groups = ("optimizer", "scheduler", "attention", "feature_map", "decay", "callbacks", "variant", "trainer", "debug")
    words = {group: {path.stem for path in (PROJECT / "conf" / group).glob("*.yaml")} for group in groups}
    words["variant"] -= words["feature_map"]  # which say the same
    for group in groups:
        names = ",".join(sorted(words[group]))
        assert names
        done = run(
            "train.py", "-m", *TINY, f"task.data={data}", f"task.cache={data}/cache", "logger=csv", f"{group}={names}",
            "trainer.max_steps=1", "trainer.accelerator=cpu", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("Profiler Report" in done.stdout + done.stderr) == (group == "debug")


def test_jobs_of_a_sweep_are_compiled_alike_and_keep_the_names_of_their_weights(data, tmp_path):
    """Dynamo's limit on recompilations would make later jobs eager in silence."""
    compiled = [word for word in TINY if not word.startswith("trainer.compile")]
    done = run(
        "train.py", "-m", *compiled, f"task.data={data}", f"task.cache={data}/cache", "trainer.compile=true",
        "logger=csv", "trainer.max_steps=30", "encoder.dropout=0.1", "variant=elu,favor", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folders = list(tmp_path.glob("outputs/books/*"))
    assert len(folders) == 2
    for folder in folders:
        assert record(folder)["compiled"] is True
        assert record(folder)["compile_seconds"] > 0
        checkpoint = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)
        assert all(name.startswith("model.") and "_orig_mod" not in name for name in checkpoint["state_dict"])


def test_documents_of_ones_own_are_split_trained_on_and_scored_again(tmp_path):
    """Some are empty, or nothing but white space."""
    texts = [
        f"It was the {word} of {i}." if i > 5 else " " * i + "\t" * (word == "y") for i in range(20) for word in "xy"
    ]
    lines = "".join(f"{'ab'[i % 2]},{text}\n" for i, text in enumerate(texts))
    (tmp_path / "rows.csv").write_text("label,text\n" + lines)
    done = run(
        "train.py", "task=documents", "task.path=rows.csv", *TINY, "trainer.max_steps=8", "logger=csv",
        "task.split_seed=8", f"task.cache={tmp_path}/cache", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "guessed task.text=text and task.label=label from the columns label, text" in done.stdout
    (folder,) = tmp_path.glob("outputs/documents/*")
    counts = {split: counts["rows"] for split, counts in record(folder)["splits"].items()}
    assert counts == {"train": 32, "validation": 4, "test": 4}
    with (folder / "splits.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [sum(row["split"] == split for row in rows) for split in counts] == [32, 4, 4]
    chosen = [line for line, row in zip(lines.splitlines(), rows, strict=True) if row["split"] == "test"]
    (tmp_path / "test.csv").write_text("\n".join(["label,text", *chosen]))
    assert "a," in chosen
    assert record(folder)["splits"]["test"]["empty_rows"] == 1
    assert "1 of 4 documents of the test split are empty" in done.stdout
    (tmp_path / "rows.csv").unlink()
    command = [str(folder / "checkpoints" / "best.ckpt"), "--data", "test.csv", "--predictions", "rows.jsonl"]
    done = run("scripts/evaluate.py", *command, "--output", "scores.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (scores,) = json.loads((tmp_path / "scores.json").read_text())
    assert scores["rows"] == 4
    predicted = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["tokens"] == 0 for row in predicted] == [line == "a," for line in chosen]
    assert scores["metrics"]["test/loss"] == pytest.approx(record(folder)["metrics"]["test/loss"], rel=1e-6)
