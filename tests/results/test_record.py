"""The record on disk, and what identifies a run."""

import hashlib
import json
import math
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from results.records import made

from longdoc.results import config_hash, git_state, machine, read_record, versions, write_record


def test_a_record_is_read_as_it_was_written_with_keys_in_order(tmp_path: Path) -> None:
    record = made()
    path = write_record(tmp_path / "new" / "run", record)
    assert path == tmp_path / "new" / "run" / "results.json"
    assert read_record(path) == read_record(path.parent) == record
    assert list(json.loads(path.read_text())) == list(record)
    assert path.read_text().startswith('{\n  "schema_version": 1,\n  "run_id"')


def test_not_finite_becomes_null(tmp_path: Path) -> None:
    metrics = {"test/accuracy": math.nan, "test/loss": [math.inf, -math.inf, 0.5]}
    read = read_record(write_record(tmp_path, made(metrics=metrics)))
    assert read["metrics"] == {"test/accuracy": None, "test/loss": [None, None, 0.5]}


def test_text_that_has_no_utf8_is_kept(tmp_path: Path) -> None:
    assert read_record(write_record(tmp_path, made(error="ä \udc80")))["error"] == "ä \udc80"


@pytest.mark.parametrize(
    ("value", "at"),
    [(Path("x"), "config.path"), ([0, {1}], r"config.path\[1\]"), ({1: 2}, "config.path")],
)
def test_what_is_not_plain_json_is_named_and_nothing_is_left(tmp_path: Path, value: Any, at: str) -> None:
    write_record(tmp_path, made())
    with pytest.raises(TypeError, match=at):
        write_record(tmp_path, made(seed=2, config={"path": value}))
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert read_record(tmp_path) == made()


def test_a_failed_write_leaves_the_former_record_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_record(tmp_path, made())

    def fail(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_record(tmp_path, made(seed=2))
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert read_record(tmp_path) == made()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema_version": 1, "run', "broken JSON"),
        ('{"schema_version": NaN}', "NaN is not JSON"),
        ("\udcff", "broken JSON"),
        ("[]", "not a record but a JSON list"),
        ("{}", "schema_version is None, this longdoc reads 1: not a record of longdoc"),
        (json.dumps(made(schema_version=0)), "schema_version is 0, this longdoc reads 1: an older record; compare it"),
        (json.dumps(made(schema_version=2)), "schema_version is 2, this longdoc reads 1: a newer record, which needs"),
        (
            json.dumps({key: value for key, value in made().items() if key not in ("seed", "steps")}),
            "lacks seed, steps",
        ),
        (
            json.dumps(made(status="done")),
            "status is 'done', not one of finished, failed, running, interrupted",
        ),
        (json.dumps(made(metrics=None)), "metrics is not an object but None"),
    ],
)
def test_an_unreadable_record_is_named_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ValueError, match=message) as error:
        read_record(path)
    assert str(error.value).startswith(f"{path}: ")


def test_a_failed_run_needs_no_numbers(tmp_path: Path) -> None:
    numbers = ("metrics", "steps", "tokens", "splits", "budget", "references", "parameters")
    record = {key: value for key, value in made(status="failed", error="no").items() if key not in numbers}
    assert read_record(write_record(tmp_path, record)) == record


def test_the_hash_ignores_seed_order_and_where_a_run_goes_on() -> None:
    config = {"a": {"b": 1, "seed": 1}, "c": [1, 2], "seed": 1, "resume": None, "logger": {"mode": "offline"}}
    same = {
        "choices": {"variant": "elu"},
        "resume": "outputs/x",
        "c": [1, 2],
        "seed": 2,
        "a": {"seed": 2, "b": 1},
    }
    assert config_hash(config) == config_hash(same)
    assert len(config_hash(config)) == 12
    assert config_hash(config) == hashlib.sha256(b'{"a":{"b":1},"c":[1,2]}').hexdigest()[:12]


@pytest.mark.parametrize("change", [{"a": {"b": 2}}, {"c": [2, 1]}, {"d": None}, {"a": {"b": 1, "data_seed": 3}}])
def test_the_hash_reacts_to_every_other_value(change: dict[str, Any]) -> None:
    config = {"a": {"b": 1}, "c": [1, 2]}
    assert config_hash(config) != config_hash(config | change)


def test_the_hash_of_softmax_ignores_the_map_it_does_not_use() -> None:
    config = {"encoder": {"attention": {"_target_": "Softmax"}}, "feature_map": "elu"}
    assert config_hash(config) == config_hash(config | {"feature_map": "favor"})
    assert config_hash({"feature_map": "elu"}) != config_hash({"feature_map": "favor"})


def test_git_state_knows_commit_and_changes(tmp_path: Path) -> None:
    assert git_state(tmp_path) == (None, None)
    assert git_state(tmp_path / "missing") == (None, None)

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "one")
    commit = git("rev-parse", "HEAD")
    assert git_state(tmp_path) == (commit, False)
    (tmp_path / "new").write_text("1")
    assert git_state(tmp_path) == (commit, True)


def test_versions_and_machine() -> None:
    found = versions()
    assert list(found) == [
        "python",
        "torch",
        "lightning",
        "datasets",
        "hydra",
        "wandb",
        "torchmetrics",
        "tokenizers",
        "scikit-learn",
        "sentence-transformers",
        "longdoc",
    ]
    assert found["python"] == platform.python_version()
    assert all(value for name, value in found.items() if name != "sentence-transformers")  # an extra
    assert machine(3)["threads"] == 3
    assert machine(3)["cpu"]


def test_results_load_neither_torch_nor_lightning_nor_the_rest_of_longdoc() -> None:
    code = "import sys, longdoc.results.table as t; print(*sorted({m.split('.')[0] for m in sys.modules} "
    code += "| {'.'.join(m.split('.')[:2]) for m in sys.modules if m.startswith('longdoc.')}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "longdoc.results" in loaded
    assert not {"torch", "lightning", "pytorch_lightning", "hydra", "wandb", "datasets"} & set(loaded)
    assert [name for name in loaded if name.startswith("longdoc.")] == ["longdoc.results"]
