"""New documents get the numbers that an evaluation gives them, whatever stands beside them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from checkpoints import write_checkpoint

import longdoc
from longdoc.evaluation import evaluate
from longdoc.prediction import predict, predictions, tokens_read
from longdoc.tasks.buckets import Span

ODD = [
    "",
    " ",
    " \r\n",
    "a",
    "a\r\nb",
    "\ufeffmarked",
    "NUL \x00 in it",
    "👩‍👩‍👧‍👦 🎉",
    "NA",
    "null",
    "007",
    "1984",
    "é" * 40,
]


@pytest.fixture(scope="module", name="checkpoint")
def _checkpoint(tmp_path_factory):
    words = ("task.max_length=32", "task.batch_tokens=2048", "task.truncation=windows", "encoder.positions=rotary")
    return write_checkpoint(tmp_path_factory.mktemp("run") / "best.ckpt", "text", *words, classes=["neg", "pos"])


@pytest.fixture(scope="module", name="loaded")
def _loaded(checkpoint):
    return longdoc.load(checkpoint)


def numbers(found):
    return np.array([list(prediction.probabilities.values()) for prediction in found])


def test_a_thousand_documents_get_what_an_evaluation_gives_them(loaded, tmp_path):
    rng = np.random.default_rng(0)
    texts = ODD + ["".join(map(chr, rng.integers(32, 400, rng.integers(0, 90)))) for _ in range(1000 - len(ODD))]
    pq.write_table(pa.table({"text": texts, "label": rng.choice(["neg", "pos"], 1000)}), tmp_path / "test.parquet")
    task = loaded.task(str(tmp_path))
    task.cache = tmp_path / "cache"
    expected = predictions(task, "test", evaluate(loaded, task, "test"))
    found = loaded.predict(texts)
    assert found == expected
    assert len({round(row["pos"], 6) for row in (prediction.probabilities for prediction in found)}) > 500


def test_neither_batches_nor_order_matter(loaded):
    texts = [*ODD, "a longer text than one of the windows, so that there are several of them to average"]
    expected = numbers(loaded.predict(texts))
    assert expected.std(0).min() > 0.01
    np.testing.assert_allclose(numbers(loaded.predict(texts[::-1]))[::-1], expected, atol=1e-5)
    alone = np.concatenate([numbers(loaded.predict([text])) for text in texts])
    np.testing.assert_allclose(alone, expected, atol=1e-5)


def test_what_was_read_is_said(loaded):
    found = loaded.predict(["", "four", "é" * 40])
    assert [(p.tokens, p.tokens_read, p.truncated) for p in found] == [(0, 0, False), (4, 4, False), (80, 80, False)]
    assert sum(found[0].probabilities.values()) == pytest.approx(1)
    assert found[0].label == max(found[0].probabilities, key=found[0].probabilities.get)


def test_a_head_is_all_that_is_read(tmp_path):
    words = ("task.max_length=32", "task.batch_tokens=256", "task.truncation=head", "encoder.positions=none")
    loaded = longdoc.load(write_checkpoint(tmp_path / "a.ckpt", "text", *words, classes=["a", "b"]))
    long = "x" * 5_000_000
    (whole, head) = loaded.predict([long, long[:32]])
    assert (whole.tokens, whole.tokens_read, whole.truncated) == (5_000_000, 32, True)
    assert whole.probabilities == head.probabilities
    (longer,) = loaded.predict([long], max_length=1000)
    assert longer.tokens_read == 1000


def test_no_documents_are_no_predictions(loaded):
    assert loaded.predict([]) == []


def test_a_text_that_is_no_list_is_one_document(loaded):
    assert loaded.predict("abc") == loaded.predict(["abc"])


def test_texts_may_come_as_a_stream(loaded):
    assert loaded.predict(iter(["one", "two"])) == loaded.predict(["one", "two"])


def test_several_labels_are_those_that_reach_their_threshold(tmp_path):
    words = ("task.max_length=32", "task.batch_tokens=256", "encoder.positions=none")
    classes = ["a", "b", "c"]
    path = write_checkpoint(tmp_path / "a.ckpt", "text", *words, classes=classes, multi_label=True)
    loaded = longdoc.load(path)
    (first,) = loaded.predict(["some text"])
    low, middle, _ = sorted(first.probabilities.values())
    loaded.thresholds = [(low + middle) / 2] * 3
    (found,) = loaded.predict(["some text"])
    assert found.probabilities == first.probabilities
    assert found.label == [name for name in classes if first.probabilities[name] > low]


@pytest.mark.parametrize("task", ["image", "listops"])
def test_a_task_without_texts_says_so(task, tmp_path):
    path = write_checkpoint(tmp_path / "a.ckpt", task, "encoder.positions=none", classes=["a", "b"])
    with pytest.raises(TypeError, match=f"task={task}.* no texts"):
        predict(longdoc.load(path), ["abc"])


def test_tokens_in_several_windows_are_read_once():
    sides = np.array([[10], [6], [0]])
    spans = [Span(0, 6, 4), Span(0, 0, 4), Span(0, 3, 2), Span(1, 0, 6), Span(2, 0, 0)]
    assert tokens_read(spans, sides).tolist() == [9, 6, 0]


def test_a_span_of_a_pair_cuts_both_documents():
    assert tokens_read([Span(0, 0, 5)], np.array([[3, 9]])).tolist() == [8]


def test_whole_documents_are_seen_at_once(loaded):
    texts = ["", "short", "x" * 50 + "y" * 60]
    found = loaded.predict(texts, whole=True)
    with torch.no_grad():
        ids = torch.tensor(np.frombuffer(texts[2].encode(), np.uint8).astype(int) + 1)
        expected = loaded.model(ids[None]).softmax(-1)[0]
    assert list(found[2].probabilities.values()) == pytest.approx(expected.tolist(), abs=1e-5)
    assert list(loaded.predict(texts)[2].probabilities.values()) != pytest.approx(expected.tolist(), abs=1e-3)
    np.testing.assert_allclose(numbers(found[:2]), numbers(loaded.predict(texts[:2])), atol=1e-5)


def test_pairs_of_texts(tmp_path):
    words = ("task.max_length=32", "task.batch_tokens=256", "encoder.positions=none")
    loaded = longdoc.load(write_checkpoint(tmp_path / "a.ckpt", "retrieval", *words, classes=["0", "1"]))
    found = loaded.predict([("one", "x" * 40), ("", ""), ("one", "two")])
    assert [(p.tokens, p.tokens_read, p.truncated) for p in found] == [(43, 35, True), (0, 0, False), (6, 6, False)]
    np.testing.assert_allclose(numbers(loaded.predict([("one", "two")])), numbers(found[2:]), atol=1e-5)
    with pytest.raises(TypeError, match="a document is a pair of strings"):
        loaded.predict(["one"])


def test_a_document_is_a_string(loaded):
    with pytest.raises(TypeError, match="a document is a string, not a float"):
        loaded.predict(["one", float("nan")])
