"""Tables of labelled rows: every format, and the hub, give the same rows; what is wrong with those that do not do."""

import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub import write_hub

from longdoc.tasks import rows as file_rows
from longdoc.tasks.labelled import Labelled, carve
from longdoc.tasks.labels import found_words, label_name
from longdoc.tasks.rows import Refused, read_rows, to_bytes
from longdoc.tasks.tables import AS_TEXT, TYPES, FileTable

SPLITS = ("train", "validation", "test")
# What readers like to take for something else.
ODD = [
    "NA",
    "null",
    "NaN",
    "",
    "007",
    "1984",
    "1e5",
    "true",
    "2020-01-01",
    'a "quoted", text',
    "two\nlines\r\nü",
    " x ",
]
OBJECTS = {"text": ODD, "label": ["b", "a", "007", "7"] * 3, "more": ["1"] * 12}
IMAGE = {"img": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
NO_IMAGES = [b"no image at all", bytes(range(256)), b""]


class Codes(Labelled):
    """Values of up to five characters as their code points + 1."""

    name, value, vocab, folder, how = "codes", "text", 257, "data/codes", "a folder of codes, from codes.example"

    def ids_of(self, value):
        if len(value) > 5:
            raise ValueError(f"text has {len(value)} characters, not up to 5")
        return np.array([ord(c) + 1 for c in value], np.uint16)


@pytest.fixture(name="make")
def _make(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    options = {"max_length": 8, "batch_tokens": 64, "seed": 0, "cache": str(tmp_path / "cache")}
    return lambda hub="no/set", **more: Codes(hub, **options | more)


def write(path, columns):
    """The columns, of strings where the format knows no others, in the format that the path names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([list(columns), *rows])
    else:
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        lines = "\n".join(json.dumps(row) for row in objects)
        path.write_text(json.dumps(objects) if path.suffix == ".json" else lines, encoding="utf-8")
    return path


def write_splits(folder, kind="parquet", **splits):
    for split, columns in splits.items():
        write(folder / f"{split}.{kind}", columns)
    return str(folder)


def rows_of(path, *columns):
    return list(read_rows(path, columns, Refused(path)))


def texts(task, split):
    documents = task.documents(split)
    return ["".join(chr(i - 1) for i in documents.ids(row)) for row in range(len(documents))]


def ab(rows, start=0):
    """Different texts, of class a and, every fourth, of class b."""
    return {"text": [f"{i + start}" for i in range(rows)], "label": ["b" if i % 4 == 3 else "a" for i in range(rows)]}


# --------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("kind", TYPES)
def test_every_format_gives_the_values_as_they_are(tmp_path, kind):
    path = write(tmp_path / f"t.{kind}", OBJECTS)
    assert rows_of(path, "label", "text") == list(zip(OBJECTS["label"], ODD, strict=True))


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json"])
def test_a_byte_order_mark_belongs_to_no_name(tmp_path, kind):
    path = write(tmp_path / f"t.{kind}", OBJECTS)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert rows_of(path, "text") == [(text,) for text in ODD]


def test_a_json_file_may_hold_lines(tmp_path):
    path = write(tmp_path / "t.jsonl", OBJECTS).rename(tmp_path / "t.json")
    assert rows_of(path, "text") == [(text,) for text in ODD]


def test_bytes_that_are_no_utf8_come_through_csv(tmp_path):
    odd = bytes(set(range(256)) - set(b'\r\n",'))
    (tmp_path / "t.csv").write_bytes(b"text,label\n" + odd + b",1\n")
    ((value, label),) = rows_of(tmp_path / "t.csv", "text", "label")
    assert (to_bytes(value), label) == (odd, "1")


def test_long_fields_and_empty_lines_of_csv_are_no_obstacle(tmp_path):
    (tmp_path / "t.csv").write_text("text,label\n\n" + "x" * 300_000 + ",1\n\n\n")
    assert rows_of(tmp_path / "t.csv", "text") == [("x" * 300_000,)]


def test_images_come_as_the_bytes_of_their_files(tmp_path):
    """Even where they are none: nothing decodes them. Once from the hub's layout, once from one of its files."""
    cells = [{"bytes": image, "path": f"{i}.png"} for i, image in enumerate(NO_IMAGES)]
    write_hub(tmp_path, "plain", IMAGE, {"train": {"img": cells, "label": [0, 1, 1]}})
    path = tmp_path / "plain" / "train-00000-of-00001.parquet"
    assert rows_of(path, "img", "label") == list(zip(NO_IMAGES, [0, 1, 1], strict=True))
    assert FileTable(path).class_names("label") == ["cat", "dog"]
    assert FileTable(path).class_names("img") is None


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("t.parquet", b"PAR1 but no more", r"t\.parquet is not a whole parquet file: Parquet magic bytes not found"),
        ("t.csv", b'text,label\n"a,1\nb,2\n', r"t\.csv, line 3: the quotes do not match: unexpected end of data"),
        ("t.csv", b"text,label\na,1\nb\nc,2\nd,3,4\n",
         r"^2 of 4 rows are refused; the first: .*t\.csv, row 2: 1 fields, not the 2 of text, label"),
        ("t.csv", b"a,label\n1,2\n", r"t\.csv has the columns a, label; it lacks text: see task\.columns"),
        ("t.csv", b"", r"t\.csv has the columns ; it lacks text, label"),
        ("t.tsv", b"text,label\na,1\n", r"a comma parts its fields, and in \.tsv it must be a tab"),
        ("t.csv", b"text,label\n", r"t\.csv has no rows"),
        ("t.csv", b"text;label\na;1\n", r"t\.csv has one column, 'text;label': a semicolon parts its fields, "
         r"and in \.csv it must be a comma"),
        ("t.csv", b"text\tlabel\na\t1\n", r"a tab parts its fields, and in \.csv it must be a comma"),
        ("t.csv", b"text,label,text\na,1,b\n", r"t\.csv has several columns called text; names must differ where one"),
        ("t.tsv", b"text\tlabel\tlabel\na\t1\t0\n", r"t\.tsv has several columns called label; names"),
        ("t.jsonl", b'{"text": "a", "label": 1}\n{"text": "b", "label": 0, "text": "c"}\n',
         r"t\.jsonl, row 2: this is not JSON: a name stands twice among text, label, text$"),
        ("t.jsonl", b'{"text": "a", "label": 1}\n{"text": "b"}\n7\n',
         r"^2 of 3 rows are refused; the first: .*t\.jsonl, row 2: it has text; it lacks label$"),
        ("t.jsonl", b'{"text": "a", "label": 1}\n{"text": \n', r"t\.jsonl, row 2: this is not JSON"),
        ("t.json", b'[{"text": "a", "label": 1}', r"t\.json, row 2: this is not JSON"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_where_and_why(tmp_path, name, content, why):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=why):
        rows_of(tmp_path / name, "text", "label")


def test_a_name_that_is_not_read_may_stand_twice(tmp_path):
    (tmp_path / "t.csv").write_text("text,,,label\na,,,1\n")
    assert rows_of(tmp_path / "t.csv", "text", "label") == [("a", "1")]


def test_a_parquet_file_with_two_columns_of_one_name_is_refused(tmp_path):
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet has several columns called text; names must differ"):
        rows_of(tmp_path / "t.parquet", "text")


@pytest.mark.parametrize(("rows", "told"), [(None, True), (4, False)])
def test_row_groups_that_fill_the_memory_are_told_once(tmp_path, rows, told, monkeypatch, capsys):
    monkeypatch.setattr(file_rows, "HEAVY", 50_000)
    pq.write_table(
        pa.table({"text": [str(i) * 5000 for i in range(10, 26)], "other": ["x" * 60_000] * 16}),
        tmp_path / "books.parquet",
        row_group_size=rows,
    )
    for _ in range(2):
        read = list(FileTable(tmp_path / "books.parquet").rows(["text"], Refused("")))
        assert [text[:2] for (text,) in read] == [str(i) for i in range(10, 26)]
    said = capsys.readouterr().out
    assert said.count("books.parquet has 16 rows in one row group, 0.0 GB") == told
    assert bool(said) == told


def test_a_parquet_file_that_is_damaged_inside_is_named(tmp_path):
    path = write(tmp_path / "t.parquet", {"text": ["abc" * 50] * 40, "label": [1] * 40})
    content = path.read_bytes()
    path.write_bytes(content[:8] + b"\xff" * 60 + content[68:])
    with pytest.raises(ValueError, match=r"t\.parquet is not a whole parquet file: "):
        rows_of(path, "text", "label")


# ------------------------------------------------------------------------------------ classes and labels


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([10, 9, 0, 9], ["0", "9", "10"]),
        ([1.0, 0.0, 1.0, 0.0], ["0", "1"]),
        (["b", "10", "9", "007"], ["007", "9", "10", "b"]),
        ([True, False, True, True], ["False", "True"]),
    ],
)
def test_classes_are_the_labels_of_the_training_split_in_order(make, tmp_path, labels, classes):
    one = {"text": ["x"], "label": labels[:1]}
    data = write_splits(tmp_path / "d", train={"text": list("abcd"), "label": labels}, validation=one, test=one)
    task = make(data=data)
    assert task.classes == classes
    assert task.documents("train").labels.tolist() == [classes.index(label_name(label)) for label in labels]


