"""scripts/evaluate.py: a checkpoint is enough."""

import json
import shutil
from pathlib import Path

import pytest
from commands import record, run, train, write_books


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_books(tmp_path_factory.mktemp("books"))


@pytest.mark.parametrize("variant", ["softmax", "elu", "favor"])
def test_a_new_process_with_the_file_alone_gets_the_same_metrics(variant, data, tmp_path):
    """The run's folder is gone and so is the training split; labels and tokenizer come from the checkpoint."""
    (tmp_path / "work").mkdir()
    settings = (f"variant={variant}", "trainer.max_steps=20", "calibration=temperature", "logger=csv")
    folder = train(*settings, data=data, cwd=tmp_path / "work")
    trained = record(folder)
    expected = trained["metrics"]
    checkpoint = tmp_path / "alone" / "best model, [1]=ü.ckpt"
    checkpoint.parent.mkdir()
    shutil.copy(folder / "checkpoints" / "best.ckpt", checkpoint)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(data / "test.parquet", elsewhere)
    shutil.rmtree(tmp_path / "work")

    words = ("--data", str(elsewhere), "--output", "out.json", "--predictions", "out.jsonl")
    done = run("scripts/evaluate.py", str(checkpoint), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = json.loads((tmp_path / "out.json").read_text())
    assert (result["temperature"], result["per_class"]) == (trained["temperature"], trained["per_class"])
    assert result["per_class"]["class"] == ["austen", "melville", "shelley"]
    assert "melville" in done.stdout
    assert result["metrics"].keys() == {"test/loss", "test/accuracy", "test/f1_macro", "test/ece"}
    for name, value in result["metrics"].items():
        assert value == pytest.approx(expected[name], abs=1e-6)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    right = [row["label"] == row["expected"] for row in rows]
    assert sum(right) / len(right) == result["metrics"]["test/accuracy"]
    assert [row["row"] for row in rows] == list(range(6))


def test_a_broken_checkpoint_is_a_row_with_its_error(data, tmp_path):
    (tmp_path / "work").mkdir()
    folder = train("trainer.max_steps=2", "logger=csv", data=data, cwd=tmp_path / "work")
    broken = tmp_path / "broken.ckpt"
    broken.write_bytes(b"not a checkpoint")
    good = folder / "checkpoints" / "last.ckpt"
    done = run("scripts/evaluate.py", str(broken), str(good), "gone.ckpt", "--output", "out.json", cwd=tmp_path)
    assert done.returncode == 1
    results = json.loads((tmp_path / "out.json").read_text())
    assert "is not a checkpoint of longdoc" in results[0]["error"]
    assert results[1]["error"] is None
    assert "is not there" in results[2]["error"]


def test_one_checkpoint_scored_on_more_and_more_of_each_document(data, tmp_path):
    (tmp_path / "work").mkdir()
    folder = train("encoder.positions=none", "trainer.max_steps=2", "logger=csv", data=data, cwd=tmp_path / "work")
    command = [str(folder / "checkpoints" / "last.ckpt"), "--max-length", "8", "32", "whole", "--plot", "p.png"]
    done = run("scripts/evaluate.py", *command, "--output", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out.json").read_text())
    assert [found["max_length"] for found in results] == [8, 32, None]
    read = [found["tokens_read"] for found in results]
    assert read[0] == 8 * 6
    assert read[0] < read[1] < read[2] == results[2]["tokens"]
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
