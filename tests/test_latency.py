"""What one document costs: read as in an evaluation, whatever it is made of."""

import pytest
from checkpoints import write_checkpoint

from longdoc.export import load
from longdoc.latency import Reader, latency, memory_point

WORDS = ("task.max_length=32", "task.batch_tokens=256", "encoder.positions=learned")


def loaded(tmp_path, *words, task="text", **state):
    return load(write_checkpoint(tmp_path / "a.ckpt", task, *WORDS, *words, classes=["a", "b"], **state))


@pytest.mark.parametrize(
    ("truncation", "windows", "read"), [("head", 1, 32), ("head+tail", 1, 32), ("windows", 4, 100), ("none", 1, 100)]
)
def test_a_document_is_read_as_an_evaluation_reads_it(truncation, windows, read, tmp_path):
    model = loaded(tmp_path, f"task.truncation={truncation}", "encoder.positions=none")
    reader = Reader(model, model.task(), 100)
    (batch,) = reader.batches
    assert (int(batch["weight"].sum()), reader.read) == (windows, read)
    assert reader.seconds() > 0


@pytest.mark.parametrize("state", [{"multi_label": False}, {"multi_label": True}])
def test_a_pair_is_two_documents_of_that_length(state, tmp_path):
    words = ("task.path=none", "task.text=[a,b]", "interaction=full", "task.tokenizer=bytes", "task.truncation=head")
    tokenizer = {"kind": "bytes"}
    model = loaded(tmp_path, *words, task="documents", tokenizer=tokenizer, **state)
    reader = Reader(model, model.task(), 20)
    assert reader.batches[0]["ids"].shape[1:] == (2, 20)
    assert reader.read == 40


def test_a_length_that_the_model_does_not_reach_is_told_of(tmp_path):
    model = loaded(tmp_path, "task.truncation=none")
    (point,) = latency(model, model.task(), [33], ["false"], "a.ckpt")
    assert point["tokens"] == 33
    assert point["error"].startswith("a document of 33 tokens is longer than the learned position table")


def test_a_process_that_cannot_be_started_is_told_of(tmp_path):
    model = loaded(tmp_path)
    (point,) = latency(model, model.task(), [8], [str(tmp_path / "nothing")], "a.ckpt")
    assert "No such file" in point["error"]


def test_memory_grows_with_the_document(tmp_path):
    model = loaded(tmp_path, "task.truncation=none", "encoder.positions=none")
    small, large = (memory_point(model, model.task(), tokens) for tokens in (1000, 100_000))
    grown = [of["peak_bytes"] - of["idle_bytes"] for of in (small, large)]
    assert grown[1] > grown[0]
    assert grown[1] > 100_000 * 16 * 4  # one vector of float32 a token
