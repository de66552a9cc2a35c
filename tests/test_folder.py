"""A classifier as a folder: it says the same as the checkpoint, without it, and builds nothing but longdoc."""

import json
import shutil
import subprocess
import sys

import huggingface_hub
import pytest
import torch
from checkpoints import write_checkpoint
from huggingface_hub import ModelCard, ModelHubMixin
from results.records import made

import longdoc
from longdoc.export import Loaded
from longdoc.tasks.tokenizers import Subwords, train_bpe

METRICS = {"val/loss": 0.6, "val/accuracy": 0.5, "test/accuracy": 0.75, "test/loss": 0.5}
TEXTS = ["", "It was a bright day.", "Call me Ishmael. " * 10]


@pytest.fixture(name="loaded")
def _loaded(tmp_path):
    words = ("task.max_length=64", "task.batch_tokens=256", "encoder.positions=none", "feature_map=favor")
    path = write_checkpoint(tmp_path / "run" / "checkpoints" / "best.ckpt", "text", *words, classes=["neg", "pös"])
    record = made(selection={"checkpoint": "checkpoints/best.ckpt"}, metrics=METRICS)
    (tmp_path / "run" / "results.json").write_text(json.dumps(record))
    return longdoc.load(path)


def test_a_folder_says_what_the_checkpoint_says(loaded, tmp_path):
    loaded.thresholds, loaded.model.temperature = [0.25, 0.75], 2.0
    loaded.save(tmp_path / "deep" / "saved")
    again = longdoc.load(tmp_path / "deep" / "saved")
    assert again.predict(TEXTS) == loaded.predict(TEXTS)
    assert (again.step, again.thresholds, again.config) == (3, [0.25, 0.75], loaded.config)
    assert again.metrics == loaded.metrics == METRICS
    names = ["README.md", "config.json", "model.safetensors"]
    assert sorted(path.name for path in (tmp_path / "deep" / "saved").iterdir()) == names


def test_a_fresh_process_needs_the_folder_alone(tmp_path):
    """Of documents of one's own, whose tokenizer was trained: neither they nor the run are there any more."""
    tokenizer = Subwords(train_bpe(TEXTS, 280))
    state = {"tokenizer": tokenizer.state, "vocab_size": tokenizer.vocab_size}
    state |= {"columns": {"text": ["body"], "label": "kind"}, "multi_label": False}
    words = ("task.path=gone.csv", "task.max_length=64", "task.batch_tokens=256", "encoder.positions=none")
    path = write_checkpoint(tmp_path / "run" / "best.ckpt", "documents", *words, classes=["a", "b"], **state)
    loaded = longdoc.load(path)
    loaded.save(tmp_path / "saved")
    shutil.rmtree(tmp_path / "run")
    code = f"import longdoc; print(longdoc.load('saved').predict({TEXTS!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.stdout == f"{loaded.predict(TEXTS)}\n", done.stderr


def test_a_folder_does_not_say_where_the_training_lay(loaded, tmp_path):
    before = loaded.predict(TEXTS)
    loaded.config["task"] |= {"data": str(tmp_path / "films"), "cache": str(tmp_path / "cache"), "hub": "me/films"}
    loaded.config["resume"] = str(tmp_path / "run")
    loaded.save(tmp_path / "saved")
    assert str(tmp_path) not in (tmp_path / "saved" / "config.json").read_text()
    again = longdoc.load(tmp_path / "saved")
    assert again.predict(TEXTS) == before
    assert [again.config["task"][name] for name in ("data", "cache", "hub")] == ["films", "cache", "me/films"]
    assert loaded.config["task"]["data"] == str(tmp_path / "films")


def test_the_hubs_names_do_the_same(loaded, tmp_path):
    assert isinstance(loaded, ModelHubMixin)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "README.md").write_text("of another model")
    loaded.save_pretrained(tmp_path / "saved")
    assert "another" not in (tmp_path / "saved" / "README.md").read_text()
    again = Loaded.from_pretrained(tmp_path / "saved")
    assert again.predict(TEXTS) == loaded.predict(TEXTS)


def test_the_card_says_what_it_is(loaded, tmp_path):
    loaded.save(tmp_path)
    card = ModelCard.load(tmp_path / "README.md")
    assert (card.data.library_name, card.data.pipeline_tag) == ("longdoc", "text-classification")
    for words in (
        "`text`: one of 2 classes",
        "`neg`, `pös`",
        "| test/accuracy | 0.7500 |",
        "longdoc.load(",
        "64 tokens",
    ):
        assert words in card.text


def test_metrics_of_another_checkpoint_are_not_its_own(loaded, tmp_path):
    run = tmp_path / "run" / "checkpoints"
    (run / "best.ckpt").rename(run / "last.ckpt")
    assert longdoc.load(run / "last.ckpt").metrics == {}


def test_pushing_without_a_network_says_so_in_a_sentence(loaded, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match=r"^me/mine was not pushed \(.*\); it needs the network, and `hf auth login`$"):
        loaded.push_to_hub("me/mine")


def test_a_name_that_is_nowhere_says_so_in_a_sentence(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match=r"^nobody/nothing is not there, and the hub gave none \(.*\)$"):
        longdoc.load("nobody/nothing")
    with pytest.raises(FileNotFoundError, match=r"^runs/gone\.ckpt is not there; a run's checkpoints are in"):
        longdoc.load("runs/gone.ckpt")


def test_a_folder_builds_nothing_but_longdoc(loaded, tmp_path):
    loaded.save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["trusted"] = config["config"]["trust"] = ["os"]
    config["config"]["encoder"] = {"_target_": "os.system", "command": "touch owned"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"^_target_: os\.system is not built: only classes of longdoc are"):
        longdoc.load(tmp_path)


def test_what_is_no_saved_classifier_is_refused(loaded, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"run holds no config\.json: it is no saved classifier; a run's check"):
        longdoc.load(tmp_path / "run")
    loaded.save(tmp_path / "saved")
    good = (tmp_path / "saved" / "config.json").read_text()
    (tmp_path / "saved" / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match=r"config\.json is none of longdoc"):
        longdoc.load(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text(good.replace('"version": 1', '"version": 2'))
    with pytest.raises(ValueError, match="is a checkpoint of version 2; this longdoc reads 1"):
        longdoc.load(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text(good.replace('"width": 16', '"width": 32'))
    with pytest.raises(ValueError, match="the weights do not fit the config beside them"):
        longdoc.load(tmp_path / "saved")
    (tmp_path / "saved" / "model.safetensors").write_bytes(torch.arange(9).numpy().tobytes())
    with pytest.raises(ValueError, match=r"model\.safetensors is no safetensors file"):
        longdoc.load(tmp_path / "saved")
