"""Sweeps: what is finished stays, what was stopped goes on, and jobs side by side."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import PROJECT, TINY, record, run, write_books
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from results.records import made

from longdoc.results import write_record
from longdoc.sweep import alone, folder_of, journal, other_commit, summary, told


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> list[str]:
    data = write_books(tmp_path_factory.mktemp("books"))
    return ["-m", *TINY, f"task.data={data}", f"task.cache={data}/cache"]


def test_a_sweep_killed_in_its_third_job_goes_on_there_and_runs_only_the_rest(words, tmp_path):
    words = [*words, "sweep=maps", "variant=softmax,elu,favor,relu", "trainer.max_steps=300", "logger=csv"]
    job = run("train.py", *words, cwd=tmp_path, background=True)
    deadline = time.monotonic() + 200
    metrics: list[Path] = []
    while len(metrics) < 3 or len(metrics[2].read_text().splitlines()) < 20:
        assert time.monotonic() < deadline
        assert job.poll() is None, job.communicate()
        metrics = sorted(tmp_path.glob("outputs/maps/*/metrics.csv"))
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    output, _ = job.communicate(timeout=200)
    assert job.returncode == 128 + signal.SIGTERM, output
    assert "3 jobs of the sweep: 2 finished, 1 interrupted" in output
    *done, stopped = sorted(path.parent for path in metrics)
    before = [(folder / "results.json").read_bytes() for folder in done]
    assert record(stopped)["status"] == "interrupted"

    rest = run("train.py", *words, cwd=tmp_path)
    assert rest.returncode == 0, rest.stdout + rest.stderr
    assert "4 jobs of the sweep: 2 finished, 2 already finished" in rest.stdout
    assert [(folder / "results.json").read_bytes() for folder in done] == before
    folders = sorted(tmp_path.glob("outputs/maps/*/"))
    assert folders[:3] == [*done, stopped]
    assert [record(folder)["feature_map"] for folder in folders] == [None, "elu", "favor", "relu"]
    assert all(record(folder)["status"] == "finished" and record(folder)["steps"] == 300 for folder in folders)
    assert len(list(stopped.glob("metrics*.csv"))) == 2
    assert list((tmp_path / "outputs").glob(".*")) == []


def test_jobs_side_by_side_have_folders_and_wandb_runs_of_their_own(words, tmp_path):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    side_by_side = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "seed=1,2", "encoder.heads=2,3"]
    done = run("train.py", *words, *side_by_side, "trainer.max_steps=2", cwd=tmp_path)
    assert done.returncode == 1
    assert "4 jobs of the sweep: 2 finished, 2 failed" in done.stdout
    results = {folder: record(folder) for folder in tmp_path.glob("outputs/books/*")}
    finished = [folder for folder, found in results.items() if found["status"] == "finished"]
    assert sorted(results[folder]["seed"] for folder in finished) == [1, 2]
    assert len({results[folder]["wandb_id"] for folder in finished}) == 2
    assert all(len(list(folder.glob("wandb/offline-run-*/*.wandb"))) == 1 for folder in finished)


def test_a_job_goes_where_its_very_config_was_run(tmp_path):
    config = made(seed=1)["config"]
    assert folder_of(config, tmp_path / "nowhere") is None

    def make(name: str, **others) -> Path:
        write_record(tmp_path / name, made(**others))
        return tmp_path / name

    make("a", status="failed", error="no checkpoint to go on from")
    make("b", lr=3e-3)
    make("c", seed=2)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "results.json").write_text("{")
    assert folder_of(config, tmp_path) is None
    begun = make("e", status="interrupted") / "checkpoints"
    begun.mkdir()
    (begun / "last.ckpt").touch()
    assert folder_of(config, tmp_path) == tmp_path / "e"
    make("0")
    assert folder_of(config | {"sweep": "x", "resume": None, "trust": []}, tmp_path) == tmp_path / "0"
    assert folder_of(config | {"pooling": "max"}, tmp_path) is None

    (make("f", status="running", config=config | {"task": {"folds": 5}}) / "fold_0").mkdir()
    assert folder_of(config | {"task": {"folds": 5}}, tmp_path) == tmp_path / "f"


@pytest.mark.parametrize(
    "path", sorted((PROJECT / "conf" / "experiment" / "compare").glob("*.yaml")), ids=lambda path: path.stem
)
def test_comparisons_are_explained_and_of_words_that_there_are(path):
    assert f"`compare/{path.stem}`" in (PROJECT / "conf" / "README.md").read_text()
    params = dict(OmegaConf.load(path).hydra.sweeper.params)
    variants = {found.stem for found in (PROJECT / "conf" / "variant").glob("*.yaml")}
    assert len(params["variant"].split(",")) > 1
    assert variants >= set(params["variant"].split(","))
    words = [f"{key}={values.split(',')[-1]}" for key, values in params.items()]
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        assert compose("train", [f"experiment=compare/{path.stem}", *words]).sweep == path.stem


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    with alone(tmp_path), pytest.raises(ValueError, match=r"^another process is training in "), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass


def test_a_finished_run_says_of_what_commit_and_changes_it_is(tmp_path, monkeypatch):
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr("longdoc.sweep.PROJECT", tmp_path)
    assert other_commit({"commit": "0" * 40, "dirty": False}) == ""  # no repository
    git("init")
    git("commit", "--allow-empty", "-m", "one")
    here = git("rev-parse", "HEAD")
    now = here[:10]
    assert other_commit({"commit": here, "dirty": False}) == ""
    assert other_commit({"commit": here, "dirty": True}) == f", at commit {now} with changes, now {now}"
    assert other_commit({"commit": "0" * 40, "dirty": False}) == f", at commit 0000000000, now {now}"
    assert other_commit({"commit": None, "dirty": None}) == ""
    (tmp_path / "new").touch()
    changed = f", now {now} with changes"
    assert other_commit({"commit": here, "dirty": False}) == f", at commit {now}{changed}"
    assert other_commit({"commit": here, "dirty": True}) == f", at commit {now} with changes{changed}"


def test_a_job_whose_process_is_killed_is_listed_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LONGDOC_JOURNAL", "")  # so that it is as before, afterwards
    code = "import os; from pathlib import Path; from longdoc.sweep import told\n"
    code += "with told(2, ['seed=2'], Path('b')): os.kill(os.getpid(), 9)"
    jobs: list[dict] = []
    with journal(jobs):
        assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
        with told(1, ["seed=1"], Path("a")) as outcome:
            outcome["outcome"] = "already finished"
        with pytest.raises(ValueError, match="odd"), told(3, ["seed=3"], Path("c")):
            raise ValueError("odd")
    assert [(job["number"], job["outcome"], job.get("sentence")) for job in jobs] == [
        (1, "already finished", None), (2, "interrupted", "its process was killed"), (3, "failed", "odd"),
    ]  # fmt: skip
    assert "  interrupted       seed=2: its process was killed" in summary(jobs)


def test_what_a_killed_command_has_left_is_not_taken_for_jobs_of_the_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LONGDOC_JOURNAL", "")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / f".jobs_{os.getpid()}").write_text('{"number": 1, "outcome": "finished"}\n')
    jobs: list[dict] = []
    with journal(jobs):
        left = os.environ["LONGDOC_JOURNAL"]
        with told(0, ["seed=1"], Path("a")):
            pass
    Path(left).write_text('{"number": 1, "outcome": "finished"}\n')
    with journal(jobs):
        pass
    assert [job["number"] for job in jobs] == [0]


def test_the_list_of_jobs_has_the_words_in_which_they_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = (["seed=1", "a=1"], ["seed=1", "a=2"], ["seed=1", "a=3"])
    jobs = [{"outcome": "finished", "words": w, "folder": str(tmp_path / "outputs" / "x" / w[1])} for w in words]
    jobs[1] |= {"outcome": "failed", "sentence": "a=2 is odd"}
    head, *lines, again, compare = summary(jobs)
    assert head == "3 jobs of the sweep: 2 finished, 1 failed"
    assert lines == [
        "  finished  a=1: outputs/x/a=1",
        "  failed    a=2: a=2 is odd",
        "  finished  a=3: outputs/x/a=3",
    ]
    assert again == "the same command runs what is not finished"
    assert compare.endswith("scripts/compare.py outputs/x")
