"""Collections of one's own: every kind of input gives the same documents, classes and splits."""

import csv

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collections_ import KINDS, own_documents, write_kind, write_rows
from hub import write_hub

SPLITS = ("train", "validation", "test")
ODD = [
    "NA", "null", "None", "nan", "", "007", "1984", "1e5", "1.0", "true", " \n", "x", "👩‍👩‍👧", "日本語",
    "two\r\nlines", 'a "quoted", text\twith a tab', "NUL \x00 inside", "a" * 100_000, "-1", "<p>&amp;</p>",
]  # fmt: skip


@pytest.fixture(name="make")
def _make(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")

    def make(path, state=None, **more):
        task = own_documents(tmp_path / "cache", path, **more)
        task.state = state
        return task

    return make


def texts(task, split):
    documents = task.documents(split)
    return [task.decode(documents.ids(row)) for row in range(len(documents))]


def labelled(task, split):
    labels = [task.classes[label] for label in task.documents(split).labels]
    return list(zip(texts(task, split), labels, strict=True))


def rows(count=40, names=("a", "b")):
    labels = [names[i % len(names)] for i in range(count)]
    return {"text": [f"document {i}" for i in range(count)], "label": labels}


class TestInput:
    @pytest.mark.parametrize("kind", [*KINDS, "hub"])
    def test_every_kind_gives_the_texts_as_they_stand(self, make, tmp_path, kind):
        columns = {"text": [*ODD, *ODD], "label": ["x"] * len(ODD) + ["y"] * len(ODD)}
        if kind == "hub":
            features = dict.fromkeys(columns, datasets.Value("string"))
            task = make("hf:" + write_hub(tmp_path / "h", "default", features, {"train": columns}))
        else:
            task = make(write_kind(tmp_path, kind, columns))
        found = [row for split in SPLITS for row in labelled(task, split)]
        assert sorted(found) == sorted(zip(*columns.values(), strict=True))

    def test_every_kind_gives_the_same_splits_in_the_same_order(self, make, tmp_path):
        columns = rows(60, ["9", "10", "2"])
        found = []
        for kind in KINDS:
            task = make(write_kind(tmp_path, kind, columns))
            assert task.classes == ["2", "9", "10"]
            found.append([labelled(task, split) for split in SPLITS])
        assert [len(split) for split in found[0]] == [48, 6, 6]
        assert all(other == found[0] for other in found)

    def test_every_kind_gives_the_same_tokenizer_and_tokens(self, make, tmp_path):
        columns = rows(60, ["9", "10"]) | {
            "text": [f"It was chapter {i % 7} of {i}. " * (i % 5 + 1) for i in range(60)]
        }
        found = set()
        for kind in KINDS:
            task = make(write_kind(tmp_path, kind, columns), tokenizer="bpe", vocab_size=280)
            task.prepare_data()
            found.add((task.state["tokenizer"]["json"], *(task.documents(split).content() for split in SPLITS)))
        assert len(found) == 1

    def test_numbers_are_the_text_that_is_written(self, make, tmp_path):
        lines = "".join(f'{{"text": {number}, "label": "{"ab"[i % 2]}"}}\n' for i, number in enumerate(NUMBERS))
        (tmp_path / "rows.jsonl").write_text(lines)
        task = make(tmp_path / "rows.jsonl")
        assert sorted(text for split in SPLITS for text in texts(task, split)) == sorted(NUMBERS)

    def test_columns_of_whole_numbers_are_text(self, make, tmp_path):
        task = make(write_rows(tmp_path / "rows.parquet", {"text": range(1980, 2000), "label": [True, False] * 10}))
        assert sorted(text for split in SPLITS for text in texts(task, split)) == [str(i) for i in range(1980, 2000)]
        assert task.classes == ["False", "True"]

    def test_splits_of_files_stay_as_they_are_and_missing_ones_come_out_of_train(self, make, tmp_path):
        write_rows(tmp_path / "train.csv", rows(40))
        write_rows(tmp_path / "test.jsonl", {"text": ["p", "q"], "label": ["b", "b"]})
        task = make(tmp_path)
        assert labelled(task, "test") == [("p", "b"), ("q", "b")]
        assert [len(task.documents(split)) for split in SPLITS] == [36, 4, 2]

    def test_folders_of_texts_by_split(self, make, tmp_path):
        for split, count in {"train": 20, "valid": 4, "test": 6}.items():
            write_rows(tmp_path / split, rows(count))
        task = make(tmp_path)
        assert [len(task.documents(split)) for split in SPLITS] == [20, 4, 6]
        assert task.classes == ["a", "b"]

    def test_a_set_of_the_hub(self, make, tmp_path):
        features = {"content": datasets.Value("string"), "label": datasets.ClassLabel(names=["pos", "neg"])}
        splits = {"train": {"content": [f"t{i}" for i in range(20)], "label": [0, 1] * 10}}
        splits["test"] = {"content": ["?", "!"], "label": [1, 0]}
        task = make("hf:" + write_hub(tmp_path / "h", "default", features, splits))
        assert task.classes == ["pos", "neg"]
        assert labelled(task, "test") == [("?", "neg"), ("!", "pos")]
        assert len(task.documents("validation")) == 2

    @pytest.mark.parametrize("streaming", [False, True])
    def test_csv_files_of_the_hub_are_read_as_text(self, make, tmp_path, streaming):
        columns = {"text": ODD, "label": ["1", "0"] * (len(ODD) // 2)}
        write_rows(tmp_path / "h" / "train.csv", columns)
        write_rows(tmp_path / "h" / "test.csv", {"text": ["007", "1984"], "label": ["1", "0"]})
        task = make(f"hf:{tmp_path / 'h'}", streaming=streaming)
        assert labelled(task, "test") == [("007", "1"), ("1984", "0")]
        found = [row for split in ("train", "validation") for row in labelled(task, split)]
        assert sorted(found) == sorted(zip(*columns.values(), strict=True))

    def test_a_file_beside_it_may_be_the_test_split(self, make, tmp_path):
        train = write_rows(tmp_path / "train.csv", rows(20))
        test = write_rows(tmp_path / "new.csv", {"text": ["x", "y"], "label": ["b", "a"]})
        task = make(train, test=test)
        assert labelled(task, "test") == [("x", "b"), ("y", "a")]
        assert [len(task.documents(split)) for split in SPLITS] == [18, 2, 2]

    def test_a_checkpoint_finds_what_its_run_has_encoded(self, make, tmp_path):
        task = make(write_rows(tmp_path / "rows.csv", rows(20)), tokenizer="bpe", vocab_size=300)
        task.prepare_data()
        before = sorted((tmp_path / "cache").iterdir())
        again = make(tmp_path / "rows.csv", task.state, tokenizer="bpe", vocab_size=300)
        again.prepare_data()
        assert sorted((tmp_path / "cache").iterdir()) == before

    def test_a_single_file_is_scored_as_a_whole_without_the_training_data(self, make, tmp_path):
        state = make(write_rows(tmp_path / "train.csv", rows(20))).learn()
        (tmp_path / "train.csv").unlink()
        new = write_rows(tmp_path / "new.csv", {"text": ["x", "y", "z"], "label": ["b", "b", "b"]})
        assert labelled(make(new, state, test=new), "test") == [("x", "b"), ("y", "b"), ("z", "b")]
        with pytest.raises(FileNotFoundError, match="has only the splits test; no validation"):
            make(new, state, test=new).documents("validation")

    @pytest.mark.parametrize("kind", ["csv", "folder"])
    def test_one_table_cannot_be_both_training_and_test(self, make, tmp_path, kind):
        path = write_kind(tmp_path, kind, rows(20))
        why = r"has only the splits test; no train: task\.test=.* is its table; leave it out, and test rows come out"
        for same in (path, path.replace(str(tmp_path), f"{tmp_path}/.")):
            with pytest.raises(FileNotFoundError, match=why):
                make(path, test=same).prepare_data()

    def test_files_of_a_label_folder_that_are_no_texts_are_counted_and_hidden_ones_are_none(
        self, make, tmp_path, capsys
    ):
        write_rows(tmp_path / "texts", rows(20))
        for name in ("a/notes.md", "b/deeper/1.txt", ".ipynb_checkpoints/1.txt", "a/._1.txt"):
            (tmp_path / "texts" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "texts" / name).write_text("no document")
        task = make(tmp_path / "texts")
        assert sorted(text for split in SPLITS for text in texts(task, split)) == sorted(rows(20)["text"])
        assert "texts: 2 files are no <label>/*.txt and left out, as " in capsys.readouterr().out

    def test_two_files_of_a_split_are_refused(self, make, tmp_path):
        for name in ("train.csv", "train.jsonl"):
            write_rows(tmp_path / name, rows(20))
        with pytest.raises(ValueError, match=r"train\.csv and .*train\.jsonl are both train: take one of them away"):
            make(tmp_path).classes  # noqa: B018


NUMBERS = ["1", "1.0", "1e3", "-0", "0.10", "12345678901234567890", "3", "4", "5", "6"]


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "txt"])
    def test_a_byte_order_mark_names_the_encoding_and_is_no_text(self, make, tmp_path, encoding, suffix):
        texts_ = [f"naïve 日本語 {i}" for i in range(20)]
        path = write_kind(tmp_path, "folder" if suffix == "txt" else suffix, {"text": texts_, "label": ["a", "b"] * 10})
        mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
        for file in tmp_path.rglob(f"*.{suffix}"):
            file.write_bytes((mark + file.read_bytes().decode()).encode(encoding))
        task = make(path)
        assert sorted(text for split in SPLITS for text in texts(task, split)) == sorted(texts_)
        assert task.classes == ["a", "b"]

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "txt", "parquet"])
    def test_bytes_that_are_no_utf8_are_told_with_file_and_place_or_replaced_and_counted(
        self, make, tmp_path, capsys, suffix
    ):
        columns = {"text": [f"caf\xe9 {i}" if i == 7 else f"tea {i}" for i in range(20)], "label": ["a", "b"] * 10}
        if suffix == "parquet":
            columns["text"] = [text.encode("latin-1") for text in columns["text"]]
        path = write_kind(tmp_path, "folder" if suffix == "txt" else suffix, columns)
        for file in tmp_path.rglob(f"*.{suffix}"):
            data = file.read_bytes().replace(b"caf\\u00e9", b"caf\xe9").replace(b"caf\xc3\xa9", b"caf\xe9")
            file.write_bytes(data)
        (place,) = [(f, f.read_bytes().index(b"\xe9")) for f in tmp_path.rglob("*.*") if b"caf\xe9" in f.read_bytes()]
        byte = "" if suffix == "parquet" else f", first at byte {place[1]:,} of the file"
        row = 19 if suffix == "txt" else 8
        why = rf"^1 of 20 rows are .*{place[0].name}, row {row}: text has bytes that are no UTF-8{byte}"
        with pytest.raises(ValueError, match=why):
            make(path).classes  # noqa: B018
        task = make(path, errors="replace")
        found = [text for split in SPLITS for text in texts(task, split)]
        assert sorted(found) == sorted("caf\ufffd 7" if i == 7 else f"tea {i}" for i in range(20))
        assert "1 texts of" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("odd", "read"),
        [
            pytest.param(b"b", "\ufffd", id="half a character, below 128"),
            pytest.param(b"\xe9", "\ufffd", id="half a character"),
            pytest.param(b"\x3d\xd8", "\ufffd\ufffd", id="half a pair"),
            pytest.param(b"\x00\xdc\x41", "\ufffd\ufffd\ufffd", id="the other half, and half a character"),
        ],
    )
    @pytest.mark.parametrize("suffix", ["csv", "txt", "parquet"])
    def test_utf_16_that_was_cut_is_told_or_replaced_and_counted(self, make, tmp_path, capsys, suffix, odd, read):
        """A cut text; of a table's file the last text is cut."""
        whole = [f"日本 {i}" for i in range(20)]
        columns = {"label": ["a", "b"] * 10, "text": whole}
        if suffix == "parquet":
            columns["text"] = [text.encode("utf-16") for text in whole[:-1]] + [whole[-1].encode("utf-16") + odd]
        path = write_kind(tmp_path, "folder" if suffix == "txt" else suffix, columns)
        files = [] if suffix == "parquet" else sorted(tmp_path.rglob(f"*.{suffix}"))
        for file in files:
            cut = file.name in ("19.txt", "rows.csv")
            file.write_bytes(file.read_bytes().decode().rstrip("\r\n").encode("utf-16") + odd * cut)
        with pytest.raises(ValueError, match=r"^1 of 20 rows are .* text has bytes that are no UTF-16"):
            make(path).classes  # noqa: B018
        task = make(path, errors="replace")
        found = [text for split in SPLITS for text in texts(task, split)]
        assert sorted(found) == sorted([*whole[:-1], whole[-1] + read])
        assert "1 texts of" in capsys.readouterr().out

    def test_text_that_parquet_takes_on_trust_is_looked_at(self, make, tmp_path):
        """Some writers do not: pyarrow's reader fails at a cell of bytes that are no UTF-8, and names no row."""
        whole = [b"caf\xe9" if i == 7 else f"tea {i}".encode() for i in range(20)]
        offsets = np.cumsum([0, *map(len, whole)], dtype=np.int32)
        column = pa.StringArray.from_buffers(20, pa.py_buffer(offsets), pa.py_buffer(b"".join(whole)))
        pq.write_table(pa.table({"text": column, "label": ["a", "b"] * 10}), tmp_path / "rows.parquet")
        with pytest.raises(ValueError, match=r"^1 of 20 rows are refused; .*rows\.parquet, row 8: text has bytes that"):
            make(tmp_path / "rows.parquet").classes  # noqa: B018
        task = make(tmp_path / "rows.parquet", errors="replace")
        found = [text for split in SPLITS for text in texts(task, split)]
        assert sorted(found) == sorted(text.decode(errors="replace") for text in whole)

    @pytest.mark.parametrize("column", ["label", "author"])
    def test_names_that_are_no_utf8_are_told_with_their_row(self, make, tmp_path, column):
        lines = [f"document {i},{'ab'[i % 2]},{i}\n".encode() for i in range(20)]
        lines[7] = {"label": b"document 7,\xe9,7\n", "author": b"document 7,b,\xe9\n"}[column]
        (tmp_path / "rows.csv").write_bytes(b"text,label,author\n" + b"".join(lines))
        why = (
            rf"^1 of 20 rows are .*rows\.csv, row 8: the {column} '\ufffd' has bytes that are no UTF-8; errors=replace"
        )
        with pytest.raises(ValueError, match=why):
            make(tmp_path / "rows.csv", group="author", errors="replace").classes  # noqa: B018


