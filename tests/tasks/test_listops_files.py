"""ListOps from files: as Long Range Arena released them, and what is said of others."""

import re

import numpy as np
import pytest

from longdoc.tasks.listops import ListOps
from longdoc.tasks.listops_files import released_rows
from longdoc.tasks.listops_generator import generate
from longdoc.tasks.listops_language import decode, encode, to_lra

SIZES = {"train": 60, "validation": 20, "test": 30}
OPTIONS = {"sizes": SIZES, "max_length": 60, "batch_tokens": 240, "seed": 0}
RULES = {"min_length": 10, "expression_length": 60}
NAMES = {"train": "basic_train.tsv", "validation": "basic_val.tsv", "test": "basic_test.tsv"}

ROWS = (
    # By the generator of the release: github.com/BalloutAI/Fine-tuning-with-Explanation, basic_test.tsv.
    b"( ( ( ( [MIN 8 ) 1 ) ( ( ( ( ( ( ( ( [MAX 6 ) ( ( ( [MIN 9 ) 1 ) ] ) ) 1 ) 3 ) ( ( ( ( ( ( ( ( ( [MAX 5 ) 4 ) "
    b"6 ) 8 ) 6 ) 6 ) 4 ) 0 ) ] ) ) 3 ) 6 ) ] ) ) ] )\t1",
    b"( ( ( ( ( [MED 3 ) 4 ) 8 ) 9 ) ] )\t6",
    b"( ( ( [SM 9 ) 9 ) ] )\t8",
)


def write(path, rows=ROWS, header=b"Source\tTarget", end=b"\n"):
    path.write_bytes(end.join([header, *rows, b""]))
    return path


def read(path, max_length=60):
    return [(decode(ids), label) for ids, label in released_rows(path, max_length)]


def refused(path, max_length=60):
    with pytest.raises(ValueError, match=r".") as caught:
        read(path, max_length)
    return str(caught.value)


def rows(task, split):
    documents = task.documents(split)
    return [(documents.ids(row).tolist(), int(documents.labels[row])) for row in range(len(documents))]


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """Generated expressions as the release writes them."""
    splits = generate(SIZES, seed=0, min_length=10, max_length=60)
    for split, (ids, offsets, labels) in splits.items():
        lines = [
            f"{to_lra(row)}\t{label}".encode() for row, label in zip(np.split(ids, offsets[1:-1]), labels, strict=True)
        ]
        write(tmp_path / NAMES[split], lines)
    return tmp_path


@pytest.fixture(name="make")
def _make(tmp_path):
    return lambda **options: ListOps(**(OPTIONS | {"cache": str(tmp_path / "cache")} | options))


def test_released_rows_come_back_as_they_were_generated(make, folder):
    local, generated = make(source="local", data=str(folder)), make(**RULES)
    for split in SIZES:
        assert rows(local, split) == rows(generated, split)
        assert len(rows(local, split)) == SIZES[split]
    assert local.references() == generated.references()
    assert (local.source, generated.source) == ("local", "generated")
    assert (local.classes, local.vocab_size) == (generated.classes, 16)


def test_the_layout_of_the_release(tmp_path):
    assert read(write(tmp_path / "a.tsv")) == [
        ("[MIN 8 1 [MAX 6 [MIN 9 1 ] 1 3 [MAX 5 4 6 8 6 6 4 0 ] 3 6 ] ]", 1),
        ("[MED 3 4 8 9 ]", 6),
        ("[SM 9 9 ]", 8),
    ]


@pytest.mark.parametrize(
    "options",
    [{"end": b"\r\n"}, {"header": b"\xef\xbb\xbfSource\tTarget"}, {"rows": (*ROWS, b"", b"  ")}],
    ids=["CRLF", "byte order mark", "empty lines at the end"],
)
def test_what_editors_add_changes_nothing(tmp_path, options):
    assert read(write(tmp_path / "a.tsv", **options)) == read(write(tmp_path / "b.tsv"))