def test_names_that_come_with_the_numbers_are_the_classes(make, tmp_path):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    table = pa.table({"text": ["x", "y"], "label": [1, 1]}, schema=features.arrow_schema)
    (tmp_path / "d").mkdir()
    pq.write_table(table, tmp_path / "d" / "train.parquet")
    other = {"text": ["z", "z"], "label": [0, 1]}
    task = make(data=write_splits(tmp_path / "d", kind="csv", validation=other, test=other))
    assert task.classes == ["no", "yes"]
    assert task.documents("train").labels.tolist() == [1, 1]
    assert task.documents("test").labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("names", "why"), [(["yes", "no"], None), (["no", "maybe"], "the label 'maybe' is not among the training split's")]
)
def test_numbers_stand_for_the_names_of_their_own_table(make, tmp_path, names, why):
    data = tmp_path / "d"
    data.mkdir()
    for split in ("train", "validation", "test"):
        label = datasets.ClassLabel(names=names if split == "test" else ["no", "yes"])
        features = datasets.Features({"text": datasets.Value("string"), "label": label})
        table = pa.table({"text": ["x", "y", "z"], "label": [0, 1, 1]}, schema=features.arrow_schema)
        pq.write_table(table, data / f"{split}.parquet")
    task = make(data=str(data))
    if why is None:
        assert task.documents("test").labels.tolist() == [1, 0, 0]
    else:
        with pytest.raises(ValueError, match=f"^2 of 3 rows are refused; the first: .*test.parquet, row 2: {why}"):
            task.documents("test")


