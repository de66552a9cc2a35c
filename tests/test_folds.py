"""train.py with task.folds: a run for each, one record and one file of predictions for all."""

import csv
import re
import shutil
import statistics

import pytest
import yaml
from commands import TINY, record, run, write_books

from longdoc.folds import run_folds
from longdoc.results import collect
from longdoc.scoring import Reading, score


def test_folds_are_one_command_with_one_record_and_go_on_where_one_failed(tmp_path):
    data = write_books(tmp_path / "books")
    folder = tmp_path / "outputs" / "books" / "a_run"
    blocked = folder / "fold_1" / "config.yaml"  # where the second fold is to write a file
    blocked.mkdir(parents=True)
    options = [f"task.data={data}", f"task.cache={data}/cache", "task.folds=2", f"hydra.run.dir={folder}"]
    failed = run("train.py", *TINY, *options, "trainer.max_steps=2", "logger=csv", cwd=tmp_path)
    assert failed.returncode == 1
    whole, first = record(folder), record(folder / "fold_0")
    assert (whole["status"], first["status"], record(folder / "fold_1")["status"]) == ("failed", "finished", "failed")
    assert re.fullmatch(r"fold_1: \[Errno \d+\] Is a directory: .*config\.yaml'", whole["error"])
    shown = run("scripts/compare.py", "outputs", cwd=tmp_path).stdout
    assert "failed: elu, seed 1 (books · longdoc · 32 tokens · tiny; run a_run): fold_1: " in " ".join(shown.split())

    blocked.rmdir()
    done = run("train.py", f"resume={folder}", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert record(folder / "fold_0") == first
    whole, parts = record(folder), [record(folder / f"fold_{fold}") for fold in range(2)]
    values = [part["metrics"]["test/accuracy"] for part in parts]
    assert whole["metrics"]["test/accuracy"] == pytest.approx(statistics.fmean(values))
    assert whole["folds"]["metrics"]["test/accuracy"]["values"] == values
    assert whole["steps"] == 4
    records, problems = collect([tmp_path / "outputs"])
    assert ([found["run_id"] for found in records], problems) == ([folder.name], [])  # not the folds beside it
    with (folder / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["row"]) for row in rows] == list(range(1, 30))  # 20 + 3 + 6, each once
    right = [[row["label"] == row["predicted"] for row in rows if row["fold"] == str(fold)] for fold in range(2)]
    assert [statistics.fmean(of) for of in right] == pytest.approx(values)
    assert all(
        sum(float(row[f"p_{name}"]) for name in ("austen", "melville", "shelley")) == pytest.approx(1) for row in rows
    )

    scored, _ = score(folder / "fold_1" / "checkpoints" / "best.ckpt", "test", Reading())
    assert scored["metrics"] == pytest.approx({k: v for k, v in parts[1]["metrics"].items() if "test/" in k}, abs=1e-6)

    shutil.copy(data / "validation.parquet", data / "test.parquet")  # other documents
    with pytest.raises(ValueError, match=r"^nothing says that a_run_fold_0 was dealt from the documents that "):
        run_folds(yaml.safe_load((folder / "config.yaml").read_text()), folder)
    assert record(folder) == whole
