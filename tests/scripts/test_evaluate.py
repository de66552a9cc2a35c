"""scripts/evaluate.py: a checkpoint is enough."""

import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest
from checkpoints import write_checkpoint
from commands import PROJECT, record, run, train, write_books


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


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory) -> Path:
    """A folder with two checkpoints, a.ckpt and b/b.ckpt, and the six documents that they are scored on."""
    folder = tmp_path_factory.mktemp("made")
    data = write_books(folder / "data")
    words = ("task.source=local", f"task.data={data}", f"task.cache={data}/cache", "encoder.positions=none")
    words = (*words, "task.max_length=32", "task.batch_tokens=256")
    for path, pooling in (("a.ckpt", "mean"), ("b/b.ckpt", "max")):
        more = (*words, f"pooling={pooling}")
        write_checkpoint(folder / path, "text", *more, classes=["austen", "melville", "shelley"])
    return folder


def test_several_checkpoints_stand_beside_one_another_and_broken_ones_are_rows(made):
    (made / "broken.ckpt").write_bytes(b"not a checkpoint")
    paths = ["broken.ckpt", "gone/best.ckpt", "a.ckpt", "b/b.ckpt"]
    done = run("scripts/evaluate.py", *paths, "--predictions", "p.jsonl", cwd=made)
    assert done.returncode == 1, done.stdout + done.stderr
    assert not (made / "gone").exists()
    results = json.loads((made / "a.test.json").read_text())  # beside the first that was scored
    assert "is not a checkpoint of longdoc" in results[0]["error"]
    assert "is not there" in results[1]["error"]
    first, second = results[2:]
    assert (first["error"], second["error"], "paired" in first) == (None, None, False)
    right = [
        [row["label"] == row["expected"] for row in map(json.loads, (made / f"p-{i}.jsonl").open())] for i in (3, 4)
    ]
    paired = second["paired"]
    assert (paired["with"], paired["documents"]) == ("a.ckpt", 6)
    assert paired["difference"] == pytest.approx((sum(right[1]) - sum(right[0])) / 6)
    assert paired["gained"] == sum(b and not a for a, b in zip(*right, strict=True))
    lines = [line.split() for line in done.stdout.splitlines()]
    rows = {line[0]: line[1:] for line in lines if line and line[0] in paths}
    assert rows["broken.ckpt"][:1] == ["failed"]
    assert rows["a.ckpt"][:2] == ["elu", f"{first['metrics']['test/accuracy']:.3f}"]
    assert max(map(len, done.stdout.split("against a.ckpt")[1].splitlines()[1:-1])) <= 80


