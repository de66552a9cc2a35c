"""A comparison as it is shown: cells, marks for what is unlike, and every format."""

import csv
import io
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from results.records import made
from rich.console import Console

from longdoc.results import Problem
from longdoc.results.comparison import compare
from longdoc.results.table import to_csv, to_json, to_markdown
from longdoc.results.terminal import to_rich

SOFTMAX = [0.40, 0.44, 0.45]
ELU = [0.50, 0.52, 0.57]


def three_seeds() -> list[dict[str, Any]]:
    records = [made("softmax", seed=i, accuracy=a, speed=100.0 + i) for i, a in enumerate(SOFTMAX)]
    records += [made(seed=i, accuracy=a, speed=1000.0 + i) for i, a in enumerate(ELU)]
    return [*records, made(feature_map="favor", decay="selective", accuracy=0.3, speed=50.5)]


def shown(records: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(to_rich(*compare(records)))
    return out.getvalue()


def test_the_order_of_records_does_not_matter() -> None:
    records = three_seeds()
    table = to_markdown(*compare(records))
    assert table == to_markdown(*compare(records[::-1]))


def test_other_settings_are_another_row_and_said() -> None:
    records = [made(accuracy=0.6), made(config_hash="narrow", accuracy=0.5), made("softmax", accuracy=0.4)]
    records[1]["config"]["encoder"]["width"] = 64
    (group,), _ = compare(records)
    assert [row.variant for row in group.rows] == ["elu", "elu (2)", "softmax"]
    assert [row.settings for row in group.rows] == [{"encoder.width": width} for width in (128, 64, 128)]
    assert "encoder.width differs: 128 (elu, softmax); 64 (elu (2))" in shown(records)


def test_unlike_conditions_are_marked() -> None:
    records = [made("softmax", speed=100.0), made(speed=200.0, device="cuda", precision="bf16-mixed")]
    records.append(made(feature_map="relu", speed=300.0, commit="f" * 40))
    (group,), _ = compare(records)
    assert {row.variant: row.like_softmax for row in group.rows} == {
        "softmax": True,
        "elu": False,
        "relu": True,
    }
    text = " ".join(shown(records).split())
    assert "×2.00*" in text
    assert "×3.00 " in text
    assert "device differs: cuda (elu); cpu (relu, softmax)" in text
    assert "precision differs: bf16-mixed (elu); 32-true (relu, softmax)" in text
    assert "commit differs: 0123456789 (elu, softmax); ffffffffff (relu)" in text
    assert "speeds with * and softmax's differ in their conditions" in text


def test_two_runs_of_one_seed_are_counted_and_said() -> None:
    records = [made(seed=7, accuracy=0.4), made(seed=7, accuracy=0.6), made(seed=8, accuracy=0.5)]
    (group,), _ = compare(records)
    assert group.rows[0].values["test/accuracy"] == (0.5, statistics.stdev([0.4, 0.6, 0.5]), 3)
    assert "elu: 2 runs of one seed (7)" in shown(records)


def test_a_missing_metric_is_shown_and_left_out() -> None:
    records = [made(seed=1, accuracy=0.5), made(seed=2, accuracy=None), made("softmax", accuracy=None)]
    (group,), _ = compare(records)
    assert [row.variant for row in group.rows] == ["elu", "softmax"]
    assert group.rows[0].values["test/accuracy"] == (0.5, None, 1)
    assert group.rows[0].accuracy_difference is None
    text = shown(records)
    assert "elu: test/accuracy is nan in 1 of 2 runs, left out of the mean" in text
    assert next(line for line in text.splitlines() if line.startswith("softmax")).split()[1:3] == ["1", "nan"]


def test_unfinished_runs_are_listed_and_in_no_mean() -> None:
    failed = {key: value for key, value in made(seed=2, status="failed").items() if key != "metrics"}
    failed["error"] = "OutOfMemoryError: [16, 4]\nmore"
    records = [made(), failed, made(seed=3, status="running", accuracy=0.9)]
    (group,), unfinished = compare(records)
    assert len(group.rows[0].records) == 1
    assert unfinished == records[1:]
    text = " ".join(shown(records).split())
    assert "failed: elu, seed 2 (listops · longdoc · 2,000 tokens · small; run linear-elu-None-2-0.001)" in text
    assert "OutOfMemoryError: [16, 4] more" in text
    assert "running: elu, seed 3" in text
    assert "failed: elu, seed 2" in to_markdown(*compare(records))
    assert "elu, seed 2" in shown([failed])


def test_the_table_fits_80_columns_and_keeps_every_digit() -> None:
    big = {"parameters": 123_456_789, "steps": 999_999, "tokens": 34_500_000_000, "peak_memory_mb": 139_264.0}
    records = [
        made(
            *(("softmax",) if kind is None else ("linear", "random_fourier", kind)),
            seed=seed,
            accuracy=0.5 + seed / 99,
            speed=123_456.0 if kind else 1000.0,
            device="cuda" if kind else "cpu",
            **big,
        )
        for kind in (None, "selective", "fixed")
        for seed in (1, 2)
    ]
    lines = shown(records).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    joined = " ".join(" ".join(lines).split())
    for cell in ("0.515 ± 0.007", "123M", "1.00M", "34.5G", "123k", "×123*", "139264", "+0.000"):
        assert cell in joined, cell


def test_columns_without_room_are_named_and_the_rest_is_whole() -> None:
    records = []
    for seed in (1, 2):
        record = made(feature_map="favor_hyperbolic", decay="selective", seed=seed, accuracy=seed / 4)
        records.append(record | {"metrics": record["metrics"] | {"test/f1_micro": seed / 5, "test/map": seed / 6}})
    lines = shown(records).splitlines()
    assert max(map(len, lines)) <= 80
    assert "no room for MB: in --csv" in lines
    assert " ".join(lines[2].split()) == "variant n test acc test F1 Δ acc params steps tokens tok/s speed"
    assert " ".join(lines[4].split()) == "favor_ 2 0.375 ± 0.177 0.300 ± 0.141 - 1.23M 1.20k 34.5M 1.00k -"
    assert [line.strip() for line in lines[5:7]] == ["hyperbolic", "+selective"]
    wide = io.StringIO()
    Console(file=wide, width=120).print(to_rich(*compare(records), width=120))
    assert "favor_hyperbolic+selective " in wide.getvalue()
    assert "no room" not in wide.getvalue()


def test_cells() -> None:
    lines = [line.split() for line in shown(three_seeds()).splitlines()]
    assert [
        "elu",
        "3",
        "0.530",
        "±",
        "0.036",
        "+0.100",
        "1.23M",
        "1.20k",
        "34.5M",
        "1.00k",
        "×9.91",
        "1234",
    ] in lines
    assert [
        "softmax",
        "3",
        "0.430",
        "±",
        "0.026",
        "+0.000",
        "1.23M",
        "1.20k",
        "34.5M",
        "101",
        "×1.00",
        "1234",
    ] in lines
    assert ["majority", "0.171"] in lines
    assert ["root_operator", "0.350"] in lines


def test_json_parses_back_unrounded() -> None:
    rows = json.loads(to_json(*compare([*three_seeds(), made(seed=9, status="interrupted")])))
    assert [row["kind"] for row in rows] == ["variant"] * 3 + ["reference"] * 2 + ["unfinished"]
    elu = rows[0]
    assert (elu["task"], elu["protocol"], elu["max_length"], elu["encoder"]) == (
        "listops",
        "longdoc",
        2000,
        "small",
    )
    assert elu["budget"] == {"max_time": 600}
    assert elu["documents"] == {"train": 96_000, "validation": 2000, "test": 2000}
    assert (elu["variant"], elu["n"], elu["seeds"]) == ("elu", 3, [0, 1, 2])
    assert elu["test/accuracy"] == statistics.fmean(ELU)
    assert elu["test/accuracy_std"] == statistics.stdev(ELU)
    assert elu["speed_ratio"] == 1001 / 101
    assert elu["config_hash"] == made()["config_hash"]
    assert rows[3]["variant"] == "majority"
    assert rows[3]["test/accuracy"] == 0.171
    assert (rows[5]["status"], rows[5]["seeds"]) == ("interrupted", [9])


def test_csv_parses_back() -> None:
    comparison = compare([*three_seeds(), made(seed=9, status="failed", error="a, b\nc")])
    rows = list(csv.DictReader(io.StringIO(to_csv(*comparison))))
    plain = json.loads(to_json(*comparison))
    assert len(rows) == len(plain) == 6
    assert float(rows[0]["test/accuracy_std"]) == statistics.stdev(ELU)
    assert json.loads(rows[0]["seeds"]) == [0, 1, 2]
    assert rows[2]["test/accuracy_std"] == ""
    assert rows[5]["error"] == "a, b\nc"


def test_markdown_is_one_github_table_per_group() -> None:
    text = to_markdown(*compare([*three_seeds(), made(task="a|b")]))
    assert text.count("### ") == 2
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 2
    header, rule, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in blocks[1])
    assert header[:4] == ["variant", "n", "test acc", "Δ acc"]
    assert rule == ["---"] + ["---:"] * 9
    assert {len(row) for row in rows} == {10}
    assert rows[0] == [
        "elu",
        "3",
        "0.530 ± 0.036",
        "+0.100",
        "1.23M",
        "1.20k",
        "34.5M",
        "1.00k",
        "×9.91",
        "1234",
    ]
    assert [row[0] for row in rows] == ["elu", "softmax", "favor+selective", "*majority*", "*root_operator*"]


