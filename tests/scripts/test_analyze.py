"""scripts/analyze.py, run for real on tiny sizes."""

import importlib.util
import json
from pathlib import Path

import pytest
from commands import PROJECT, run, train, write_books

MAPS = sorted(path.stem for path in (PROJECT / "conf" / "feature_map").glob("*.yaml"))
SMALL = "--tokens 48 --head-dim 8 --heads 2 --draws 60"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(name="main", scope="module")
def _main():
    """The script's main, since a process for every test would mostly import."""
    spec = importlib.util.spec_from_file_location("analyze_script", PROJECT / "scripts" / "analyze.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def record(folder: Path) -> dict:
    return json.loads((folder / "analysis.json").read_text())


def pictures(folder: Path) -> set[str]:
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(PNG)
        assert path.stat().st_size > 10_000
    return {path.stem for path in folder.glob("*.png")}


def test_every_part_of_every_map(tmp_path):
    times = "--time --time-lengths 32 64 --time-tokens 64 --rounds 1"
    done = run("scripts/analyze.py", *SMALL.split(), *times.split(), "--output", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = record(tmp_path / "out")
    for part in ("sharpness", "monotonicity", "position", "cost"):
        maps = [row["map"] for row in found[part]]
        assert maps == (MAPS if part == "cost" else ["softmax", *MAPS])
    assert {"favor", "oprf", "trigonometric"} <= {row["map"] for row in found["variance"]}
    assert {row["decay"] for row in found["decay"]} >= {"fixed", "selective", "channel"}
    assert {"map", "spearman", "spearman_low", "weights", "scores"} <= found["monotonicity"][0].keys()
    assert found["monotonicity"][0]["spearman"] == pytest.approx(1)
    assert set(found["cost"][0]["ratio"]) == {"32", "64"}
    assert found["arguments"]["seed"] == 0
    assert {"commit", "torch", "cpu", "threads"} <= found["environment"].keys()
    assert pictures(tmp_path / "out") == {"variance", "sharpness", "monotonicity", "position", "decay", "cost"}
    assert all(name in done.stdout for name in MAPS)
    assert "…" not in done.stdout  # no cell is cut at the width of a pipe


def test_some_parts_of_some_maps(main, tmp_path):
    parts = "--maps elu --parts variance sharpness cost --output"
    assert main([*SMALL.split(), *parts.split(), str(tmp_path)]) == 0
    found = record(tmp_path)
    assert found.keys() == {"arguments", "environment", "sharpness", "cost"}  # elu estimates nothing
    assert "ratio" not in found["cost"][0]
    assert pictures(tmp_path) == {"sharpness", "cost"}


@pytest.fixture(name="trained", scope="module")
def _trained(tmp_path_factory) -> tuple[Path, Path]:
    """A checkpoint after two steps, and its data."""
    data = write_books(tmp_path_factory.mktemp("books"))
    work = tmp_path_factory.mktemp("work")
    folder = train("variant=elu", "trainer.max_steps=2", "logger=csv", data=data, cwd=work)
    return folder / "checkpoints" / "last.ckpt", data


def test_a_checkpoints_own_attention_on_a_text_and_on_a_row(main, trained, tmp_path, capsys):
    checkpoint, data = trained
    book = tmp_path / "book.txt"
    book.write_text("It was the whale of chapter 1. " * 20)
    given = ["--checkpoint", str(checkpoint), "--output", str(tmp_path / "out")]
    assert main([*given, "--document", str(book), "--tokens", "50"]) == 0
    found = record(tmp_path / "out")
    assert found["tokens"] == 50
    assert pictures(tmp_path / "out") == {"checkpoint"}
    assert "elu on 50 tokens" in capsys.readouterr().out
    assert [layer["layer"] for layer in found["layers"]] == [0, 1]
    for layer in found["layers"]:
        assert (layer["mixer"], layer["tokens"], len(layer["heads"])) == ("LinearAttention", 50, 2)
        for head in layer["heads"]:
            assert 0 < head["entropy"] <= layer["uniform"]
            assert head["sum_squared"] == sorted(head["sum_squared"])
    assert main([*given, "--row", "1", "--data", str(data)]) == 0
    found = record(tmp_path / "out")
    assert found["tokens"] > 10
    assert found["step"] == 2


@pytest.mark.parametrize(("arguments", "sentence"), [
    ("--maps elu sofmax", f"sofmax is not in conf/feature_map; choose from {', '.join(MAPS)}"),
    ("--checkpoint gone.ckpt", "--checkpoint needs a document: either --document FILE or --row N"),
    ("--row 1", "--document and --row belong to a --checkpoint"),
    ("--tokens 31", "--tokens 31 must be 32 to 4096: a matrix of weights is made"),
    ("--heads 0", "--heads must be at least 1, not 0"),
    ("--scale 0", "--time-lengths and --scale must be above 0"),
])  # fmt: skip
def test_bad_arguments_are_one_sentence(main, arguments, sentence, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments.split())
    assert exit_.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(sentence)


@pytest.mark.parametrize(("arguments", "sentence"), [
    ("--row 6", "--row 6: the test split has the rows 0 to 5"),
    ("--document empty.txt", "the document has 0 tokens; weights need at least 2"),
    ("--document binary.txt", "binary.txt is not UTF-8"),
    ("--document gone.txt", "gone.txt"),
    ("--document empty.txt --checkpoint gone.ckpt", "gone.ckpt is not there"),
    ("--row 0 --trust os", "trust: os is no module of your own; Python's library and torch are never trusted"),
])  # fmt: skip
def test_what_a_checkpoint_cannot_read_is_one_sentence(
    main, trained, arguments, sentence, tmp_path, capsys, monkeypatch
):
    checkpoint, data = trained
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_text("")
    Path("binary.txt").write_bytes(b"\xff\xfe\x00")
    assert main(["--checkpoint", str(checkpoint), "--data", str(data), *arguments.split()]) == 1
    error = capsys.readouterr().err
    assert error.startswith("analyze.py: ")
    assert sentence in error
    assert error.count("\n") == 1
