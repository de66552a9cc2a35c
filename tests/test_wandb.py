"""What W&B gets of a run, read back from its offline files; and that it gets it on this machine alone."""

import json
import shutil
import socket
import subprocess
import sys
from itertools import chain, product
from pathlib import Path

import pytest
import yaml
from commands import PROJECT, record, run, train, write_books
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from wandb.sdk.launch.sweeps.utils import create_sweep_command_args
from wandb_file import read

from longdoc.training.callbacks import checkpoints
from longdoc.training.loggers import AXES, CURVES, RunLogger, finish_wandb

SECRET = "hf_this_is_a_secret"


@pytest.fixture(scope="module")
def network():
    """Where every call would arrive: the environment that sends them there, and whether any came."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        proxies = dict.fromkeys([*names, *(name.lower() for name in names)], address)
        yield server, proxies | {"NO_PROXY": "", "no_proxy": "", "WANDB_BASE_URL": address}


def called(server: socket.socket) -> bool:
    try:
        server.accept()
    except BlockingIOError:
        return False
    return True


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def finished(network, home, tmp_path_factory) -> Path:
    """13 steps, validated every 4 and at the end, with no home, no account, closed standard input and a secret."""
    data = write_books(tmp_path_factory.mktemp("books"))
    return train(
        "trainer.max_steps=13", "trainer.val_check_interval=4", data=data, cwd=tmp_path_factory.mktemp("work"),
        HOME=str(home), WANDB_API_KEY="", HF_TOKEN=SECRET, **network[1],
    )  # fmt: skip


@pytest.fixture(scope="module")
def logged(finished):
    (path,) = finished.glob("wandb/offline-run-*/*.wandb")
    return read(path)


def table(folder: Path, key: str, logged) -> dict:
    """Columns and rows of a table that the summary names."""
    assert logged["summary"][f"{key}._type"] == "table-file"
    (path,) = folder.glob(f"wandb/offline-run-*/files/{logged['summary'][f'{key}.path']}")
    return json.loads(path.read_text())


def test_a_run_says_to_what_it_may_be_compared(finished, logged):
    assert (logged["group"], logged["job_type"]) == ("books/longdoc", "train")
    assert set(logged["tags"]) == {"linear", "elu"}
    assert logged["run_id"] == record(finished)["wandb_id"] == record(finished)["run_id"]
    assert logged["exit_code"] == 0
    assert logged["config"]["variant"] == "elu"
    assert logged["config"]["departures"] == {}
    assert {key: logged["config"][key] for key in ("encoder", "task", "optimizer")} == {
        key: record(finished)["config"][key] for key in ("encoder", "task", "optimizer")
    }


def test_every_row_of_a_curve_has_tokens_and_seconds(finished, logged):
    for curve in CURVES:
        rows = [row for row in logged["history"] if curve in row]
        assert len(rows) == (13 if curve.startswith("train/") else 4)
        for axis in AXES:
            values = [row[axis] for row in rows]
            assert values == sorted(values)
            assert values[0] > 0
        assert logged["axes"][curve] == "train/tokens"
        assert rows[-1]["train/tokens"] == record(finished)["tokens"]
    steps = [row["trainer/global_step"] for row in logged["history"] if "val/loss" in row]
    assert steps == [3, 7, 11, 12]


def test_the_summary_is_the_best_checkpoints(finished, logged):
    summary, found = logged["summary"], record(finished)
    losses = [row["val/loss"] for row in logged["history"] if "val/loss" in row]
    assert summary["val/loss"] == pytest.approx(min(losses), abs=1e-5)
    for name, value in found["metrics"].items():
        assert summary[name] == pytest.approx(value)
    assert (summary["parameters"], summary["peak_memory_mb"]) == (found["parameters"], found["peak_memory_mb"])
    assert summary["train/tokens_per_second"] == pytest.approx(found["tokens_per_second"])


def test_the_summary_of_a_run_that_ends_early_is_the_best_so_far(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")  # which Lightning sets for good
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path))
    logger = RunLogger(project="longdoc", save_dir=str(tmp_path), offline=True)
    best, newest = checkpoints(tmp_path)
    for step, (loss, improves) in enumerate([(2.0, True), (1.0, True), (3.0, False)]):
        logger.log_metrics({"val/loss": loss, "val/accuracy": 1 - loss / 4}, step)
        for written in [best, newest] if improves else [newest]:
            logger.after_save_checkpoint(written)
    finish_wandb(1, {})
    (path,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    summary = read(path)["summary"]
    assert (summary["val/loss"], summary["val/accuracy"], summary["trainer/global_step"]) == (1.0, 0.75, 2)


def test_the_tables_of_the_test_split(finished, logged):
    found = record(finished)
    cells = table(finished, "test/confusion", logged)
    assert cells["columns"] == ["Actual", "Predicted", "nPredictions"]
    assert sum(count for *_, count in cells["data"]) == 6
    right = sum(count for actual, predicted, count in cells["data"] if actual == predicted)
    assert right / 6 == pytest.approx(found["metrics"]["test/accuracy"])
    for name in ("melville", "shelley", "austen"):
        assert sum(count for actual, _, count in cells["data"] if actual == name) == 2

    bins = table(finished, "test/by_length", logged)
    assert [dict(zip(bins["columns"], row, strict=True)) for row in bins["data"]] == found["by_length"]
    classes = table(finished, "test/per_class", logged)
    assert [row[0] for row in classes["data"]] == ["austen", "melville", "shelley"]
    assert [row[classes["columns"].index("support")] for row in classes["data"]] == [2, 2, 2]


def test_nothing_leaves_the_machine_or_the_folder_and_no_secret_is_kept(finished, home, network):
    assert not called(network[0])
    assert [path for path in home.rglob("*") if path.is_file()] == []
    files = [path for path in finished.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_runs_are_browsed_together_with_wandb_leet(finished):
    (path,) = (finished.parents[1] / "wandb").glob("offline-run-*/*.wandb")
    wandb = Path(sys.executable).with_name("wandb")
    command = [wandb, "leet", "inspect", "--summary", path]
    shown = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert shown.returncode == 0
    assert "val/loss" in shown.stdout


def test_an_evaluation_is_added_to_the_run(finished, network, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "outputs" / "books" / "run")
    path = folder / "checkpoints" / "best.ckpt"
    done = run("scripts/evaluate.py", str(path), "--wandb", "--output", "out.json", cwd=tmp_path, **network[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert not called(network[0])
    (scored,) = json.loads((tmp_path / "out.json").read_text())
    assert scored["wandb_id"] == record(finished)["wandb_id"]
    *_, newest = sorted(folder.glob("wandb/offline-run-*/*.wandb"))
    added = read(newest)
    assert added["run_id"] == record(finished)["wandb_id"]
    (row,) = [row for row in added["history"] if "evaluate/test/accuracy" in row]
    assert row["evaluate/test/accuracy"] == pytest.approx(scored["metrics"]["test/accuracy"])
    assert row["evaluate/checkpoint"] == str(path)
    assert row["trainer/global_step"] == record(finished)["selection"]["step"]
    assert not {"test/accuracy", "val/loss"} & added["summary"].keys()


def test_every_panel_shows_what_runs_log(finished, logged, network, tmp_path):
    """Both metrics of a line stand in one row; of a table the fields of its chart are columns."""
    rows, summary, config = logged["history"], logged["summary"], logged["config"]

    def of_run(accessor: str) -> None:
        section, _, name = accessor.partition(":")
        if section == "summary":
            assert isinstance(summary[name], int | float), name
        else:
            first, _, rest = name.partition(".value")
            assert OmegaConf.select(OmegaConf.create(config), first + rest, throw_on_missing=True) is not None, name

    done = run("scripts/dashboard.py", "--print", cwd=tmp_path, **network[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert not called(network[0])
    pages = json.loads(done.stdout)
    shown = pages["workspace"]["section"]["panelBankConfig"]["sections"]
    assert [section["name"] for section in shown] == ["Quality", "Efficiency", "By length", "Analysis"]
    grids = [block["metadata"] for block in pages["report"]["blocks"] if block["type"] == "panel-grid"]
    panels = [section["panels"] for section in shown]
    in_report = [grid["panelBankSectionConfig"]["panels"] for grid in grids]
    assert [[panel["viewType"] for panel in of] for of in in_report] == [[p["viewType"] for p in of] for of in panels]
    seen = set()
    for panel in chain(*panels, *in_report):
        kind, of = panel["viewType"], panel["config"]
        seen.add(kind)
        if kind == "Run History Line Plot":
            assert any(of["xAxis"] in row and name in row for row in rows for name in of["metrics"]), of
        elif kind == "Bar Chart":
            assert all(isinstance(summary[name], float) for name in of["metrics"])
        elif kind == "Scatter Plot":
            of_run(of["xAxis"])
            of_run(of["yAxis"])
        elif kind == "Parallel Coordinates Plot":
            for column in of["columns"]:
                of_run(column["accessor"])
        elif kind == "Vega2":
            (name,) = [arg["value"] for f in of["userQuery"]["queryFields"][0]["fields"] for arg in f.get("args", [])]
            assert set(of["fieldSettings"].values()) <= set(table(finished, name, logged)["columns"])
        elif kind == "Weave":
            assert any(f'"val": "{name}"' in json.dumps(of) for name in ("test/by_length", "test/per_class"))
        else:
            assert kind == "Run Comparer"
    assert len(seen) == 7


def test_every_job_of_a_wandb_sweep_composes():
    """As W&B's agent forms the command; the metric is one that runs log."""
    sweep = yaml.safe_load((PROJECT / "conf" / "wandb_sweep.yaml").read_text())
    assert sweep["metric"] == {"name": "val/loss", "goal": "minimize"}
    assert sweep["metric"]["name"] in CURVES
    assert (PROJECT / sweep["program"]).is_file()
    assert sweep["command"][:4] == ["${env}", "python", "${program}", "${args_no_hyphens}"]
    parameters = {key: of.get("values", [of.get("value")]) for key, of in sweep["parameters"].items()}
    for chosen in product(*parameters.values()):
        job = dict(zip(parameters, chosen, strict=True))
        arguments = create_sweep_command_args({"args": {key: {"value": value} for key, value in job.items()}})
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            config = compose("train", [*arguments["args_no_hyphens"], *sweep["command"][4:]])
        assert config.logger.wandb.offline is False
        for key in job.keys() - {"variant"}:
            assert OmegaConf.select(config, key) == job[key]
