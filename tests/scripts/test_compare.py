"""scripts/compare.py as a user runs it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from results.records import made

from longdoc.results import write_record

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_script", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PROJECT", tmp_path / "project")
    monkeypatch.chdir(tmp_path)
    return module


def test_from_another_folder_it_prints_tables_and_names_problems(tmp_path: Path) -> None:
    write_record(tmp_path / "runs" / "a", made())
    (tmp_path / "runs" / "b").mkdir()
    (tmp_path / "runs" / "b" / "config.yaml").touch()
    done = subprocess.run([sys.executable, SCRIPT, "runs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert "listops · longdoc · 2,000 tokens · small · 10 min" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == f"{tmp_path / 'runs' / 'b'} has no results.json: the run is still going or was killed.\n"


def test_formats(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(tmp_path / "runs", made())
    assert script.main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["variant"] == "elu"
    assert script.main(["runs", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("kind,variant,status,task")
    assert script.main(["runs", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("### listops")


def test_no_results_is_one_sentence_and_status_1(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert script.main(["empty"]) == 1
    assert capsys.readouterr() == ("", "No results found in empty.\n")


def test_default_is_the_projects_outputs_then_the_ones_here(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "project" / "outputs").mkdir(parents=True)
    assert script.main([]) == 1
    assert capsys.readouterr().err == f"No results found in {tmp_path / 'project' / 'outputs'}.\n"
    write_record(tmp_path / "outputs" / "a", made(task="here"))
    assert script.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["task"] == "here"
    write_record(tmp_path / "project" / "outputs" / "a", made(task="project"))
    assert script.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["task"] == "project"


def test_published_numbers_stand_alone_where_no_run_is_finished(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "project" / "outputs" / "a", made(status="failed", error="no data"))
    assert script.main(["--published", "--json"]) == 0
    shown = capsys.readouterr()
    assert {row["kind"] for row in json.loads(shown.out)} == {"published"}
    assert shown.err == f"None of the 1 runs in {tmp_path / 'project' / 'outputs'} is finished.\n"


def test_published_numbers_have_no_value_to_be_told_apart_by(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        script.main(["--published", "--by", "task.pairs"])
    assert "--by tells runs apart by a value that no published number has: leave" in capsys.readouterr().err


def test_published_numbers_beside_runs_and_alone(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--published", "--json"]) == 0
    assert {row["kind"] for row in json.loads(capsys.readouterr().out)} == {"published"}
    assert script.main(["--published"]) == 0
    assert "Published, protocol skyformer" in capsys.readouterr().out
    write_record(tmp_path / "runs" / "a", made())
    assert script.main(["runs", "--published", "--json"]) == 0
    shown = capsys.readouterr()
    assert {row["kind"] for row in json.loads(shown.out)} == {"variant", "reference"}
    assert shown.err == "No finished run here is of a protocol and task with published numbers.\n"
    write_record(tmp_path / "runs" / "b", made(protocol="skyformer"))
    assert script.main(["runs", "--published", "--json"]) == 0
    shown = capsys.readouterr()
    assert {row["protocol"] for row in json.loads(shown.out) if row["kind"] == "published"} == {"skyformer"}
    assert shown.err == ""
    (tmp_path / "empty").mkdir()
    assert script.main(["empty", "--published"]) == 1


def test_by_a_value_in_every_form_with_what_is_left_out_counted(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "runs" / "a", made())
    write_record(tmp_path / "runs" / "b", made(seed=2, status="failed"))
    said = "1 of 2 runs are not finished or say no optimizer.lr: not shown.\n"
    for option, beginning in (
        ("--json", '[\n  {\n    "kind": "variant",\n    "variant": "elu"'),
        ("--csv", "kind,variant,task,protocol,optimizer.lr,test/accuracy"),
        ("--markdown", "### listops · longdoc · test accuracy by optimizer.lr\n"),
    ):
        assert script.main(["runs", "--by", "optimizer.lr", option]) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith(beginning)
        assert shown.err == said
    assert script.main(["runs", "--by", "optimizer.lr"]) == 0
    assert "variant, by optimizer.lr  0.001\n" in capsys.readouterr().out
    assert script.main(["runs", "--by", "optimizer.lrr"]) == 1
    assert (
        capsys.readouterr().err == "compare.py: no finished run has a number or a word at optimizer.lrr in its config\n"
    )
    with pytest.raises(SystemExit, match="2"):
        script.main(["runs", "--by", "seed", "--report", "page.html"])


def test_the_page_has_published_numbers_if_they_are_asked_for(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "runs" / "a", made(protocol="skyformer"))
    for options, there in (([], False), (["--published"], True)):
        assert script.main(["runs", "--report", "page.html", *options]) == 0
        assert ('"model":"Transformer"' in Path("page.html").read_text(encoding="utf-8")) is there
    assert capsys.readouterr().err == ""
    write_record(tmp_path / "own" / "a", made())
    assert script.main(["own", "--report", "page.html", "--published"]) == 0
    assert capsys.readouterr().err == "No finished run here is of a protocol and task with published numbers.\n"


def test_a_report_is_one_file_also_of_nothing(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "runs" / "a", made())
    assert script.main(["runs", "--report", "page.html"]) == 0
    assert capsys.readouterr() == ("page.html: 1 run\n", "")
    assert '"id":"linear-elu-None-1-0.001"' in Path("page.html").read_text(encoding="utf-8")
    assert script.main(["none", "--report", "page.html"]) == 1
    assert capsys.readouterr().err == "none does not exist.\nNo results found in none.\n"
    assert '"runs":[]' in Path("page.html").read_text(encoding="utf-8")
    assert script.main(["runs", "--report", "missing/page.html"]) == 1
    assert capsys.readouterr().err == "compare.py: missing/page.html cannot be written (No such file or directory)\n"
