"""What the page says: every run, also what is odd, and nothing averaged in silence."""

import json
import re
from pathlib import Path
from typing import Any

from results.made_runs import write_many, write_run
from results.records import made

from longdoc.results import collect_paths, write_record
from longdoc.results.intervals import wilson
from longdoc.results.process import process
from longdoc.results.report import page
from longdoc.results.report.data import gather


def of(folder: Path) -> dict[str, Any]:
    return gather(*collect_paths([folder]))


def test_each_run_says_what_it_has_otherwise_than_its_group(tmp_path):
    for seed in (1, 2, 3):
        write_run(tmp_path / f"elu{seed}", seed=seed)
    write_run(tmp_path / "softmax", attention="softmax", feature_map=None)
    write_run(tmp_path / "slow", seed=4, lr=0.1)
    differs = {run["folder"]: run["differs"] for run in of(tmp_path)["runs"]}
    assert differs["elu1"] == []
    assert differs["slow"] == [["optimizer.lr", "0.1", "0.001"]]
    assert ["encoder.attention._target_", '"softmax"', '"linear"'] in differs["softmax"]


def test_trials_that_were_not_chosen_are_shown_and_in_no_mean(tmp_path):
    for name, lr, loss, accuracy in (("a", 1e-3, 1.0, 0.5), ("b", 3e-3, 2.0, 0.9)):
        write_run(tmp_path / name, lr=lr, metrics={"val/loss": loss, "test/accuracy": accuracy})
    data = of(tmp_path)
    (row,) = data["groups"][0]["rows"]
    assert (row["n"], row["accuracy"]["mean"]) == (1, 0.5)
    assert [run["row"] for run in data["runs"]] == ["elu", "elu"]
    assert [run["notes"] for run in data["runs"]] == [[], ["a trial that was not chosen by val/loss"]]


def test_unfinished_runs_stand_in_their_group_and_in_no_mean(tmp_path):
    write_run(tmp_path / "a", accuracy=0.5)
    write_run(tmp_path / "b", seed=2, status="failed", error="out of memory", metrics={})
    going = made(seed=3, status="running", metrics={})
    del going["budget"]
    write_record(tmp_path / "c", going)
    write_record(tmp_path / "d", going | {"task": "books", "seed": 4})
    write_record(tmp_path / "e", going | {"seed": 5, "process": process() | {"started": 1}})
    data = of(tmp_path)
    assert [(run["status"], run["group"]) for run in data["runs"]] == [
        ("finished", 0), ("failed", 0), ("running", 0), ("running", None), ("stopped", 0),
    ]  # fmt: skip
    assert [data["runs"][i]["error"] for i in (1, 4)] == ["out of memory", "its process is gone"]
    (row,) = data["groups"][0]["rows"]
    assert (row["n"], row["accuracy"]["mean"]) == (1, 0.5)


def test_odd_runs_are_noted(tmp_path):
    write_run(tmp_path / "a", seed=1, run_id="twice")
    write_run(tmp_path / "b", seed=2, run_id="twice", accuracy=None)
    write_record(tmp_path / "c", made(seed=3))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "results.json").write_text(json.dumps(made() | {"schema_version": 0}))
    data = of(tmp_path)
    odd = {run["folder"]: run["odd"] for run in data["runs"]}
    assert odd == {
        "a": ["2 runs have this name"],
        "b": ["val/accuracy is nan", "test/accuracy is nan", "2 runs have this name"],
        "c": [],
    }
    assert data["runs"][2]["notes"] == ["no metrics.csv beside its record: no curves"]
    assert data["problems"] == [
        {
            "path": str(tmp_path / "old" / "results.json"),
            "reason": "schema_version is 0, this longdoc reads 1: an older record; compare it with the longdoc of its "
            "commit, or train anew.",
        }
    ]


