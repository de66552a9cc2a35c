"""A checkpoint's task, on the run's data and on other."""

import pytest
from collections_ import write_rows
from commands import PROJECT, write_books
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from longdoc.build import build
from longdoc.export import Loaded, build_classifier, check_lengths
from longdoc.tasks.base import SPLITS
from longdoc.tasks.listops import ListOps
from longdoc.tasks.listops_language import encode, to_lra

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)


def composed(*words):
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        return OmegaConf.to_container(compose("train", list(words)), resolve=True)


def loaded(tmp_path, *words):
    task = composed(*words, f"task.cache={tmp_path}")["task"]
    plain = {"task": task, "choices": {"task": words[0].split("=")[1]}}
    return Loaded(None, plain, {"classes": [str(i) for i in range(10)], "vocab_size": 16}, step=0)


def test_a_model_of_generated_expressions_is_scored_on_files(tmp_path):
    source = "[MAX 4 [MIN 2 3 ] 9 ]"
    (tmp_path / "basic_test.tsv").write_text(f"Source\tTarget\n{to_lra(encode(source))}\t9\n")
    model = loaded(tmp_path, "task=listops")
    assert model.task().source == "generated"
    task = model.task(str(tmp_path))
    assert isinstance(task, ListOps)
    assert task.source == "local"
    documents = task.documents("test")
    assert (documents.ids(0).tolist(), documents.labels.tolist()) == (encode(source).tolist(), [9])


def test_a_model_of_a_hubs_texts_is_scored_on_files(tmp_path):
    assert loaded(tmp_path, "task=text", "task.source=hub").task(str(tmp_path)).source == "local"


def test_a_model_of_documents_is_scored_on_another_set_which_has_commits_of_its_own(tmp_path):
    words = ("task=documents", "task.path=hf:me/one", "task.config=en", "task.revision=abc")
    model = loaded(tmp_path, *words)
    for data, wanted in (("hf:me/one", ("en", "abc")), ("hf:me/two", (None, None))):
        task = model.task(data)
        assert (task.path, task.test_path, task.config, task.revision) == (data, data, *wanted)


def test_a_fold_has_its_own_test_split_of_what_it_was_dealt_from_and_all_of_another(tmp_path):
    def texts(task):
        documents = task.documents("test")
        return [task.decode(documents.ids(row)) for row in range(len(documents))]

    def rows(name, count, word):
        columns = {"text": [f"{word} {i}" for i in range(count)], "label": ["a", "b"] * (count // 2)}
        return write_rows(tmp_path / name, columns)

    path = rows("rows.csv", 30, "document")
    words = ("task.tokenizer=bytes", "task.folds=3", "task.fold=1", f"task.cache={tmp_path}")
    config = composed("task=documents", f"task.path={path}", *words)
    fold = build(config["task"])
    own = texts(fold)
    assert len(own) == 10
    plain = {"task": config["task"], "choices": {"task": "documents"}}
    model = Loaded(None, plain, fold.state, step=0, dealt=fold.pool.digest)
    assert texts(model.task()) == texts(model.task(path)) == own
    assert texts(model.task(str((tmp_path / "rows.csv").rename(tmp_path / "moved.csv")))) == own
    assert texts(model.task(rows("new.csv", 4, "new"))) == [f"new {i}" for i in range(4)]
    for split, count in {"train": 20, "validation": 4, "test": 6}.items():
        rows(f"new/{split}.csv", count, split)
    assert texts(model.task(str(tmp_path / "new"))) == [f"test {i}" for i in range(6)]

    rows("rows.csv", 28, "document")
    other = r"^task\.fold=1 was dealt from other documents than are there now"
    with pytest.raises(ValueError, match=other):
        model.task().documents("test")
    rows("rows.csv", 30, "document")
    assert texts(model.task()) == own
    with pytest.raises(ValueError, match=other):  # as of checkpoints that do not say
        Loaded(None, plain, fold.state, step=0).task().documents("test")


def test_a_task_that_reads_no_files_is_given_none(tmp_path):
    with pytest.raises(ValueError, match=r"^the task recall makes its own data and reads none from somewhere$"):
        loaded(tmp_path, "task=recall").task("somewhere")


@pytest.mark.parametrize("words", [["encoder.positions=learned"], ["feature_map=cosformer", "feature_map.length=30"]])
def test_whole_documents_that_positions_do_not_reach_are_refused_before_training(tmp_path, words):
    words = [f"task.data={write_books(tmp_path)}", f"task.cache={tmp_path}", "task.vocab_size=300", *words]
    for truncation in ("head", "none"):
        config = composed(f"task.truncation={truncation}", "task.max_length=30", *words)
        task = build(config["task"])
        model = build_classifier(config, task.vocab_size, len(task.classes))
        if truncation == "head":
            check_lengths(task, model)
            continue
        longest = max(int(task.documents(split).lengths.max()) for split in SPLITS)
        message = rf"^task.truncation=none reads whole documents, \w+ split: a document of {longest} tokens is longer"
        with pytest.raises(ValueError, match=message):
            check_lengths(task, model)