def test_markup_in_names_is_only_text() -> None:
    assert "[red]x" in shown([made(feature_map="[red]x")])


@pytest.mark.parametrize(
    ("speed", "cell"), [(12.34, "×0.0123"), (999.9, "×1.00"), (99_940.0, "×99.9"), (1_234_567.0, "×1235")]
)
def test_ratios_keep_three_digits(speed: float, cell: str) -> None:
    assert cell in shown([made("softmax", speed=1000.0), made(speed=speed)]).split()


def test_what_could_not_be_read_is_in_every_file() -> None:
    groups, unfinished = compare([made()])
    problem = Problem(Path("runs/old/results.json"), "schema_version is 0, this longdoc reads 1.")
    markdown = to_markdown(groups, unfinished, [problem])
    assert markdown.endswith(
        "Not read, in no number:\n\n- runs/old/results.json schema_version is 0, this longdoc reads 1.\n"
    )
    last = json.loads(to_json(groups, unfinished, [problem]))[-1]
    assert last == {"kind": "problem", "path": "runs/old/results.json", "notes": [problem.reason]}
    row = list(csv.DictReader(io.StringIO(to_csv(groups, unfinished, [problem]))))[-1]
    assert (row["kind"], row["path"], json.loads(row["notes"])) == ("problem", last["path"], last["notes"])


