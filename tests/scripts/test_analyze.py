"""scripts/analyze.py, run for real on tiny sizes."""

import json
from pathlib import Path

import pytest
from commands import PROJECT, run, train, write_books

MAPS = sorted(path.stem for path in (PROJECT / "conf" / "feature_map").glob("*.yaml"))
SMALL = "--tokens 48 --head-dim 8 --heads 2 --draws 60"
PNG = b"\x89PNG\r\n\x1a\n"


def analyze(*arguments: str, cwd: Path) -> tuple[dict, str]:
    done = run("scripts/analyze.py", *arguments, "--output", "out", cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((cwd / "out" / "analysis.json").read_text()), done.stdout


def pictures(folder: Path) -> set[str]:
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(PNG)
        assert path.stat().st_size > 10_000
    return {path.stem for path in folder.glob("*.png")}


def test_every_part_of_every_map(tmp_path):
    times = "--time --time-lengths 32 64 --time-tokens 64 --rounds 1"
    record, shown = analyze(*SMALL.split(), *times.split(), cwd=tmp_path)
    for part in ("sharpness", "monotonicity", "position", "cost"):
        maps = [row["map"] for row in record[part]]
        assert maps == (MAPS if part == "cost" else ["softmax", *MAPS])
    assert {"favor", "oprf", "trigonometric"} <= {row["map"] for row in record["variance"]}
    assert {row["decay"] for row in record["decay"]} >= {"fixed", "selective", "channel"}
    assert {"map", "spearman", "spearman_low", "weights", "scores"} <= record["monotonicity"][0].keys()
    assert record["monotonicity"][0]["spearman"] == pytest.approx(1)
    assert set(record["cost"][0]["ratio"]) == {"32", "64"}
    assert record["arguments"]["seed"] == 0
    assert {"commit", "torch", "cpu", "threads"} <= record["environment"].keys()
    assert pictures(tmp_path / "out") == {"variance", "sharpness", "monotonicity", "position", "decay", "cost"}
    assert all(name in shown for name in MAPS)
    assert "…" not in shown  # no cell is cut at the width of a pipe


def test_some_parts_of_some_maps(tmp_path):
    record, _ = analyze(*SMALL.split(), "--maps", "elu", "--parts", "variance", "sharpness", "cost", cwd=tmp_path)
    assert record.keys() == {"arguments", "environment", "sharpness", "cost"}  # elu estimates nothing
    assert "ratio" not in record["cost"][0]
    assert pictures(tmp_path / "out") == {"sharpness", "cost"}


@pytest.fixture(name="trained", scope="module")
def _trained(tmp_path_factory) -> tuple[Path, Path]:
    """A checkpoint after two steps, and its data."""
    data = write_books(tmp_path_factory.mktemp("books"))
    work = tmp_path_factory.mktemp("work")
    folder = train("variant=elu", "trainer.max_steps=2", "logger=csv", data=data, cwd=work)
    return folder / "checkpoints" / "last.ckpt", data


def test_a_checkpoints_own_attention_on_a_text_and_on_a_row(trained, tmp_path):
    checkpoint, data = trained
    book = tmp_path / "book.txt"
    book.write_text("It was the whale of chapter 1. " * 20)
    text, shown = analyze("--checkpoint", str(checkpoint), "--document", str(book), "--tokens", "50", cwd=tmp_path)
    assert text["tokens"] == 50
    assert pictures(tmp_path / "out") == {"checkpoint"}
    assert "elu on 50 tokens" in shown
    assert [layer["layer"] for layer in text["layers"]] == [0, 1]
    for layer in text["layers"]:
        assert (layer["mixer"], layer["tokens"], len(layer["heads"])) == ("LinearAttention", 50, 2)
        for head in layer["heads"]:
            assert 0 < head["entropy"] <= layer["uniform"]
            assert head["sum_squared"] == sorted(head["sum_squared"])
    row, _ = analyze("--checkpoint", str(checkpoint), "--row", "1", "--data", str(data), cwd=tmp_path)
    assert row["tokens"] > 10
    assert row["step"] == 2


@pytest.mark.parametrize(("arguments", "sentence"), [
    ("--maps elu sofmax", "sofmax is not in conf/feature_map; choose from"),
    ("--checkpoint gone.ckpt", "--checkpoint needs a document: either --document FILE or --row N"),
    ("--checkpoint gone.ckpt --row 1", "gone.ckpt is not there"),
    ("--row 1", "--document and --row belong to a --checkpoint"),
    ("--tokens 1", "--tokens must be at least 2"),
    ("--heads 0", "--heads must be at least 1"),
])  # fmt: skip
def test_bad_arguments_are_one_sentence(arguments, sentence, tmp_path):
    done = run("scripts/analyze.py", *arguments.split(), cwd=tmp_path)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_what_a_checkpoint_cannot_read_is_one_sentence(trained, tmp_path):
    checkpoint, data = trained
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    for arguments, sentence in {
        ("--row", "6", "--data", str(data)): "the test split has the rows 0 to 5",
        ("--document", "empty.txt"): "the document has 0 tokens; weights need at least 2",
        ("--document", "binary.txt"): "binary.txt is not UTF-8",
        ("--document", "gone.txt"): "gone.txt",
    }.items():
        done = run("scripts/analyze.py", "--checkpoint", str(checkpoint), *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