MISSING = [(-1, "the label is missing: -1 stands for none"), (None, "the label is missing")]
UNKNOWN = (5, "the label '5' is not among the training split's: 0, 1")


@pytest.mark.parametrize(
    ("split", "label", "why"),
    [(split, *case) for split in ("train", "validation", "test") for case in MISSING]
    + [(split, *UNKNOWN) for split in ("validation", "test")],
)
def test_a_label_that_is_none_is_named_and_counted(make, tmp_path, split, label, why):
    good, bad = {"text": list("abc"), "label": [0, 1, 0]}, {"text": list("abc"), "label": [0, label, label]}
    splits = dict.fromkeys(SPLITS, good) | {split: bad}
    task = make(data=write_splits(tmp_path / "d", **splits))
    with pytest.raises(ValueError, match=rf"^2 of 3 rows are refused; the first: .*{split}\.parquet, row 2: {why}"):
        task.documents(split)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_labels_that_are_given_bind_every_table(make, tmp_path, split):
    good, bad = {"text": list("abcd"), "label": list("npnp")}, {"text": list("abcd"), "label": ["n", "p", "pp", "n"]}
    data = write_splits(tmp_path / "d", "csv", **dict.fromkeys(SPLITS, good) | {split: bad})
    task = make(data=data, labels=["p", "n"])
    assert task.classes == ["p", "n"]
    why = rf"^1 of 4 rows are refused; the first: .*{split}\.csv, row 3: the label 'pp' is not among task\.labels: p"
    with pytest.raises(ValueError, match=why):
        task.documents(split)
    others = {"train", "validation", "test"} - {split}
    assert {tuple(task.documents(other).labels) for other in others} == {(1, 0, 1, 0)}