def test_where_nothing_could_be_scored_nothing_is_written(tmp_path):
    done = run("scripts/evaluate.py", "outputs/gone.ckpt", "--plot", "p.png", cwd=tmp_path)
    assert done.returncode == 1
    assert "not drawn: none of the checkpoints could be scored" in done.stdout
    assert "not written: none of the checkpoints here could be scored" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_one_checkpoint_read_in_several_ways_and_what_that_costs(made):
    command = ["a.ckpt", "--max-length", "8", "32", "whole", "--plot", "p.png", "--output", "out.json"]
    done = run("scripts/evaluate.py", *command, cwd=made)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((made / "out.json").read_text())
    assert [found["max_length"] for found in results] == [8, 32, None]
    read = [found["tokens_read"] for found in results]
    assert read[0] == 8 * 6
    assert read[0] < read[1] < read[2] == results[2]["tokens"]
    assert [found["paired"]["reading"] for found in results[1:]] == ["head 8", "head 8"]
    assert (made / "p.png").read_bytes().startswith(b"\x89PNG")

    beside = ["out.json", "b/b.ckpt", "--max-length", "8", "--plot", "both.png", "--output", "b.json"]
    done = run("scripts/evaluate.py", *beside, cwd=made)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [done.stdout.count(row) for row in ("a.ckpt, head 8 ", "a.ckpt, whole ", "b, head 8 ")] == [1, 1, 1]
    assert (made / "both.png").read_bytes() != (made / "p.png").read_bytes()
    assert len(json.loads((made / "b.json").read_text())) == 1
    done = run("scripts/evaluate.py", "out.json", "b.json", "--plot", "again.png", cwd=made)  # and nothing is scored
    assert done.returncode == 0, done.stdout + done.stderr
    assert (made / "again.png").read_bytes() == (made / "both.png").read_bytes()
    done = run("scripts/evaluate.py", "out.json", "--split", "train", cwd=made)
    assert (done.returncode, done.stderr) == (1, "evaluate.py: out.json holds scores of test, not of --split train\n")
    (made / "other.json").write_text('{"a": 1}')
    done = run("scripts/evaluate.py", "other.json", cwd=made)
    assert done.stderr.startswith("evaluate.py: other.json is no JSON that evaluate.py has written")

    words = ("--truncation", "windows", "--max-length", "16", "--latency", "100", "--output", "out.json")
    done = run("scripts/evaluate.py", "a.ckpt", *words, cwd=made)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads((made / "out.json").read_text())
    assert (found["truncation"], found["max_length"]) == ("windows", 16)
    (point,) = found["latency"]
    assert (point["tokens"], point["read"], point["error"]) == (100, 100, None)
    assert point["min"] <= point["seconds"] <= point["max"]
    assert point["memory"]["peak_bytes"] >= point["memory"]["idle_bytes"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--max-length 8 --truncation none", "--max-length 8 and --truncation none contradict each other"),
        ("--max-length whole --truncation head", "--max-length whole and --truncation head contradict each other"),
        ("--max-length 0", "--max-length 0 is neither a number of tokens nor whole"),
        ("--latency 5 0", "--latency 0: a document has at least 1 token"),
        ("--predictions p.txt", "--predictions: p.txt must end in .jsonl, .csv, .parquet"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evaluate.py", "a.ckpt", *words.split()])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_path(str(PROJECT / "scripts" / "evaluate.py"))["arguments"]()
    assert capsys.readouterr().err.splitlines()[-1].endswith(said)


def test_each_checkpoint_has_a_line_of_its_own():
    points = runpy.run_path(str(PROJECT / "scripts" / "evaluate.py"))["points"]
    scored = {"error": None, "variant": "elu", "metrics": {"test/accuracy": 0.5}, "tokens_read": 64, "rows": 4}
    scored |= {"tokens_per_second": 9.0, "max_length": 8, "truncation": "head"}
    one, two, broken = {"checkpoint": "runs/1/best.ckpt"}, {"checkpoint": "runs/2/best.ckpt"}, {"error": "broken"}
    assert [found["name"] for found in points([scored | one, broken, scored | one])] == ["elu", "elu"]
    assert [found["name"] for found in points([scored | one, scored | two, scored | one])] == [
        "elu, 1", "elu, 2", "elu, 1",
    ]  # fmt: skip
    assert [found["name"] for found in points([scored | one, scored | two | {"variant": "softmax"}])] == [
        "elu",
        "softmax",
    ]
    tail, whole = {"truncation": "head+tail"}, {"truncation": "none"}
    assert [found["name"] for found in points([scored | one, scored | one | tail, scored | one | whole])] == [
        "elu, head", "elu, head+tail", "elu, none",
    ]  # fmt: skip
    assert [found["name"] for found in points([scored | one, scored | one | whole])] == ["elu", "elu"]
    assert points([broken]) == []


def test_what_wandb_does_not_take_is_said_beside_the_scores(made):
    done = run("scripts/evaluate.py", "a.ckpt", "--wandb", "--output", "w.json", cwd=made)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "--wandb: a.ckpt was trained without W&B; there is no run to add to" in done.stdout
    (found,) = json.loads((made / "w.json").read_text())
    assert found["wandb_error"] == "a.ckpt was trained without W&B; there is no run to add to"
    assert found["error"] is None
    assert 0 <= found["metrics"]["test/accuracy"] <= 1
