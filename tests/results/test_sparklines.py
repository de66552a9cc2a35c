"""Curves in a terminal."""

import math
from pathlib import Path

from results.made_runs import write_run
from results.records import made

from longdoc.results import collect_paths
from longdoc.results.comparison import compare
from longdoc.results.sparklines import BARS, WIDTH, sparkline, sparklines


def lines(folder: Path) -> list[str]:
    found, _ = collect_paths([folder])
    ((group,), _) = compare(found.values())
    return sparklines(group, found)


def test_a_bar_for_each_value() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 0, 7) == BARS
    assert sparkline([1.0, math.nan, 0.0], 0, 1) == "█ ▁"
    assert sparkline([0.5, 0.5], 0.5, 0.5) == "▁▁"


def test_rows_share_their_scales_and_a_shorter_run_ends_earlier(tmp_path: Path) -> None:
    write_run(tmp_path / "a", steps=1200, accuracy=0.6)
    write_run(tmp_path / "b", steps=600, accuracy=0.3, attention="softmax")
    head, elu, softmax = lines(tmp_path)
    assert head.endswith(" over 1,200 steps")
    assert elu.startswith("elu     ▁")
    assert elu.split()[1].endswith("█")
    assert len(elu.split()[1]) == WIDTH
    assert softmax[8 : 8 + WIDTH].rstrip() == softmax.split()[1]
    assert len(softmax.split()[1]) in (WIDTH // 2 - 2, WIDTH // 2 - 1, WIDTH // 2)
    assert max(map(len, (head, elu, softmax))) <= 78


def test_there_is_none_without_curves(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    (tmp_path / "a" / "metrics.csv").unlink()
    assert lines(tmp_path) == []


def test_long_names_are_told_apart_within_80_columns(tmp_path: Path) -> None:
    for kernel in (3, 5):
        config = made(feature_map="favor_hyperbolic", decay="selective")["config"]
        config["encoder"]["convolution"] = kernel
        options = {"feature_map": "favor_hyperbolic", "decay": "selective", "config": config}
        write_run(tmp_path / str(kernel), config_hash=str(kernel), run_id=str(kernel), **options)
    found = lines(tmp_path)
    assert [line.split()[0] for line in found[1:]] == ["favor_hype…ctive+conv3", "favor_hype…ctive+conv5"]
    assert max(map(len, found)) <= 80
