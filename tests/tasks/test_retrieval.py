"""Retrieval: pairs from the released files and from tables, and what is wrong with files that are neither."""

import csv
import importlib.util
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import PROJECT, record, run

from longdoc.export import check_pairs
from longdoc.tasks.cosine import cosines, threshold
from longdoc.tasks.recall import Recall
from longdoc.tasks.retrieval import RELEASED, Retrieval

SPLITS = ("train", "validation", "test")
EVERY_BYTE = bytes(range(256))
EVERY_FIELD = EVERY_BYTE.replace(b"\t", b"").replace(b"\n", b"")  # what can stand between tabs
PAIRS = [(EVERY_FIELD, b"a \"quoted\" text, b'and \\xe9'", 1), (b"", "naïve ñ\u2028".encode(), 0), (b"x\r", b"x", 1)]


@pytest.fixture(name="make")
def _make(tmp_path):
    return lambda data, **options: Retrieval(
        str(data),
        **{"max_length": 300, "truncation": "head", "batch_tokens": 1200, "seed": 0, "cache": str(tmp_path / "cache")}
        | options,
    )


def write_released(folder, pairs, splits=SPLITS):
    """In the layout of LRA's release: label, id1, id2, text1, text2; no header, no quotes."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        lines = [
            b"\t".join([f"{label}.0".encode(), b"P%d" % row, b"Q%d" % row, a, b])
            for row, (a, b, label) in enumerate(pairs)
        ]
        (folder / f"new_aan_pairs.{RELEASED[split]}.tsv").write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


def write_table(path, columns):
    """The same columns in the format that the path names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    else:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_ids(folder, kind="parquet", **names):
    """Documents apart from pairs of their ids, every split the same."""
    texts = {"A": "first", "B": 'se"co,nd\nü', "C": ""}
    pairs = [("A", "B", 1), ("B", "A", 0), ("C", "A", 0), ("B", "B", 1)]
    called = {name: names.get(name, name) for name in ("id", "text", "id1", "id2", "label")}
    write_table(folder / f"documents.{kind}", {called["id"]: [*texts], called["text"]: [*texts.values()]})
    columns = dict(zip((called["id1"], called["id2"], called["label"]), zip(*pairs, strict=True), strict=True))
    for split in SPLITS:
        write_table(folder / f"{split}.{kind}", columns)
    return [(texts[a].encode(), texts[b].encode(), label) for a, b, label in pairs]


def read_back(task, split):
    """The pairs that the ids stand for."""
    documents = task.documents(split)
    return [
        (*(bytes(id_ - 1 for id_ in documents.ids(row, side).tolist()) for side in range(2)), int(label))
        for row, label in enumerate(documents.labels)
    ]


# --------------------------------------------------------------------------------------------- sources


@pytest.mark.parametrize("split", SPLITS)
def test_released_files_come_back_byte_for_byte(make, tmp_path, split):
    task = make(write_released(tmp_path / "aan", PAIRS))
    assert read_back(task, split) == PAIRS
    assert (task.classes, task.vocab_size) == (["0", "1"], 257)


def test_a_last_line_without_its_end_is_read(make, tmp_path):
    folder = write_released(tmp_path / "aan", PAIRS)
    path = folder / "new_aan_pairs.test.tsv"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert read_back(make(folder), "test") == PAIRS


def test_a_table_with_texts_holds_every_byte(make, tmp_path):
    a, b = [EVERY_BYTE, b"", b"\x00\xff"], [b"\n", EVERY_BYTE[::-1], b"\t"]
    for split in SPLITS:
        write_table(tmp_path / "inline" / f"{split}.parquet", {"label": [0, 1, 1], "text1": a, "text2": b})
    assert read_back(make(tmp_path / "inline"), "train") == list(zip(a, b, [0, 1, 1], strict=True))
    ids = make(tmp_path / "inline").documents("train").ids(0)
    assert ids.tolist() == list(range(1, 257))  # 0 is left for padding


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl"])
def test_tables_with_texts_are_read_in_every_format(make, tmp_path, kind):
    for split in SPLITS:
        write_table(tmp_path / f"{split}.{kind}", {"a": ["ä\n1", "2"], "b": ['3"', "4,"], "cites": [1, 0]})
    task = make(tmp_path, columns={"text1": "a", "text2": "b", "label": "cites"})
    assert read_back(task, "test") == [("ä\n1".encode(), b'3"', 1), (b"2", b"4,", 0)]


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl"])
@pytest.mark.parametrize("names", [{}, {"id": "paper", "text": "body", "id1": "citing", "id2": "cited", "label": "y"}])
def test_pairs_of_ids_are_looked_up_among_the_documents(make, tmp_path, kind, names):
    pairs = write_ids(tmp_path / "ids", kind, **names)
    task = make(tmp_path / "ids", columns=names)
    assert read_back(task, "validation") == pairs
    assert len(task.documents("validation").stored.lengths) == 3  # each document once