@pytest.mark.parametrize(
    ("labels", "written", "numbers"),
    [
        (["neg", "pos"], ["0", "pos", "1"], [0, 1, 1]),  # places of names
        ([-1, 1], [1, -1, "1"], [1, 0, 1]),  # as the command line has them
        (["1", "0"], [1, 0, 1.0], [0, 1, 0]),  # names that are numbers are no places
    ],
)
def test_given_labels_are_names_or_places(make, tmp_path, labels, written, numbers):
    data = {"text": ["x", "y", "z"], "label": [str(label) for label in written]}
    if 1.0 in written:
        data["label"] = [float(label) for label in written]
    task = make(data=write_splits(tmp_path / "d", **dict.fromkeys(SPLITS, data)), labels=labels)
    assert task.classes == [str(label) for label in labels]
    assert task.documents("test").labels.tolist() == numbers


@pytest.mark.parametrize("labels", [[], ["one"], ["a", "b", "a"], ["1", 1]])
def test_given_labels_are_two_or_more_and_differ(make, labels):
    with pytest.raises(ValueError, match=r"^task\.labels=.* must name two classes or more, each once$"):
        make(labels=labels)


def test_a_table_whose_own_names_are_others_is_refused(make, tmp_path):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    (tmp_path / "d").mkdir()
    table = pa.table({"text": ["x", "y"], "label": [1, 0]}, schema=features.arrow_schema)
    pq.write_table(table, tmp_path / "d" / "train.parquet")
    with pytest.raises(ValueError, match=r"train\.parquet: the labels of the column label are no, yes, not yes, no"):
        make(data=str(tmp_path / "d"), labels=["yes", "no"]).prepare()


def test_classes_that_are_found_are_told_with_their_rows(make, tmp_path, capsys):
    train = {"text": list("abcdefg"), "label": ["pos", "neg", "pos", "psitive", "Pos", "Pos", "neg"]}
    task = make(data=write_splits(tmp_path / "d", train=train, test=train))
    task.prepare()
    assert capsys.readouterr().out == (
        f"{tmp_path}/d/train.parquet: 4 classes, Pos (2 rows), neg (2 rows), pos (2 rows), psitive (1 row); the class "
        "'psitive' has 1 row, the classes Pos, pos may be one: what is mistyped is refused if task.labels names the "
        "classes\n"
    )
    task.prepare()
    make(data=str(tmp_path / "d"), labels=sorted(set(train["label"]))).prepare()
    assert capsys.readouterr().out == ""


def test_many_classes_are_not_all_told():
    words = found_words(Counter({f"{i:03}": 2 for i in range(300)}))
    assert words.startswith("300 classes, 000 (2 rows), 001 (2 rows), ")
    assert words.endswith("019 (2 rows) and 280 more")


@pytest.mark.parametrize(
    ("train", "test", "why"),
    [
        (
            ["0.0", "1.0"],
            ["0", "1"],
            r"the label '0' is not among the training split's: 0\.0, 1\.0; '0\.0' is",
        ),
        (
            [True, False],
            [1, 0],
            r"the label '1' is not among the training split's: False, True; 'True' is",
        ),
        (
            ["Pos", "Neg"],
            ["pos ", "Neg"],
            r"the label 'pos ' is not among .*: Neg, Pos; 'Pos' is written otherw",
        ),
        (["a", "b"], ["c", "a"], r"the label 'c' is not among the training split's: a, b$"),
    ],
)
def test_a_label_that_is_only_written_otherwise_is_explained(make, tmp_path, train, test, why):
    columns = {split: {"text": ["x", "y"], "label": labels} for split, labels in (("train", train), ("test", test))}
    task = make(data=write_splits(tmp_path / "d", validation=columns["train"], **columns))
    with pytest.raises(ValueError, match=why):
        task.documents("test")


