"""What is found below a folder, and what is said of the rest."""

import shutil
from pathlib import Path

from results.records import made

from longdoc.results import Problem, collect, write_record
from longdoc.results.process import process


def test_records_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name, seed in [("b/2", 3), ("a/1", 1), ("b/1", 2)]:
        write_record(tmp_path / name, made(seed=seed))
        (tmp_path / name / "config.yaml").touch()
    records, problems = collect([tmp_path])
    assert [record["seed"] for record in records] == [1, 2, 3]
    assert problems == []


def test_a_file_and_overlapping_folders_count_once(tmp_path: Path) -> None:
    write_record(tmp_path / "b", made(seed=2))
    first = write_record(tmp_path / "a", made())
    records, problems = collect([tmp_path / "b", first, tmp_path, tmp_path / "a" / ".." / "a"])
    assert [record["seed"] for record in records] == [1, 2]
    assert problems == []


def test_what_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    write_record(tmp_path / "good", made())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "results.json").write_text("{")
    write_record(tmp_path / "old", made(schema_version=0))
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / "config.yaml").touch()
    (tmp_path / "good" / "wandb" / "files").mkdir(parents=True)
    (tmp_path / "good" / "wandb" / "files" / "config.yaml").touch()
    records, problems = collect([tmp_path, tmp_path / "missing"])
    assert records == [made()]
    broken, killed, missing, old = problems
    assert broken.path == tmp_path / "broken" / "results.json"
    assert broken.reason.startswith("broken JSON (")
    assert killed == Problem(tmp_path / "killed", "has no results.json: the run is still going or was killed.")
    assert missing == Problem(tmp_path / "missing", "does not exist.")
    reason = "schema_version is 0, this longdoc reads 1: an older record; compare it with the longdoc of its commit"
    assert old.reason == f"{reason}, or train anew."


def test_a_copied_run_is_not_a_second_one(tmp_path: Path) -> None:
    first = write_record(tmp_path / "a", made())
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    records, problems = collect([tmp_path])
    assert len(records) == 1
    assert problems == [Problem(tmp_path / "copy" / "results.json", f"is a copy of {first} and not counted again.")]


def test_a_run_whose_process_is_gone_is_stopped(tmp_path: Path) -> None:
    write_record(tmp_path / "going", made(status="running", process=process()))
    write_record(tmp_path / "killed", made(status="running", process=process() | {"started": 1}))
    records, problems = collect([tmp_path])
    assert [(record["status"], record.get("error")) for record in records] == [
        ("running", None), ("stopped", "its process is gone"),
    ]  # fmt: skip
    assert problems == []
