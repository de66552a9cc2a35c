"""A baseline as a run: the encoder's task, splits and record."""

import json

import numpy as np
import pytest
import torch
from commands import run, write_books

from longdoc.baseline_run import Texts, baseline_config, check_baseline, describe_baseline, run_baseline, score
from longdoc.baselines import Majority, TfIdf
from longdoc.calibration import fit_temperature
from longdoc.results.record import read_record
from longdoc.tasks.books import Books
from longdoc.tasks.documents import OwnDocuments
from longdoc.tasks.evidence import Evidence
from longdoc.tasks.retrieval import Retrieval


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_books(tmp_path_factory.mktemp("books"))


@pytest.fixture
def task(data):
    return Books(str(data), 300, max_length=32, batch_tokens=64, seed=0, cache=str(data / "cache"))


def test_train_fits_it_and_compare_shows_it(data, tmp_path):
    options = [f"task.data={data}", f"task.cache={data}/cache", "task.max_length=32", "task.batch_tokens=64"]
    done = run("train.py", "baseline=tfidf", "baseline.length=16", *options, "task.vocab_size=300", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("outputs/books/*_*")
    found = read_record(folder)
    assert (found["status"], found["baseline"], found["attention"]) == ("finished", "tfidf 16", None)
    assert found["metrics"].keys() >= {"val/loss", "val/accuracy", "test/loss", "test/accuracy", "test/f1_macro"}
    assert found["metrics"]["test/accuracy"] == 1.0  # the word that tells is among the first
    assert found["tokens"] == 20 * 16
    assert "encoder" not in found["config"]
    assert "by tfidf 16" in done.stdout
    assert "evaluate.py" not in done.stdout
    shown = run("scripts/compare.py", "outputs", "--json", cwd=tmp_path)
    (row,) = [row for row in json.loads(shown.stdout) if row["kind"] == "baseline"]
    assert sum(bin_["documents"] for bin_ in found["by_length"]) == 6
    assert (row["variant"], row["test/accuracy"], row["max_length"]) == ("tfidf 16", 1.0, None)


def test_what_the_encoder_would_read_is_refused():
    config = {
        "choices": {"baseline": "tfidf", "task": "books", "encoder": "small"},
        "encoder": {},
        "baseline": {"a": 1},
        "calibration": "temperature",
    }
    for override, name in (("variant=softmax", "variant"), ("encoder.width=3", "encoder"), ("~logger", "logger")):
        with pytest.raises(
            ValueError, match=rf"^{override}: baseline=tfidf trains no encoder and does not read {name};"
        ):
            baseline_config(config, [override])
    overrides = ["baseline=tfidf", "baseline.length=3", "task=text", "task.data=x", "seed=2", "+experiment=lra/text"]
    found = baseline_config(config, [*overrides, "calibration=temperature"])
    assert found == {key: config[key] for key in ("baseline", "choices", "calibration")}


def test_texts_are_the_documents_read_up_to_a_length(task, data):
    task.train_rows = 5
    assert [text[:6] for text in Texts(task, "train", None)] == ["It was"] * 5
    lengths = task.documents("test").lengths
    cut = Texts(task, "test", int(lengths.min()) + 2)
    assert [len(task.encode_texts([text])[0]) for text in cut] == np.minimum(lengths, lengths.min() + 2).tolist()
    left = np.maximum(lengths - lengths.min() - 2, 0)
    assert cut.report() == {
        "rows": 6, "empty_rows": 0, "truncated_rows": int((left > 0).sum()), "truncated_tokens": int(left.sum()),
    }  # fmt: skip
    assert cut.read.sum() == lengths.sum() - left.sum()


def test_the_majority_scores_as_the_reference_of_that_name(task):
    found = {
        "config": {"choices": {"baseline": "majority"}},
        "departures": {"optimizer.lr": [1, None]},
        "splits": task.describe(),
    }
    found |= describe_baseline(Majority(), task, found)
    run_baseline(Majority(), task, found)
    assert found["metrics"]["test/accuracy"] == task.references()["majority"]
    assert (found["baseline"], found["max_length"], found["departures"]) == ("majority", None, {})


def test_a_task_with_labels_of_tokens_is_refused(task):
    task.token_labels = True
    with pytest.raises(ValueError, match=r"^baseline=tfidf: books labels tokens; baselines answer whole documents$"):
        check_baseline("tfidf", task)


def test_documents_that_are_no_texts_are_said_to_be_none_and_have_a_majority(tmp_path):
    sizes = {"train": 8, "validation": 4, "test": 4}
    task = Evidence(sizes=sizes, max_length=16, batch_tokens=64, seed=0, cache=str(tmp_path))
    with pytest.raises(TypeError, match=r"^task=evidence has documents that are no texts"):
        list(Texts(task, "test", None))
    found = {}
    run_baseline(Majority(), task, found)
    assert found["metrics"]["test/accuracy"] == task.references()["majority"]


@pytest.fixture
def pairs(tmp_path):
    """Pairs of ten documents of each of four topics, 1 if they share it: what one document alone says nothing of."""
    rng, topics = np.random.default_rng(0), ["whale ship sea", "ball pride estate", "creature lightning", "tax law"]
    texts = [f"{topics[i % 4]} and {rng.integers(100)} more of {topics[i % 4]}" for i in range(40)]
    folder = tmp_path / "pairs"
    folder.mkdir()
    for split, rows in {"train": 200, "validation": 40, "test": 60}.items():
        chosen = rng.integers(40, size=(rows, 2))
        chosen[::2, 1] = (chosen[::2, 0] + 4 * rng.integers(10, size=len(chosen[::2]))) % 40
        lines = [{"text1": texts[a], "text2": texts[b], "label": int(a % 4 == b % 4)} for a, b in chosen.tolist()]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = {"max_length": 64, "truncation": "head", "batch_tokens": 256, "seed": 0}
    return Retrieval(str(folder), cache=str(tmp_path / "cache"), **options)


def test_pairs_are_answered_by_what_both_say(pairs):
    found = {}
    run_baseline(TfIdf(), pairs, found)
    assert found["metrics"]["test/accuracy"] > 0.95
    majority = {}
    run_baseline(Majority(), pairs, majority)
    assert majority["metrics"]["test/accuracy"] == pairs.references()["majority"]


def test_the_texts_of_pairs_come_once_each_and_are_cut_each(pairs):
    texts, documents = Texts(pairs, "test", 10), pairs.documents("test")
    known = list(texts)
    assert len(set(known)) <= len(known) == len(texts) <= 40
    assert [known[side] for side in texts.pairs[7]] == [pairs.decode(documents.ids(7, side)[:10]) for side in range(2)]
    assert texts.read.tolist() == [20] * 60
    assert texts.lengths.tolist() == documents.sides.sum(1).tolist()
    assert texts.report()["truncated_tokens"] == documents.sides.sum() - 1200


@pytest.fixture
def topics(tmp_path):
    """A word tells of a topic, in a fifth of the documents wrongly: of a rare one 0.5 is seldom reached."""
    rng, names = np.random.default_rng(0), np.array(["art", "law", "war"])
    for split, rows in {"train": 40, "validation": 30, "test": 20}.items():
        labels = rng.random((rows, 3)) < [0.6, 0.2, 0.1]
        words = labels ^ (rng.random((rows, 3)) < 0.2)
        lines = [
            {"text": "the of and " * 9 + " ".join(names[said]), "labels": names[row].tolist()}
            for row, said in zip(labels, words, strict=True)
        ]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = {"max_length": 64, "batch_tokens": 64, "seed": 0, "cache": str(tmp_path / "cache")}
    task = OwnDocuments(path=str(tmp_path), tokenizer="bytes", **options)
    task.prepare_data()
    return task


def logits_of(baseline, task, split):
    return torch.from_numpy(baseline.logits(Texts(task, split, None)))


def test_thresholds_of_many_labels_are_chosen_on_validation_as_an_encoder_s_are(topics):
    baseline, found = TfIdf(), {}
    run_baseline(baseline, topics, found)
    table = found["per_class"]
    assert table["class"] == ["art", "law", "war"]
    assert table["support"] == topics.documents("test").labels.sum(0).tolist()
    assert min(table["threshold"]) < 0.5
    usual = score(Texts(topics, "validation", None), logits_of(baseline, topics, "validation")).metrics()
    assert found["metrics"]["val/f1_macro"] > usual["f1_macro"]
    assert found["metrics"]["val/map"] == usual["map"]


def test_it_is_calibrated_as_an_encoder_is(topics):
    """One temperature from the validation split: the same answers, surer or less sure of them."""
    baseline, plain, found = TfIdf(costs=[1e4]), {}, {}
    run_baseline(baseline, topics, plain)
    run_baseline(baseline, topics, found, "temperature")
    logits, labels = logits_of(baseline, topics, "validation"), topics.documents("validation").labels
    assert found["temperature"] == fit_temperature(logits, torch.from_numpy(np.array(labels))) > 1.1
    assert plain["temperature"] == 1
    for split in ("val", "test"):
        assert found["metrics"][f"{split}/loss"] < plain["metrics"][f"{split}/loss"]
        assert found["metrics"][f"{split}/accuracy"] == plain["metrics"][f"{split}/accuracy"]