def test_minus_one_is_a_class_where_it_is_named_alone(make, tmp_path):
    signs = {"text": list("abcd"), "label": [-1, 1, 1, -1]}
    data = write_splits(tmp_path / "d", **dict.fromkeys(SPLITS, signs))
    why = r"^2 of 4 rows are refused; .*row 1: the label is missing: -1 stands for none unless task\.labels names it"
    with pytest.raises(ValueError, match=why):
        make(data=data).prepare()
    task = make(data=data, labels=["-1", "1"])
    assert task.documents("train").labels.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("value", "why"), [("abcdef", "text has 6 characters, not up to 5"), (None, "text is missing")]
)
def test_a_value_without_ids_is_named_and_counted_and_nothing_is_cached(make, tmp_path, value, why):
    bad = {"text": ["a", "b", value], "label": [0, 1, 0]}
    task = make(data=write_splits(tmp_path / "d", train=bad, validation=bad, test=bad))
    with pytest.raises(ValueError, match=rf"^1 of 3 rows are refused; the first: .*train\.parquet, row 3: {why}"):
        task.documents("train")
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir() and path.suffix != ".partial"]


def test_a_missing_table_is_named_with_how_to_get_it(make, tmp_path):
    task = make(data=write_splits(tmp_path / "d", train=ab(40)))
    why = rf"^{tmp_path}/d/test\.{{parquet,csv,tsv,jsonl,json}} is missing: task.data must name a folder of codes, from"
    with pytest.raises(FileNotFoundError, match=why):
        task.documents("test")
    with pytest.raises(FileNotFoundError, match=r"^/.*/data/codes/train\.\{parquet,.* is missing"):
        make(source="local").prepare()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"source": "net"}, "task.source=net is not one of hub, local"),
        ({"source": "hub", "data": "here"}, "task.source=hub reads task.hub=no/set, not task.data=here; leave one"),
        ({"columns": {"txt": "a"}}, "task.columns.txt does not exist; its names are text, label"),
        ({"validation_share": 1.0}, "task.validation_share=1.0 must lie between 0 and 1"),
        ({"validation_seed": -1}, "task.validation_seed=-1 must not be negative"),
    ],
)
def test_options_that_cannot_be_met_are_named(make, options, why):
    with pytest.raises(ValueError, match=why):
        make(**options)


def test_columns_have_the_names_that_they_are_given(make, tmp_path):
    columns = {"review": ["x", "y"], "stars": [1, 2]}
    data = write_splits(tmp_path / "d", train=columns, validation=columns, test=columns)
    task = make(data=data, columns={"text": "review", "label": "stars"})
    assert (texts(task, "test"), task.classes) == (["x", "y"], ["1", "2"])
    assert make(data=data, columns={"text": None, "label": None}).columns == {"text": "text", "label": "label"}


def test_a_changed_table_is_read_anew_and_an_unchanged_one_is_not(make, tmp_path, monkeypatch):
    data = write_splits(tmp_path / "d", train=ab(40), test=ab(8))
    before = make(data=data)
    assert texts(before, "test") == ab(8)["text"]
    monkeypatch.setattr(Codes, "_encode", lambda *_: pytest.fail("read again"))
    again = make(data=data)
    again.state = before.state
    assert texts(again, "test") == ab(8)["text"]
    monkeypatch.undo()
    write_splits(tmp_path / "d", test=ab(4))
    assert texts(make(data=data), "test") == ab(4)["text"]


