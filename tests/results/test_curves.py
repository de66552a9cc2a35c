"""Curves of metrics.csv files as trainings write them, whole and broken."""

from pathlib import Path

import numpy as np
from results.made_runs import metrics_csv

from longdoc.results.curves import POINTS, read_curves

HEAD = "epoch,step,train/loss,train/tokens,train/tokens_per_second,val/loss\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name.replace('_', '.')}.csv").write_text(text)
    return folder


def test_values_stand_at_the_steps_done(tmp_path):
    curves, notes = read_curves(write(tmp_path, metrics=HEAD + "0,9,2.5,100,50,\n0,9,,,,2.25\n0,19,2.0,200,100,\n"))
    assert notes == []
    assert curves["series"]["train/loss"] == {"steps": [10, 20], "values": [2.5, 2.0]}
    assert curves["series"]["val/loss"] == {"steps": [10], "values": [2.25]}
    # Seconds were not logged: they are tokens by the speed until then.
    assert curves["axes"] == {"steps": [10.0, 20.0], "tokens": [100.0, 200.0], "seconds": [2.0, 2.0]}


def test_seconds_are_the_ones_logged(tmp_path):
    curves, _ = read_curves(write(tmp_path, metrics=metrics_csv(200, 100, 0.5, 1000.0)))
    expected = [(step - 1) * 16.384 for step in curves["axes"]["steps"]]
    assert np.allclose(curves["axes"]["seconds"], expected, rtol=1e-4)


def test_long_curves_keep_their_ends_and_extremes(tmp_path):
    loss = np.random.default_rng(0).normal(size=20_000)
    loss[12_345], loss[777] = 9.0, -9.0
    text = HEAD + "".join(f"0,{i},{value:.6f},{i},1,\n" for i, value in enumerate(loss))
    curves, _ = read_curves(write(tmp_path, metrics=text))
    series = curves["series"]["train/loss"]
    assert len(series["values"]) <= POINTS
    assert (series["steps"][0], series["steps"][-1]) == (1, 20_000)
    assert dict(zip(series["steps"], series["values"], strict=True)) | {12_346: 9.0, 778: -9.0} == dict(
        zip(series["steps"], series["values"], strict=True)
    )
    # The running mean is of all values around, not of the ones kept.
    i = series["steps"].index(12_346)
    assert series["mean"][i] == float(f"{loss[12_345 - 500 : 12_345 + 501].mean():.5g}")


def test_nan_is_a_gap_and_counted(tmp_path):
    curves, notes = read_curves(write(tmp_path, metrics=HEAD + "0,0,nan,1,1,\n0,1,2.0,2,1,\n0,2,inf,3,1,\n"))
    assert curves["series"]["train/loss"]["values"] == [None, 2.0, None]
    assert notes == ["train/loss is nan at 2 of 3 steps"]


def test_a_resumed_runs_parts_are_one_curve_and_what_was_done_again_counts_anew(tmp_path):
    first = HEAD + "0,0,5,1,1,\n0,1,4,2,1,\n0,2,99,3,1,\n"
    curves, _ = read_curves(write(tmp_path, metrics_1=first, metrics=HEAD + "0,2,3,3,1,\n0,3,2,4,1,\n"))
    assert curves["series"]["train/loss"] == {"steps": [1, 2, 3, 4], "values": [5.0, 4.0, 3.0, 2.0]}


def test_a_half_written_last_line_is_not_read(tmp_path):
    curves, notes = read_curves(write(tmp_path, metrics=HEAD + "0,0,5,1,1,\n0,1,4,2"))
    assert curves["series"]["train/loss"] == {"steps": [1], "values": [5.0]}
    assert notes == []


def test_a_run_without_curves_says_so(tmp_path):
    assert read_curves(tmp_path) == ({}, [])
    curves, notes = read_curves(write(tmp_path, metrics=HEAD + "0,0,five,1,1,\n"))
    assert (curves, notes) == ({}, ["metrics.csv cannot be read (line 2 has no step, or a value that is no number)"])
