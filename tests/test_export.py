"""A checkpoint's task, on the run's data and on other."""

import pytest
from commands import PROJECT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from longdoc.export import Loaded
from longdoc.tasks.listops import ListOps
from longdoc.tasks.listops_language import encode, to_lra

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)
OmegaConf.register_new_resolver("longdoc.run_name", lambda *_: "run", replace=True)


def loaded(tmp_path, *words):
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        config = compose("train", [*words, f"task.cache={tmp_path}"])
    plain = {"task": OmegaConf.to_container(config.task, resolve=True), "choices": {"task": words[0].split("=")[1]}}
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


def test_a_task_that_reads_no_files_is_given_none(tmp_path):
    with pytest.raises(ValueError, match=r"^the task recall makes its own data and reads none from somewhere$"):
        loaded(tmp_path, "task=recall").task("somewhere")