class TestSplits:
    def test_they_are_recorded_row_by_row(self, make, tmp_path):
        columns = rows(40)
        task = make(write_rows(tmp_path / "rows.csv", columns))
        task.prepare_data()
        task.write_splits(tmp_path)
        with (tmp_path / "splits.csv").open() as file:
            recorded = list(csv.DictReader(file))
        assert [int(line["row"]) for line in recorded] == list(range(1, 41))
        for line in recorded:
            text = texts(task, line["split"])[int(line["index"])]
            assert text == columns["text"][int(line["row"]) - 1]

    def test_no_group_is_in_two_splits(self, make, tmp_path):
        columns = rows(100) | {"author": [f"author {i // 5}" for i in range(100)]}
        task = make(write_rows(tmp_path / "rows.csv", columns), group="author")
        author = dict(zip(columns["text"], columns["author"], strict=True))
        found = [{author[text] for text in texts(task, split)} for split in SPLITS]
        assert [len(authors) for authors in found] == [16, 2, 2]
        assert len(set.union(*found)) == 20

    def test_rows_of_files_whose_group_is_in_an_earlier_one_are_counted(self, make, tmp_path):
        write_rows(tmp_path / "train.csv", rows(20) | {"author": ["p", "q"] * 10})
        write_rows(tmp_path / "validation.csv", {"text": ["x", "y"], "label": ["a", "b"], "author": ["q", "r"]})
        write_rows(tmp_path / "test.csv", {"text": "xyz", "label": "aba", "author": "rrs"})
        task = make(tmp_path, group="author")
        task.prepare_data()
        assert [counts["group_rows"] for counts in task.describe().values()] == [0, 1, 2]

    def test_a_group_may_be_blank_where_no_rows_are_dealt_out(self, make, tmp_path):
        write_rows(tmp_path / "train.csv", rows(20) | {"author": ["p", "q"] * 10})
        write_rows(tmp_path / "test.csv", {"text": "xyz", "label": "aba", "author": ["", "p", ""]})
        task = make(tmp_path, group="author")
        task.prepare_data()
        assert task.describe()["test"]["group_rows"] == 1
        with pytest.raises(ValueError, match=r"^2 of 3 rows .*test\.csv, row 1: author is missing: it says which"):
            make(tmp_path, group="author", folds=2, fold=0).prepare_data()
        write_rows(tmp_path / "train.csv", rows(20) | {"author": ["p", ""] * 10})
        with pytest.raises(ValueError, match=r"^10 of 20 rows .*train\.csv, row 2: author is missing: it says which"):
            make(tmp_path, group="author").prepare_data()
        write_rows(tmp_path / "validation.csv", rows(4) | {"author": [""] * 4})
        task = make(tmp_path, group="author")
        task.prepare_data()
        assert [counts["group_rows"] for counts in task.describe().values()] == [0, 0, 1]

    def test_no_group_is_in_two_splits_of_a_fold(self, make, tmp_path):
        write_rows(tmp_path / "train.csv", rows(60) | {"author": [f"author {i // 5}" for i in range(60)]})
        other = {"text": [f"other {i}" for i in range(10)], "label": ["a", "b"] * 5}
        write_rows(tmp_path / "test.csv", other | {"author": [f"author {i}" for i in range(10)]})
        author = {f"document {i}": i // 5 for i in range(60)} | {f"other {i}": i for i in range(10)}
        for fold in range(3):
            task = make(tmp_path, group="author", folds=3, fold=fold)
            found = [{author[text] for text in texts(task, split)} for split in SPLITS]
            assert len(set.union(*found)) == sum(map(len, found)) == 12

    def test_equal_documents_of_two_groups_are_counted_in_folds(self, make, tmp_path):
        columns = {"text": [f"document {i % 20}" for i in range(40)], "label": ["a", "b"] * 20}
        write_rows(tmp_path / "rows.csv", columns | {"author": [f"author {i // 2}" for i in range(40)]})
        counted = []
        for fold in range(2):
            task = make(tmp_path / "rows.csv", group="author", folds=2, fold=fold)
            task.prepare_data()
            seen, expected = set(), []
            for split in SPLITS:
                found = texts(task, split)
                expected.append(sum(text in seen for text in found))
                seen.update(found)
            assert [counts["duplicate_rows"] for counts in task.describe().values()] == expected
            assert [counts["group_rows"] for counts in task.describe().values()] == [0, 0, 0]
            counted += expected
        assert sum(counted) > 0

    def test_equal_documents_are_never_parted_and_those_of_files_are_counted(self, make, tmp_path):
        columns = {"text": [f"document {i // 2}" for i in range(60)], "label": ["a", "a", "b", "b"] * 15}
        task = make(write_rows(tmp_path / "one" / "rows.csv", columns))
        task.prepare_data()
        assert [counts["duplicate_rows"] for counts in task.describe().values()] == [0, 0, 0]
        write_rows(tmp_path / "two" / "train.csv", rows(20))
        write_rows(tmp_path / "two" / "validation.csv", {"text": ["document 3", "new"], "label": ["b", "b"]})
        write_rows(tmp_path / "two" / "test.csv", {"text": ["new", "document 4", "else"], "label": ["b", "a", "a"]})
        task = make(tmp_path / "two")
        task.prepare_data()
        assert [counts["duplicate_rows"] for counts in task.describe().values()] == [0, 1, 2]


class TestLabels:
    @pytest.mark.parametrize(
        "test", [["2", "10"], [2, 10], [2.0, 10.0], ["2.0", "10.0"], np.array([2, 10], np.int8)], ids=str
    )
    def test_the_training_table_gives_the_numbers_whatever_the_test_split_has(self, make, tmp_path, test):
        write_rows(tmp_path / "train.parquet", rows(30, [10, 9, 2]))
        write_rows(tmp_path / "test.parquet", {"text": ["x", "y"], "label": test})
        task = make(tmp_path)
        assert task.classes == ["2", "9", "10"]
        assert task.documents("test").labels.tolist() == [0, 2]

    @pytest.mark.parametrize("train", [[True, False], ["true", "false"], ["1", "0"], [1, 0]], ids=str)
    @pytest.mark.parametrize("test", [[False, True], ["False", "TRUE"], [0, 1]], ids=str)
    def test_truth_values(self, make, tmp_path, train, test):
        write_rows(tmp_path / "train.parquet", rows(20, train))
        write_rows(tmp_path / "test.parquet", {"text": ["x", "y"], "label": test})
        task = make(tmp_path)
        assert task.documents("test").labels.tolist() == [0, 1]

    @pytest.mark.parametrize("kind", KINDS)
    def test_words_for_nothing_are_names(self, make, tmp_path, kind):
        names = ["1e3", "1984", "NA", "None", "nan", "null", "true"]
        task = make(write_kind(tmp_path, kind, rows(70, names)))
        assert task.classes == names
        found = [row for split in SPLITS for row in labelled(task, split)]
        assert sorted(found) == sorted(zip(*rows(70, names).values(), strict=True))

    def test_bytes_are_the_text_that_they_are(self, make, tmp_path):
        path = write_rows(tmp_path / "rows.parquet", rows(20, [b"a", b"\xc3\xa9"]))
        assert make(path).classes == ["a", "é"]
        with pytest.raises(ValueError, match=r"^10 of 20 rows .*row 2: the label '\ufffd' has bytes that are no UTF-8"):
            make(write_rows(tmp_path / "rows.parquet", rows(20, [b"a", b"\xe9"]))).classes  # noqa: B018

    def test_a_numbered_column_means_its_own_names(self, make, tmp_path):
        for split, names, labels in (("train", ["a", "b"], [0, 1] * 10), ("test", ["b", "a"], [0, 1])):
            label = datasets.ClassLabel(names=names)
            features = datasets.Features({"text": datasets.Value("string"), "label": label})
            table = pa.table({"text": [f"{split} {i}" for i in range(len(labels))], "label": labels})
            pq.write_table(table.cast(features.arrow_schema), tmp_path / f"{split}.parquet")
        task = make(tmp_path)
        assert labelled(task, "test") == [("test 0", "b"), ("test 1", "a")]

    def test_a_column_of_names_that_are_numbers_is_no_numbered_one(self, make, tmp_path):
        label = datasets.ClassLabel(names=["3", "1", "2"])
        features = datasets.Features({"text": datasets.Value("string"), "label": label})
        table = pa.table({"text": [f"t {i}" for i in range(30)], "label": [0, 1, 2] * 10})
        pq.write_table(table.cast(features.arrow_schema), tmp_path / "train.parquet")
        write_rows(tmp_path / "test.csv", {"text": ["x", "y"], "label": ["1", "2"]})
        assert labelled(make(tmp_path), "test") == [("x", "1"), ("y", "2")]

    @pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "folder"])
    def test_007_and_7_are_two_classes(self, make, tmp_path, kind):
        columns = rows(60, ["007", "7", "8"])
        task = make(write_kind(tmp_path, kind, columns))
        assert task.classes == ["007", "7", "8"]
        found = [row for split in SPLITS for row in labelled(task, split)]
        assert sorted(found) == sorted(zip(*columns.values(), strict=True))

    def test_what_is_a_class_in_another_writing_is_that_class_unless_training_has_both(self, make, tmp_path):
        write_rows(tmp_path / "train.csv", rows(20, ["7", "8"]))
        write_rows(tmp_path / "test.csv", {"text": "xyz", "label": ["007", "7.0", "8"]})
        assert [name for _, name in labelled(make(tmp_path), "test")] == ["7", "7", "8"]
        write_rows(tmp_path / "train.csv", rows(30, ["007", "7", "8"]))
        assert [name for _, name in labelled(make(tmp_path), "test")] == ["007", "7", "8"]
        write_rows(tmp_path / "test.csv", {"text": "xy", "label": ["07", "8"]})
        with pytest.raises(ValueError, match=r"test\.csv, row 1: the label '07' is not among .*: 007, 7, 8; '007' is"):
            make(tmp_path).documents("test")

    @pytest.mark.parametrize("labels", [["a"], ["a", "b", "a"], []])
    def test_given_ones_are_two_or_more_and_each_once(self, make, tmp_path, labels):
        with pytest.raises(ValueError, match=r"^task\.labels=.* must name two classes or more, each once$"):
            make(tmp_path, labels=labels)

    def test_they_can_be_given_in_an_order(self, make, tmp_path):
        path = write_rows(tmp_path / "rows.csv", rows(20, ["-1", "1"]))
        task = make(path, labels=[1, 0, -1])
        assert task.classes == ["1", "0", "-1"]
        assert {name for split in SPLITS for _, name in labelled(task, split)} == {"1", "-1"}
        with pytest.raises(ValueError, match=r"^10 of 20 rows .*rows\.csv, row 1: the label is missing: -1 stands for"):
            make(path).classes  # noqa: B018

    @pytest.mark.parametrize(
        ("label", "why"),
        [
            ("c", "row 2: the label 'c' is not among the training table's: a, b"),
            (None, "row 2: the label is missing$"),
            ("", "row 2: the label is missing$"),
            ("-1", "row 2: the label is missing: -1 stands for none"),
            (-1, "row 2: the label is missing: -1 stands for none"),
        ],
    )
    def test_what_training_does_not_know_is_named_with_file_and_row(self, make, tmp_path, label, why):
        write_rows(tmp_path / "train.jsonl", rows(20))
        write_rows(tmp_path / "test.jsonl", {"text": ["x", "y"], "label": ["a", label]})
        with pytest.raises(ValueError, match=rf"^1 of 2 rows are refused; the first: .*test\.jsonl, {why}"):
            make(tmp_path).documents("test")

    @pytest.mark.parametrize(
        ("label", "why"),
        [
            (2, "the label '2' is not among the training table's: a, b"),
            (-1, "the label is missing: -1 stands for none"),
            ("pos", "the label 'pos' is not among the training table's: a, b"),
        ],
    )
    def test_a_number_of_no_class_is_named_with_file_and_row(self, make, tmp_path, label, why):
        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["a", "b"])})
        table = pa.table({"text": [f"t{i}" for i in range(20)], "label": [0, 1] * 10})
        pq.write_table(table.cast(features.arrow_schema), tmp_path / "train.parquet")
        write_rows(tmp_path / "test.csv", {"text": "xyz", "label": [1, 1.0, label]})
        with pytest.raises(ValueError, match=rf"^1 of 3 rows are refused; the first: .*test\.csv, row 3: {why}"):
            make(tmp_path).documents("test")

    def test_kinds_that_are_mixed_are_explained(self, make, tmp_path):
        write_rows(tmp_path / "rows.jsonl", {"text": "abcdef", "label": [1, "2", 2, "1", "pos", 1]})
        why = r"rows\.jsonl: the labels in label are of several kinds: numbers \(row 1: 1\), text \(row 5: pos\)"
        with pytest.raises(ValueError, match=why):
            make(tmp_path / "rows.jsonl").classes  # noqa: B018


