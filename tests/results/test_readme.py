"""Tables that are made from records, with what made them."""

import json

import pytest
from results.records import made

from longdoc.results import write_record
from longdoc.results.readme import filled

TEXT = "before\n<!-- results: runs -->\nold\n<!-- /results -->\nafter\n"


def write(folder, name, command=None, **options):
    record = made(**options) | ({"command": command} if command else {})
    record["config"]["choices"] = {"variant": name}
    write_record(folder / "runs" / name, record)


def test_a_block_holds_the_commands_the_table_and_where_it_is_from(tmp_path):
    write(tmp_path, "elu", "python train.py variant=elu", accuracy=0.75, seed=2)
    write(tmp_path, "softmax", "python train.py variant=softmax", attention="softmax", dirty=True)
    text = filled(TEXT, tmp_path)
    assert text.startswith("before\n<!-- results: runs -->\n\n    python train.py -m variant=elu,softmax\n")
    assert text.endswith("\n<!-- /results -->\nafter\n")
    lines = text.splitlines()
    assert "    python scripts/compare.py runs" in lines
    assert "**listops · longdoc · 2,000 tokens · small · 10 min**" in lines
    assert "| elu | 1 | 0.750 | +0.250 | 1.23M | 1.20k | 34.5M | 1.00k | ×1.00 | 1234 |" in lines
    source = "Seeds 1, 2; commits 0123456, 0123456 with changes; AMD EPYC, 2 threads, 32-true, not compiled"
    assert f"{source}; records: [runs](runs)." in lines
    assert "old" not in lines
    assert filled(text, tmp_path) == text
    write(tmp_path, "elu", "python train.py variant=elu", accuracy=0.25, seed=2)
    assert filled(text, tmp_path) != text


def test_what_more_there_is_to_say_is_counted_and_published_numbers_name_their_source(tmp_path):
    departures = {"trainer.max_steps": [50000, 1200]}
    write(tmp_path, "elu", "python train.py", protocol="skyformer", departures=departures)
    lines = filled(TEXT.replace("runs -->", "runs --published -->"), tmp_path).splitlines()
    assert "| Transformer [1] |  | 0.3837 |  |  |  |  |  |  |  |" in lines
    assert "[1] published: Chen et al. 2021, accuracies on LRA." in lines
    assert "Notes that compare.py adds to these rows, such as departures: 1." in lines


def test_by_a_value_of_the_config(tmp_path):
    write(tmp_path, "elu", "python train.py", accuracy=0.75)
    text = filled(TEXT.replace("runs -->", "runs --by optimizer.lr -->"), tmp_path)
    assert "    python scripts/compare.py runs --by optimizer.lr\n\n**listops · longdoc · test accuracy by opt" in text
    assert "| elu | 0.750 |" in text


def test_records_that_do_not_say_their_command_have_it_beside_them(tmp_path):
    write(tmp_path, "elu")
    file = tmp_path / "runs" / "commands.txt"
    with pytest.raises(ValueError, match=f"elu/results.json: no command in {file} trains this run, and it holds none"):
        filled(TEXT, tmp_path)
    file.write_text("python train.py -m variant=softmax,elu\n")
    assert "\n    python train.py -m variant=softmax,elu\n" in filled(TEXT, tmp_path)
    write(tmp_path, "softmax", "python train.py variant=softmax seed=2", attention="softmax")
    file.write_text("python train.py variant=elu\npython train.py variant=favor\n")
    commands = "python train.py variant=softmax seed=2\n    python train.py variant=elu\n    python scripts/compare.py"
    assert f"\n    {commands}" in filled(TEXT, tmp_path)
    file.write_text("python train.py variant=softmax\n")
    with pytest.raises(ValueError, match="no command in"):
        filled(TEXT, tmp_path)


def test_nothing_is_shown_of_records_that_are_missing_broken_or_unfinished(tmp_path):
    with pytest.raises(ValueError, match="runs does not exist"):
        filled(TEXT, tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(ValueError, match=r"^no results found in runs$"):
        filled(TEXT, tmp_path)
    write(tmp_path, "elu", "python train.py", status="failed")
    with pytest.raises(ValueError, match=r"elu/results.json: the run is failed; only finished ones are shown$"):
        filled(TEXT, tmp_path)
    write(tmp_path, "elu", "python train.py", schema_version=0)
    with pytest.raises(ValueError, match="schema_version is 0"):
        filled(TEXT, tmp_path)


def test_a_block_without_an_end_is_refused(tmp_path):
    write(tmp_path, "elu", "python train.py")
    with pytest.raises(ValueError, match=r"^of 2 lines <!-- results: ... --> only 1 have a <!-- /results --> of their"):
        filled(TEXT.replace("old\n<!-- /results -->", "old") + TEXT, tmp_path)


def test_a_benchmark_is_a_table_by_length(tmp_path):
    def point(variant, length, speed, ratio):
        return {"variant": variant, "length": length, "train": {"tokens_per_second": speed, "ratio": ratio}}

    arguments = {"variants": ["softmax", "elu decay=fixed"], "lengths": [16, 4096], "modes": ["train"]}
    sizes = ("tokens", "repeats", "max_seconds_per_point", "width", "depth", "heads", "feedforward", "vocab")
    report = {
        "arguments": arguments | dict.fromkeys(sizes, 2),
        "environment": {"commit": "abcdef012345", "cpu": "AMD", "threads": 2, "precision": "bf16"},
        "points": [
            point("softmax", 16, 100.0, 1.0), point("softmax", 4096, 10.0, 1.0),
            point("elu decay=fixed", 16, 50.0, 0.55), point("elu decay=fixed", 4096, 2130.0, None),
        ],
    }  # fmt: skip
    (tmp_path / "b.json").write_text(json.dumps(report))
    lines = filled(TEXT.replace("runs -->", "b.json -->"), tmp_path).splitlines()
    assert "| elu decay=fixed | ×0.550 | ×213 |" in lines
    assert lines[3].startswith(
        "    python scripts/benchmark.py --variants softmax 'elu decay=fixed' --lengths 16 4096 "
    )
    assert "Commit abcdef0; AMD, 2 threads, bf16; [record](b.json)." in lines