def test_two_runs_of_one_name_are_two_runs_and_said() -> None:
    records = [made(seed=1, run_id="twice"), made(seed=2, run_id="twice"), made("softmax", run_id="once")]
    (group,), _ = compare(records)
    assert {row.variant: (len(row.records), row.notes) for row in group.rows} == {
        "elu": (2, ["2 runs have the name twice"]), "softmax": (1, []),
    }  # fmt: skip
    assert "elu: 2 runs have the name twice" in shown(records)
    (group,), unfinished = compare([made(run_id="twice"), made(seed=2, run_id="twice", status="failed")])
    assert group.rows[0].notes == ["2 runs have the name twice"]
    assert len(unfinished) == 1


def test_every_metric_that_is_nan_is_said_and_one_that_is_missing_is_not_called_nan() -> None:
    metrics = made()["metrics"]
    records = [made(seed=1, metrics=metrics | {"test/loss": None}), made(seed=2, metrics=metrics | {"test/ece": 0.1})]
    assert {note for row in compare(records)[0][0].rows for note in row.notes} == {
        "test/loss is nan in 1 of 2 runs, left out of the mean",
        "test/ece is missing in 1 of 2 runs, left out of the mean",
    }
    (group,), _ = compare([made(metrics=metrics | {"test/loss": None})])
    assert group.rows[0].notes == ["test/loss is nan in 1 of 1 runs, left out of the mean"]