class TestManyLabels:
    LISTS = ([["x", "y"], ["y"], [], ["z", "x"]] * 10, {})
    CELLS = (["x;y", "y", "", "z; x"] * 10, {"separator": ";"})

    @pytest.mark.parametrize(("kind", "labels"), [("jsonl", LISTS), ("parquet", LISTS), ("csv", CELLS)])
    def test_a_document_has_those_of_its_list_or_its_cell(self, make, tmp_path, kind, labels):
        names = [f"document {i}" for i in range(40)]
        task = make(write_rows(tmp_path / f"rows.{kind}", {"text": names, "label": labels[0]}), **labels[1])
        task.prepare_data()
        assert (task.multi_label, task.classes) == (True, ["x", "y", "z"])
        wanted = [[True, True, False], [False, True, False], [False] * 3, [True, False, True]]
        for split in SPLITS:
            numbers = [int(text.split()[1]) for text in texts(task, split)]
            assert task.documents(split).labels.tolist() == [wanted[number % 4] for number in numbers]
        assert [len(task.documents(split)) for split in SPLITS] == [32, 4, 4]

    def test_a_checkpoint_knows_it(self, make, tmp_path):
        write_rows(tmp_path / "train.jsonl", {"text": [f"t{i}" for i in range(20)], "label": [["x"], ["x", "y"]] * 10})
        write_rows(tmp_path / "test.jsonl", {"text": ["?"], "label": [["y"]]})
        task = make(tmp_path, make(tmp_path).learn())
        assert task.documents("test").labels.tolist() == [[False, True]]