# ------------------------------------------------------------------------------- validation from training


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_validation_is_a_share_of_each_class_of_training_and_never_test(make, tmp_path, share):
    data = write_splits(tmp_path / "d", train=ab(400), test=ab(40, start=1000))
    task = make(data=data, validation_share=share)
    train, validation = texts(task, "train"), texts(task, "validation")
    assert sorted(train + validation) == sorted(ab(400)["text"])
    assert len(set(train + validation)) == 400
    assert np.bincount(task.documents("validation").labels).tolist() == [300 * share, 100 * share]
    assert texts(task, "test") == ab(40, start=1000)["text"]
    labels = dict(zip(*ab(400).values(), strict=True))
    for split in ("train", "validation"):
        found = [task.classes[label] for label in task.documents(split).labels]
        assert found == [labels[text] for text in texts(task, split)]
    assert train == sorted(train, key=int)  # rows stay in order


def test_the_validation_seed_alone_decides_what_is_taken_out(make, tmp_path):
    data = write_splits(tmp_path / "d", train=ab(200), test=ab(8))
    taken = texts(make(data=data), "validation")
    assert taken == texts(make(data=data, seed=5, cache=str(tmp_path / "other")), "validation")
    assert taken != texts(make(data=data, validation_seed=1), "validation")


def test_carving_is_the_same_everywhere():
    """Fixed rows: a checkpoint must not meet its training documents elsewhere as validation."""
    labels = np.arange(30) % 3
    assert np.flatnonzero(carve(labels, 0.2, 0)).tolist() == [1, 3, 11, 13, 20, 21]


def test_a_validation_table_is_taken_as_it_is(make, tmp_path):
    data = write_splits(tmp_path / "d", train=ab(40), validation=ab(8, start=500), test=ab(8))
    task = make(data=data)
    assert texts(task, "train") == ab(40)["text"]
    assert texts(task, "validation") == ab(8, start=500)["text"]


def test_too_few_rows_to_take_any_out_are_refused(make, tmp_path):
    task = make(data=write_splits(tmp_path / "d", train=ab(4), test=ab(4)))
    with pytest.raises(ValueError, match=r"^task.validation_share=0.1 leaves validation no row of the 4 of .*train"):
        task.documents("validation")


def test_the_test_split_alone_is_enough_for_a_checkpoint(make, tmp_path):
    state = make(data=write_splits(tmp_path / "d", train=ab(40), test=ab(8))).learn()
    task = make(data=write_splits(tmp_path / "e", test=ab(8)))
    task.state = state
    assert len(task.documents("test")) == 8


# ------------------------------------------------------------------------------------------------- the hub


LABEL = datasets.ClassLabel(names=["neg", "pos"])
FEATURES = {"text": datasets.Value("string"), "label": LABEL}
ON_HUB = {"text": [str(i) for i in range(40)], "label": [i % 2 for i in range(40)]}


def test_a_set_in_the_hubs_layout_is_loaded_by_its_names(make, tmp_path):
    part = {"text": ["x", "y"], "label": [1, 0]}
    unlabelled = {"text": ["z"], "label": [-1]}
    hub = write_hub(tmp_path / "h", "plain_text", FEATURES, {"train": ON_HUB, "test": part, "unsupervised": unlabelled})
    task = make(hub, config="plain_text", labels=["neg", "pos"])
    assert task.source == "hub"
    assert (task.classes, task.vocab_size) == (["neg", "pos"], 257)
    assert (texts(task, "test"), task.documents("test").labels.tolist()) == (["x", "y"], [1, 0])
    assert sorted(texts(task, "train") + texts(task, "validation"), key=int) == ON_HUB["text"]
    assert np.bincount(task.documents("validation").labels).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("features", "options", "why"),
    [
        (FEATURES, {"labels": ["pos", "neg"]}, r"h, split train: the labels of the column label are neg, pos, not pos, "
                                               r"neg: task.labels must name those$"),
        (FEATURES, {"columns": {"text": "body"}}, "split test has the columns text, label; it lacks body"),
    ],
)  # fmt: skip
def test_a_set_with_other_names_is_refused(make, tmp_path, features, options, why):
    hub = write_hub(tmp_path / "h", "plain_text", features, {"train": ON_HUB, "test": ON_HUB})
    with pytest.raises(ValueError, match=why):
        make(hub, **options).documents("test")


