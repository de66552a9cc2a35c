"""Text: bytes from every source and back, and the reference beside them."""

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hub import write_hub
from reference import CONF

from longdoc.tasks.text import Text

SPLITS = ("train", "validation", "test")
EVERY_BYTE = bytes(range(256))
CONFIG = yaml.safe_load((CONF / "task" / "text.yaml").read_text())["task"]
TEXTS = ["plain", "naïve 日本語 👩‍👩‍👧", "", "<br />two\nlines\r\n", "NUL \x00, BOM \ufeff", "NA", "007"]


@pytest.fixture(name="make")
def _make(tmp_path, monkeypatch):
    """With the options of conf/task/text.yaml."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    options = CONFIG | {"max_length": 64, "batch_tokens": 256, "seed": 0, "cache": str(tmp_path / "cache")}
    del options["_target_"]
    return lambda **more: Text(**options | more)


def read_back(task, split):
    documents = task.documents(split)
    return [bytes(id_ - 1 for id_ in documents.ids(row).tolist()) for row in range(len(documents))]


def write(folder, texts, labels, splits=SPLITS):
    folder.mkdir(exist_ok=True)
    for split in splits:
        pq.write_table(pa.table({"text": texts, "label": labels}), folder / f"{split}.parquet")
    return str(folder)


def write_reviews(folder, texts):
    """texts: of each split and class."""
    for split, classes in texts.items():
        for name, reviews in classes.items():
            (folder / split / name).mkdir(parents=True)
            for number, review in enumerate(reviews):
                (folder / split / name / f"{number}_7.txt").write_bytes(review)
    return str(folder)


def test_every_byte_has_an_id_and_comes_back(make, tmp_path):
    task = make(data=write(tmp_path / "d", [EVERY_BYTE, b"", EVERY_BYTE[::-1]], [0, 1, 0]))
    assert task.documents("train").ids(0).tolist() == list(range(1, 257))  # 0 is left for padding
    assert read_back(task, "test") == [EVERY_BYTE, b"", EVERY_BYTE[::-1]]
    assert (task.source, task.vocab_size) == ("local", 257)


def test_strings_are_their_utf8(make, tmp_path):
    task = make(data=write(tmp_path / "d", TEXTS, [0, 1] * 3 + [0]))
    assert read_back(task, "validation") == [text.encode() for text in TEXTS]


def test_imdb_is_read_from_the_hub_as_it_lies_there(make, tmp_path):
    """Its columns text and label and the names neg and pos, by the configuration as it stands."""
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
    train = {"text": [f"{text} {i}" for i, text in enumerate(TEXTS * 4)], "label": [0] * 14 + [1] * 14}
    test = {"text": TEXTS, "label": [1, 0, 1, 0, 1, 0, 1]}
    unlabelled = {"text": ["?"], "label": [-1]}
    splits = {"train": train, "test": test, "unsupervised": unlabelled}
    task = make(hub=write_hub(tmp_path / "h", CONFIG["config"], features, splits))
    assert CONFIG["hub"] == "stanfordnlp/imdb"
    assert (task.source, task.classes) == ("hub", ["neg", "pos"])
    assert read_back(task, "test") == [text.encode() for text in TEXTS]
    assert task.documents("test").labels.tolist() == test["label"]
    assert sorted(read_back(task, "train") + read_back(task, "validation")) == sorted(t.encode() for t in train["text"])
    assert np.bincount(task.documents("validation").labels).tolist() == [1, 1]
    assert Text.hub_labels == {CONFIG["hub"]: ["neg", "pos"]}
    other = {"label": datasets.ClassLabel(names=["pos", "neg"])}
    task = make(hub=write_hub(tmp_path / "o", CONFIG["config"], features | other, splits), labels=["neg", "pos"])
    with pytest.raises(ValueError, match="split train: the labels of the column label are pos, neg, not neg, pos"):
        task.prepare()


def test_the_released_folder_is_read_as_it_lies(make, tmp_path):
    train = {"neg": [EVERY_BYTE, *(b"bad %d" % i for i in range(19))], "pos": [b"good %d" % i for i in range(20)]}
    test = {"neg": [b"poor", b""], "pos": [b"\xff fine"]}
    data = write_reviews(tmp_path / "aclImdb", {"train": train, "test": test})
    task = make(data=data)
    assert task.classes == ["neg", "pos"]
    assert read_back(task, "test") == [b"poor", b"", b"\xff fine"]
    assert task.documents("test").labels.tolist() == [0, 0, 1]
    assert sorted(read_back(task, "train") + read_back(task, "validation")) == sorted(train["neg"] + train["pos"])
    assert np.bincount(task.documents("validation").labels).tolist() == [2, 2]
    (tmp_path / "aclImdb" / "test" / "pos" / "0_7.txt").write_bytes(b"changed")
    assert read_back(make(data=data), "test")[2] == b"changed"


def test_files_that_are_missing_are_named_with_how_to_get_them(make, tmp_path):
    write_reviews(tmp_path / "aclImdb", {"train": {"neg": [b"x"]}})  # half of it
    why = r"aclImdb/train\.\{parquet,.* is missing: task.data must name .* aclImdb of https://ai.stanford.*source=hub"
    with pytest.raises(FileNotFoundError, match=why):
        make(data=str(tmp_path / "aclImdb")).prepare()


def test_a_missing_text_is_refused_and_an_empty_one_is_not(make, tmp_path):
    task = make(data=write(tmp_path / "d", ["a", "", None], [0, 1, 1]))
    with pytest.raises(ValueError, match=r"^1 of 3 rows are refused; .*train\.parquet, row 3: text is missing$"):
        task.documents("train")


@pytest.mark.parametrize(("value", "kind"), [(["a", "b"], "list"), ({"a": 1}, "dict")])
def test_a_text_that_is_none_is_refused(make, tmp_path, value, kind):
    task = make(data=write(tmp_path / "d", [value, value], [0, 1]))
    why = rf"^2 of 2 rows are refused; .*train\.parquet, row 1: text holds a {kind}, not a string or bytes$"
    with pytest.raises(ValueError, match=why):
        task.documents("train")


# ------------------------------------------------------------------------------------------- reference


def test_references_see_what_the_model_sees_and_the_whole(make, tmp_path):
    """The word that tells stands after the head in three of four test texts, whose heads say the opposite."""
    told = [("good " * 3 + "x" * 60, 1), ("bad " * 3 + "x" * 60, 0)] * 6
    late = [("bad " + "y " * 40 + "good " * 9, 1), ("good " + "y " * 40 + "bad " * 9, 0), ("bad " + "y " * 40, 0)]
    data = write(tmp_path / "d", *zip(*told, strict=True), splits=("train", "validation"))
    write(tmp_path / "d", *zip(*late, ("good " + "y " * 40 + "good " * 9, 1), strict=True), splits=("test",))
    found = make(data=data).references()
    assert found == {"chance": 0.5, "majority": 0.5, "tf_idf": 0.5, "tf_idf_whole": 1.0}
    assert make(data=data, max_length=200, batch_tokens=800).references()["tf_idf"] == 1.0
    assert make(data=data).references() == found


def test_references_are_kept_and_known_by_what_decides_them(make, tmp_path, monkeypatch):
    data = write(tmp_path / "d", ["good x", "bad x"] * 4, [1, 0] * 4)
    lengths = []
    monkeypatch.setattr("longdoc.tasks.text.accuracy", lambda *args: lengths.append(args[2:]) or 0.75)
    for options in ({}, {}, {"train_rows": 3}, {"max_length": 4}, {"max_length": 4}):
        assert make(data=data, **options).references()["tf_idf"] == 0.75
    assert lengths == [(None, 64), (3, 64), (None, 4), (None, None)]  # none is cut at 64


def test_one_class_alone_is_answered_as_it_is(make, tmp_path):
    data = write(tmp_path / "d", ["x", "y", "z"], [1, 1, 0])
    assert make(data=data, train_rows=2).references()["tf_idf"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("texts", [["", ". !", "???"], ["once", "twice", "thrice"]])
def test_texts_without_words_in_common_have_no_such_reference(make, tmp_path, texts):
    found = make(data=write(tmp_path / "d", texts, [1, 0, 1])).references()
    assert set(found) == {"chance", "majority"}


def test_training_rows_of_one_class_alone_are_refused_before_training(make, tmp_path):
    data = write(tmp_path / "d", ["a", "b", "c", "d"], [0, 0, 1, 1])
    with pytest.raises(
        ValueError, match=r"^task.train_rows=2: the first 2 rows are all of one class, as of files sorted"
    ):
        make(data=data, train_rows=2).prepare_data()
    make(data=data, train_rows=3).prepare_data()