class TestPairs:
    def test_two_columns_are_a_pair_or_one_text(self, make, tmp_path):
        columns = {
            "q": [f"question {i}" for i in range(20)],
            "a": ["yes", "no"] * 10,
            "label": ["b", "a", "a", "b"] * 5,
        }
        path = write_rows(tmp_path / "rows.csv", columns)
        task = make(path, text=["q", "a"], interaction="full", truncation="head")
        documents = task.documents("train")
        pairs = {tuple(task.decode(documents.ids(row, side)) for side in (0, 1)) for row in range(16)}
        assert (task.pairs, len(pairs)) == (True, 16)
        assert pairs <= set(zip(columns["q"], columns["a"], strict=True))
        task = make(path, text=["q", "a"])
        joined = {f"{q}\n\n{a}" for q, a in zip(columns["q"], columns["a"], strict=True)}
        assert {text for split in SPLITS for text in texts(task, split)} == joined
        with pytest.raises(ValueError, match=r"task\.text=None: a pair of documents is two columns"):
            make(path, pairs=True, truncation="head")


class TestWeights:
    def test_balanced(self, make, tmp_path):
        columns = {"text": [f"t{i}" for i in range(50)], "label": ["a"] * 40 + ["b"] * 10}
        task = make(write_rows(tmp_path / "rows.csv", columns), class_weights="balanced")
        task.prepare_data()
        assert task.class_weights.tolist() == [40 / 2 / 32, 40 / 2 / 8]

    def test_balanced_of_many_labels_is_the_odds_against_a_class(self, make, tmp_path):
        columns = {"text": [f"t{i}" for i in range(50)], "label": [["x"]] * 40 + [["x", "y"]] * 10}
        task = make(write_rows(tmp_path / "rows.jsonl", columns), class_weights="balanced")
        task.prepare_data()
        assert task.class_weights.tolist() == [0, 32 / 8]

    def test_by_name(self, make, tmp_path):
        path = write_rows(tmp_path / "rows.csv", rows(20, [1, 2]))
        task = make(path, class_weights={2: 3})
        task.prepare_data()
        assert task.class_weights.tolist() == [1, 3]
        with pytest.raises(ValueError, match=r"task\.class_weights: 3: 1\.0 is no weight of a class; they are 1, 2"):
            make(path, class_weights={"3": 1}).prepare_data()