def test_baselines_are_rows_that_cost_nothing(tmp_path):
    write_run(tmp_path / "softmax", attention="softmax", feature_map=None, accuracy=0.5)
    words = {"attention": None, "feature_map": None, "encoder": None, "max_length": None, "budget": {}}
    write_record(tmp_path / "tfidf", made(accuracy=0.75, baseline="tfidf", config_hash="t", **words))
    data = of(tmp_path)
    (group,) = data["groups"]
    assert [(row["variant"], row["tokens_per_second"], row["difference"]["value"]) for row in group["rows"]] == [
        ("tfidf", None, 0.25), ("softmax", 1000.0, 0.0),
    ]  # fmt: skip
    assert [(run["row"], run["group"], run["differs"]) for run in data["runs"]] == [
        ("softmax", 0, []),
        ("tfidf", 0, []),
    ]


def test_a_run_named_like_markup_stays_text(tmp_path):
    write_run(tmp_path / "a", run_id="</script><b>{{STYLE}}")
    html = page(*collect_paths([tmp_path]), "outputs")
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert text
    assert json.loads(text[1])["runs"][0]["id"] == "</script><b>{{STYLE}}"


def test_fifty_runs_are_less_than_three_megabytes(tmp_path):
    assert write_many(tmp_path, steps=20_000, every=40) == 50
    html = page(*collect_paths([tmp_path]), "outputs")
    assert len(html.encode()) < 3_000_000
    assert html.count('"id":') == 50
    for outside in ("http://", "https://", "//cdn", "@import", "src="):
        assert outside not in html.replace("http://www.w3.org/2000/svg", "")


def test_lengths_are_taken_together_over_runs_and_have_limits_in_one(tmp_path):
    def bins(short: float, long: float) -> list[dict[str, Any]]:
        return [
            {"from": 512, "to": 1023, "documents": 10, "accuracy": short, "read": 1.0},
            {"from": 1024, "to": 2047, "documents": 20, "accuracy": long, "read": 0.5},
        ]

    write_run(tmp_path / "a", seed=1, by_length=bins(0.5, 0.25))
    write_run(tmp_path / "b", seed=2, by_length=bins(0.7, 0.75))
    write_run(tmp_path / "c", attention="softmax", accuracy=0.4, by_length=bins(0.9, 0.1))
    elu, softmax = (row["by_length"] for row in of(tmp_path)["groups"][0]["rows"])
    assert elu == [
        {"from": 512, "to": 1023, "n": 2, "documents": 10, "accuracy": 0.6, "low": None, "high": None, "read": 1.0},
        {"from": 1024, "to": 2047, "n": 2, "documents": 20, "accuracy": 0.5, "low": None, "high": None, "read": 0.5},
    ]
    assert [(bin_["low"], bin_["high"]) for bin_ in softmax] == [wilson(9, 10), wilson(2, 20)]


def test_rows_on_other_documents_are_in_figures_of_their_own(tmp_path):
    for name, pairs, content in (("a", 4, "x"), ("b", 32, "y"), ("c", 4, "x")):
        run = made("softmax" if name == "c" else "linear", references={"guess": 1 / pairs})
        run["config"]["task"]["pairs"] = pairs
        for counts in run["splits"].values():
            counts["content"] = content
        write_record(tmp_path / name, run | {"config_hash": name, "accuracy": 0.5})
    (group,) = of(tmp_path)["groups"]
    assert [(row["variant"], row["part"]) for row in group["rows"]] == [("elu", 0), ("elu (2)", 1), ("softmax", 0)]
    assert group["parts"] == [
        {"name": "task.pairs 4", "references": {"guess": 0.25}},
        {"name": "task.pairs 32", "references": {"guess": 0.03125}},
    ]
    assert group["references"]["guess"] == (0.25 + 0.25 + 0.03125) / 3


def test_published_numbers_are_there_if_they_are_asked_for(tmp_path):
    write_run(tmp_path / "a", protocol="skyformer")
    found = collect_paths([tmp_path])
    assert gather(*found)["groups"][0]["published"] == []
    (group,) = gather(*found, published=True)["groups"]
    assert {"model": "Transformer", "accuracy": 0.3837, "source": "Chen et al. 2021, accuracies on LRA"} in (
        group["published"]
    )
    assert "published: Chen et al. 2021, accuracies on LRA" in group["notes"]