def test_a_changed_file_is_read_anew_and_an_unchanged_one_is_not(make, tmp_path, monkeypatch):
    folder = write_released(tmp_path / "aan", PAIRS)
    before = make(folder).encode("test")
    monkeypatch.setattr(Retrieval, "_encode", lambda *_: pytest.fail("read again"))
    assert make(folder).encode("test") == before
    monkeypatch.undo()
    write_released(folder, PAIRS[:2])
    assert read_back(make(folder), "test") == PAIRS[:2]


def test_documents_are_cut_to_their_heads_and_what_is_lost_is_counted(make, tmp_path):
    task = make(write_released(tmp_path / "aan", [(b"abcdef", b"gh", 1), (b"", b"ijklm", 0)]), max_length=3)
    report = task.describe()["train"]
    assert (report["rows"], report["empty_rows"], report["tokens"]) == (2, 1, 13)
    assert (report["truncated_rows"], report["truncated_tokens"]) == (2, 3 + 2)
    for loader in (task.train_dataloader(), task.test_dataloader()):
        batch = next(iter(loader))
        places = {int(batch["index"][i]): i for i in range(len(batch["ids"])) if batch["weight"][i]}
        assert batch["ids"][places[0]].tolist() == [[98, 99, 100], [104, 105, 0]]
        assert batch["ids"][places[1]].tolist() == [[0, 0, 0], [106, 107, 108]]
        assert batch["tokens"] == 8


# -------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"1.0\tP1\tQ1\tone text", r"4 fields between tabs, not the 5 of label, id1, id2, text1, text2"),
        (b"1.0\tP1\tQ1\ta\tb\tc", r"6 fields between tabs"),
        (b"", r"1 fields between tabs"),
        (b"2.0\tP1\tQ1\ta\tb", r"the label '2.0' is neither 0 nor 1"),
        (b"nan\tP1\tQ1\ta\tb", r"the label 'nan' is neither 0 nor 1"),
        (b"\tP1\tQ1\ta\tb", r"the label '' is neither 0 nor 1"),
        (b"label\tid1\tid2\ttext1\ttext2", r"the label 'label' is neither 0 nor 1; the file has no header"),
    ],
)
def test_a_row_of_a_released_file_that_is_no_pair_is_named_and_counted(make, tmp_path, line, why):
    folder = write_released(tmp_path / "aan", [(b"a", b"b", 1), (b"c", b"d", 0)])
    path = folder / "new_aan_pairs.eval.tsv"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], line + b"\n", line + b"\n", lines[1]]))
    with pytest.raises(ValueError, match=rf"^2 of 4 rows are refused; the first: .*eval\.tsv, row 2: {why}"):
        make(folder).documents("validation")
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir() and path.suffix != ".partial"]