class TestBadInput:
    @pytest.mark.parametrize(
        ("columns", "options", "why"),
        [
            (rows(0), {}, r"rows\.csv has no rows"),
            (rows(9, ["a"]), {}, r"rows\.csv: label holds one class only, a; it takes two"),
            (rows(9, "abcdefghi"), {}, r"rows\.csv has 9 documents of 9 classes, by label: there must be several"),
            (rows(3), {"labels": "abcd"}, r"rows\.csv has 3 documents of 4 classes, by label: there must be several"),
            (rows(9), {"text": "txt"}, r"rows\.csv has the columns text, label; it lacks txt: see task\.text"),
            (rows(9), {"label": "lbl"}, r"rows\.csv has the columns text, label; it lacks lbl: see task\.label"),
            (rows(9), {"group": "who"}, r"rows\.csv has the columns text, label; it lacks who: see task\.group"),
            (rows(9), {"labels": "ac"}, r"^4 of 9 rows are refused; the first: .*row 2: the label 'b' is not among ta"),
            ({}, {}, r"rows\.csv has no rows, or none with names"),
            ({"p": "ab", "q": "cd", "r": "ef"}, {}, r"has the columns p, q, r: task\.label must name one; none has a"),
            ({"text": "ab", "body": "cd", "label": "ef"}, {},
             r"has the columns text, body, label: task\.text must name one; text and body could be it"),
            ({"text": "ab", "label": "cd", "who": ["", "x"]}, {"group": "who"}, r"row 1: who is missing"),
            ({"text": "aaaa", "label": "cdcd"}, {}, r"rows\.csv gives no validation and no test split: 1 that must"),
        ],
    )  # fmt: skip
    def test_tables(self, make, tmp_path, columns, options, why):
        path = write_rows(tmp_path / "rows.csv", columns)
        with pytest.raises(ValueError, match=why):
            make(path, **options).prepare_data()

    def test_a_missing_text_is_refused_and_an_empty_one_is_not(self, make, tmp_path):
        write_rows(tmp_path / "rows.jsonl", {"text": ["a", None, "", "b"], "label": [1, 2, 1, 2]})
        with pytest.raises(
            ValueError, match=r"^1 of 4 rows .*rows\.jsonl, row 2: text is missing; an empty text would"
        ):
            make(tmp_path / "rows.jsonl").classes  # noqa: B018

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("reviws.csv", r"task\.path=.*reviws\.csv is not there: .* has no reviws\.csv, but reviews\.csv"),
            ("reviews.pdf", r"task\.path=.*reviews\.pdf: a file is a \.parquet, \.csv, .*; texts lie in a folder"),
            ("empty", r"empty holds no files: it needs train\.\{parquet,.*\} or folders <label>/\*\.txt"),
            ("flat", r"flat holds texts without a label \(1\.txt, 2\.txt\): they must lie in folders named by their"),
            ("named", r"named holds reviews\.csv: it needs .*; a file of another name is chosen by task\.path=FILE"),
        ],
    )
    def test_paths(self, make, tmp_path, name, why):
        (tmp_path / "empty").mkdir()
        write_rows(tmp_path / "named" / "reviews.csv", rows(9))
        for file in ("reviews.csv", "reviews.pdf", "flat/1.txt", "flat/2.txt"):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text("text")
        with pytest.raises((ValueError, FileNotFoundError), match=why):
            make(tmp_path / name).classes  # noqa: B018