def test_a_last_row_without_a_line_feed_counts(tmp_path):
    path = write(tmp_path / "a.tsv")
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert len(read(path)) == 3


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"( ( ( [SM 9 ) 9 ) ] )", "there are 1 fields between tabs, not two: Source, Target"),
        (b"( ( ( [SM 9 ) 9 ) ] )\t8\t8", "there are 3 fields between tabs, not two: Source, Target"),
        (b"", "the line is empty"),
        (b"( ( ( [SM 9 ) 9 ) ] )\t10", "the label '10' is not one of 0 to 9"),
        (b"( ( ( [SM 9 ) 9 ) ] )\t", "the label '' is not one of 0 to 9"),
        (b"8\t( ( ( [SM 9 ) 9 ) ] )", "the label '( ( ( [SM 9 ) 9 ) ] )' is not one of 0 to 9"),
        (b"( ( ( [SM 9 ) 9 ) ] )\t9", "the label is 9, but the value of the expression is 8"),
        (b"( ( ( [SUM 9 ) 9 ) ] )\t8", "unknown ListOps token '[SUM' at position 3"),
        (b"[SM 9 9 \xff]\t8", "'utf-8' codec can't decode byte 0xff in position 8: invalid start byte"),
        (b"( ( ( [SM 9 ) 9 )\t8", "ListOps expression ends with 1 lists open: '[SM 9 9'"),
        (b"\t8", "ListOps expression ends with 0 lists open: ''"),
        (b"[SM" + b" 1" * 60 + b" ]\t0", "the expression has 62 symbols, more than task.max_length=60"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_and_counted(tmp_path, row, said):
    path = write(tmp_path / "basic_val.tsv", (ROWS[0], row, ROWS[1], b"9", ROWS[2]))
    assert refused(path) == f"2 of 5 rows are refused; the first: {path}, row 2: {said}"


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b"8\t( ( ( [SM 9 ) 9 ) ] )\n", "'8\\t( ( ( [SM 9 ) 9 ) ] )'"),
        (ROWS[0] + b"\n", repr(ROWS[0][:40].decode())),
        (b"Target\tSource\n", "'Target\\tSource'"),
        (b"", "''"),
    ],
    ids=["2018", "no header", "other order", "empty"],
)
def test_another_layout_is_answered_with_both(tmp_path, content, start):
    path = tmp_path / "basic_train.tsv"
    path.write_bytes(content)
    assert refused(path) == (
        f"{path} begins with {start} and not with the header Source<TAB>Target: task.source=local reads the layout "
        f"of Long Range Arena, expression<TAB>value below that header, and not the layout of the ListOps of 2018, "
        f"value<TAB>expression without a header"
    )


def test_a_file_without_rows_is_refused(tmp_path):
    path = write(tmp_path / "basic_test.tsv", ())
    assert refused(path) == f"{path} has no rows"


@pytest.mark.parametrize("split", list(SIZES))
def test_a_missing_file_is_named(make, folder, split):
    (folder / NAMES[split]).unlink()
    said = (
        rf"^{re.escape(str(folder / NAMES[split]))} is missing: .* lra_release/listops-1000 of "
        rf"https://storage.googleapis.com/long-range-arena/lra_release.gz; task.source=generated needs no files$"
    )
    with pytest.raises(FileNotFoundError, match=said):
        make(source="local", data=str(folder)).documents(split)


def test_a_changed_file_is_read_again(make, folder):
    options = {"source": "local", "data": str(folder)}
    before = rows(make(**options), "test")
    write(folder / NAMES["test"])
    after = rows(make(**options), "test")
    assert len(before) == 30
    assert after == [(encode(text).tolist(), label) for text, label in read(folder / NAMES["test"])]


def test_a_shorter_max_length_refuses_what_a_longer_one_read(make, folder):
    options = {"source": "local", "data": str(folder)}
    longest = max(len(ids) for ids, _ in rows(make(**options), "train"))
    with pytest.raises(ValueError, match=rf"symbols, more than task.max_length={longest - 1}"):
        make(**options, max_length=longest - 1).documents("train")


def test_a_refused_file_leaves_no_cache(make, folder, tmp_path):
    write(folder / NAMES["test"], (ROWS[0], b"9"))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"1 of 2 rows are refused"):
            make(source="local", data=str(folder)).documents("test")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": "hub"}, r"^task.source=hub is not one of generated, local$"),
        (
            {"source": "generated", "data": "here"},
            r"^task.source=generated reads nothing from task.data=here; leave one",
        ),
    ],
)
def test_a_source_that_cannot_be_is_refused(make, options, said):
    with pytest.raises(ValueError, match=said):
        make(**options, **RULES)