@pytest.mark.parametrize(
    ("label", "found"), [(datasets.ClassLabel(names=["pos", "neg"]), "pos, neg"), (datasets.Value("int64"), "no names")]
)
def test_a_known_set_whose_names_have_changed_is_refused(make, tmp_path, monkeypatch, label, found):
    hub = write_hub(tmp_path / "h", "plain_text", FEATURES | {"label": label}, {"train": ON_HUB, "test": ON_HUB})
    monkeypatch.setattr(Codes, "hub_labels", {hub: ["neg", "pos"]})
    with pytest.raises(ValueError, match=f"the labels of the column label are {found}, not neg, pos: task.labels must"):
        make(hub).prepare()


def test_a_set_without_names_has_those_of_its_labels(make, tmp_path):
    features = FEATURES | {"label": datasets.Value("int64")}
    hub = write_hub(tmp_path / "h", "plain_text", features, {"train": ON_HUB, "test": ON_HUB})
    assert make(hub).classes == ["0", "1"]


def test_a_set_that_lacks_a_split_or_is_not_there_is_named(make, tmp_path):
    hub = write_hub(tmp_path / "h", "plain_text", FEATURES, {"train": ON_HUB})
    with pytest.raises(FileNotFoundError, match=r"^task.hub=.*/h has the splits train; no test$"):
        make(hub).documents("test")


@pytest.fixture(name="offline")
def _offline(monkeypatch):
    """A hub that cannot be reached, and nothing that waits for it."""
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"waits {seconds} s"))


@pytest.mark.usefixtures("offline")
def test_a_hub_out_of_reach_is_told_at_once_with_what_would_do_without(make):
    with pytest.raises(FileNotFoundError, match=(
        r"^the hub's set no/set could not be loaded \(http://127\.0\.0\.1:9 cannot be reached, and nothing of the set "
        r"was downloaded before\); it needs the network the first time; task\.source=local reads /.*codes, "
        r"or task\.data in its place: a folder of codes, from codes\.example$"
    )):  # fmt: skip
        make().prepare()
    assert not datasets.config.HF_HUB_OFFLINE


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_was_downloaded_before_serves_without_a_network(make, tmp_path, kind):
    """The cache that a download leaves: no/set's Arrow files below its configuration, version and commit."""
    if kind == "parquet":
        hub = write_hub(tmp_path / "h", "plain_text", FEATURES, {"train": ON_HUB, "test": ON_HUB})
        built, config = datasets.load_dataset_builder(hub, "plain_text"), "plain_text"
    else:
        hub = write_splits(tmp_path / "h", "csv", train=ON_HUB, test=ON_HUB)
        built = datasets.load_dataset_builder(hub, **AS_TEXT)
        config = Path(built.cache_dir).parts[-3]
    built.download_and_prepare()
    place = tmp_path / "hf" / "no___set" / config / "0.0.0" / ("a" * 40)
    place.parent.mkdir(parents=True)
    shutil.copytree(built.cache_dir, place)
    for path in place.glob(f"{built.dataset_name}-*"):
        path.rename(place / path.name.replace(built.dataset_name, "set", 1))
    task = make(config="plain_text" if kind == "parquet" else None)
    assert texts(task, "test") == ON_HUB["text"]
    assert task.classes == {"parquet": ["neg", "pos"], "csv": ["0", "1"]}[kind]


def test_an_unlabelled_row_of_the_hub_is_refused(make, tmp_path):
    bad = {"text": ["x", "y"], "label": [1, -1]}
    hub = write_hub(tmp_path / "h", "plain_text", FEATURES, {"train": ON_HUB, "test": bad})
    why = r"^1 of 2 rows are refused; the first: .*/h, split test, row 2: the label is missing: -1 stands for none"
    with pytest.raises(ValueError, match=why):
        make(hub).documents("test")