@pytest.mark.parametrize(
    ("file", "columns", "why"),
    [
        ("train", {"id1": ["A", "Z"], "id2": ["B", "A"], "label": [1, 0]},
         r"^1 of 2 rows are refused; the first: .*train.parquet, row 2: id1=Z has no document in .*documents.parquet"),
        ("train", {"id1": ["A", "A"], "id2": ["B", "Y"], "label": [1, 0]}, r"row 2: id2=Y has no document in"),
        ("train", {"id1": ["A"], "id2": ["B"], "label": [3]}, r"row 1: the label '3' is neither 0 nor 1"),
        ("train", {"id1": ["A"], "id2": ["B"], "label": [None]}, r"row 1: the label 'None' is neither 0 nor 1"),
        ("train", {"first": ["A"], "id2": ["B"], "label": [1]},
         r"train.parquet has the columns first, id2, label; it lacks id1: see task.columns"),
        ("train", {"id1": [], "id2": [], "label": []}, r"train.parquet has no rows"),
        ("documents", {"id": ["A", "B", "A"], "text": ["x", "y", "z"]},
         r"^1 of 3 rows are refused; the first: .*documents.parquet, row 3: id=A was there before"),
        ("documents", {"id": ["A", "B"], "text": ["x", None]}, r"documents.parquet, row 2: text is missing"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(make, tmp_path, file, columns, why):
    write_ids(tmp_path / "ids")
    write_table(tmp_path / "ids" / f"{file}.parquet", columns)
    with pytest.raises(ValueError, match=why):
        make(tmp_path / "ids").documents("train")


def test_a_missing_text_is_refused_and_an_empty_one_is_not(make, tmp_path):
    for split in SPLITS:
        write_table(tmp_path / f"{split}.parquet", {"text1": ["a", "b"], "text2": ["", None], "label": [1, 0]})
    with pytest.raises(ValueError, match=r"^1 of 2 rows are refused; .*row 2: text2 is missing; an empty text would"):
        make(tmp_path).documents("train")


@pytest.mark.parametrize("code", [0xD83D, 0xDC0A])
def test_half_a_character_is_refused_with_its_row(make, tmp_path, code):
    why = rf"^1 of 2 rows are refused; the first: .*row 2: a text has half a character, U\+{code:04X}, which UTF-8 c"
    for split in SPLITS:
        columns = {"text1": ["a", "b"], "text2": ["c", chr(code)], "label": [0, 1]}
        write_table(tmp_path / "texts" / f"{split}.jsonl", columns)
    with pytest.raises(ValueError, match=why):
        make(tmp_path / "texts").documents("train")
    write_ids(tmp_path / "ids", "jsonl")
    write_table(tmp_path / "ids" / "documents.jsonl", {"id": ["A", "B"], "text": ["a", chr(code)]})
    with pytest.raises(ValueError, match=why):
        make(tmp_path / "ids").documents("train")


def test_a_missing_file_is_named_with_how_to_get_it(make, tmp_path):
    folder = write_released(tmp_path / "aan", PAIRS, splits=("train", "test"))
    with pytest.raises(FileNotFoundError, match=(
        r"eval\.tsv is missing, and so is validation\.\{parquet,csv,tsv,jsonl,json\} beside it: .*lra_release"
    )):  # fmt: skip
        make(folder).documents("validation")


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_splits_of_two_layouts_are_refused(make, tmp_path, kind):
    folder = write_released(tmp_path / "aan", PAIRS, splits=("train", "test"))
    write_table(folder / f"validation.{kind}", {"text1": ["a"], "text2": ["b"], "label": [1]})
    task = make(folder)
    with pytest.raises(ValueError, match=(
        rf"validation\.{kind} lies beside .*new_aan_pairs\.train\.tsv, of another layout: either new_aan_pairs\.eval\."
        r"tsv is missing, or the files new_aan_pairs\.\* belong elsewhere$"
    )):  # fmt: skip
        task.documents("validation")
    write_released(folder, PAIRS[:1])
    assert read_back(task, "validation") == PAIRS[:1]  # a whole release is taken, whatever lies beside it


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"source": "hub"}, "task.source=hub: no public copy of these pairs is known; task.source=local reads"),
        ({"columns": {"left": "a"}}, "task.columns.left does not exist; its names are id, text, id1"),
        (
            {"truncation": "windows"},
            "task.truncation=windows: retrieval has pairs, each read in one row: head",
        ),
        ({"batch_tokens": 599}, "task.batch_tokens=599 must hold one pair of documents of task.max_length=300"),
    ],
)
def test_options_that_cannot_be_met_are_named(make, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make("anywhere", **options)


# ------------------------------------------------------------------------------------------- reference


def test_the_threshold_is_right_most_often():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, labels = rng.integers(0, 6, 12) / 4, rng.integers(0, 2, 12)
        every = [((scores > value) == labels).mean() for value in [-np.inf, *scores]]
        assert ((scores > threshold(scores, labels)) == labels).mean() == max(every)


def test_cosines_are_those_of_the_words_weighted_by_the_training_documents(make, tmp_path):
    """Against the formula: (1 + ln count) * (1 + ln((1 + D) / (1 + documents with the word))), D = 3."""
    train = [(b"red red fox cut off", b"blue fox", 1), (b"blue fox", b"green", 0)]
    other = [(b"red fox", b"red blue un", 1), (b"", b"fox", 0)]
    task = make(write_released(tmp_path / "aan", train))
    found = make(write_released(tmp_path / "other", other))
    of_train, of_other = cosines(task.documents("train"), found.documents("train"), None, 11)
    rare, common = 1 + np.log(4 / 2), 1 + np.log(4 / 3)  # in one and in two of three documents
    red2 = (1 + np.log(2)) * rare
    assert of_train == pytest.approx([common**2 / np.hypot(red2, common) / np.hypot(rare, common), 0])
    assert of_other == pytest.approx([rare**2 / np.hypot(rare, common) / np.hypot(rare, rare), 0])


def test_references_call_alike_what_shares_words(make, tmp_path):
    """Words decide the training pairs; the test split is right in three of four."""
    alike, other = (b"one two three", b"one two four", 1), (b"one two three", b"five six", 0)
    folder = write_released(tmp_path / "aan", [alike, other, alike])
    write_released(folder, [alike, other, alike, (*other[:2], 1)], splits=("test",))
    references = make(folder).references()
    assert references["tf_idf_cosine"] == 0.75
    assert references["majority"] == 0.75


def test_documents_without_words_have_no_cosines(make, tmp_path):
    references = make(write_released(tmp_path / "aan", [(b"a", b"\xff", 1), (b"", b"?", 0)])).references()
    assert set(references) == {"chance", "majority"}


# ---------------------------------------------------------------------------------------- from end to end


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on a small file in the released layout: pairs that share their words, and pairs that do not."""
    work = tmp_path_factory.mktemp("work")
    rng = np.random.default_rng(0)
    words = {0: b"abcd", 1: b"wxyz"}

    def text(kind):
        return bytes(rng.choice(list(words[kind]), rng.integers(3, 60)).astype(np.uint8))

    def pair():
        first, second = rng.integers(0, 2, 2)
        return text(first), text(second), int(first == second)

    data = work / "tsv_data"
    for split, rows in {"train": 60, "validation": 9, "test": 11}.items():
        write_released(data, [pair() for _ in range(rows)], splits=(split,))
    done = run(
        "train.py", "task=retrieval", f"task.data={data}", f"task.cache={work}/cache", "task.max_length=48",
        "task.batch_tokens=960", "encoder.width=16", "encoder.feedforward=32", "trainer.max_steps=60",
        "trainer.compile=false", "trainer.precision=32-true", "trainer.val_check_interval=30", "optimizer.lr=1e-2",
        "scheduler.warmup_steps=5", "logger=csv", cwd=work,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = work.glob("outputs/retrieval/*")
    return data, folder


def test_a_run_learns_and_its_checkpoint_alone_scores_the_same(trained, tmp_path):
    data, folder = trained
    expected = record(folder)
    assert expected["status"] == "finished"
    assert expected["metrics"]["test/loss"] < 0.6  # that of a coin is 0.693
    assert {"majority", "tf_idf_cosine"} <= set(expected["references"])
    assert expected["config"]["interaction"] == "full"
    checkpoint = tmp_path / "alone.ckpt"
    shutil.copy(folder / "checkpoints" / "best.ckpt", checkpoint)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(data / "new_aan_pairs.test.tsv", elsewhere)
    done = run("scripts/evaluate.py", str(checkpoint), "--data", str(elsewhere), "--output", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = json.loads((tmp_path / "out.json").read_text())
    assert result["rows"] == 11
    for name in ("loss", "accuracy", "f1_macro"):
        assert result["metrics"][f"test/{name}"] == pytest.approx(expected["metrics"][f"test/{name}"], abs=1e-6)


def test_a_row_of_a_pair_checkpoint_is_analysed_by_its_first_document(trained, tmp_path):
    data, folder = trained
    checkpoint = str(folder / "checkpoints" / "best.ckpt")
    lengths = [len(line.split(b"\t")[3]) for line in (data / "new_aan_pairs.test.tsv").read_bytes().splitlines()]
    spec = importlib.util.spec_from_file_location("analyze_script", PROJECT / "scripts" / "analyze.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main(["--checkpoint", checkpoint, "--row", "1", "--output", str(tmp_path / "a")]) == 0
    assert json.loads((tmp_path / "a" / "analysis.json").read_text())["tokens"] == lengths[1]


@pytest.mark.parametrize(
    ("pairs", "interaction", "sentence"),
    [
        (True, None, "interaction=null: t has pairs of documents, which need interaction=full or concat"),
        (False, "full", "interaction=full: t has single documents, which need interaction=null"),
    ],
)
def test_pairs_and_interactions_must_meet(pairs, interaction, sentence):
    check_pairs(SimpleNamespace(name="t", pairs=pairs), None if interaction else "full")
    with pytest.raises(ValueError, match=sentence):
        check_pairs(SimpleNamespace(name="t", pairs=pairs), interaction)


def test_no_task_but_that_of_pairs_says_that_it_has_them(tmp_path):
    assert Retrieval.pairs
    recall = Recall(sizes=dict.fromkeys(SPLITS, 1), max_length=32, batch_tokens=64, seed=0, cache=str(tmp_path))
    assert recall.pairs is False  # its own pairs are of keys and values
