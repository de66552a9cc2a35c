"""A text that comes in pieces gets what it gets at once."""

import io

import numpy as np
import pytest
from checkpoints import write_checkpoint

import longdoc
from longdoc.streaming import BLOCK, LONGEST, cut, running
from longdoc.tasks.tokenizers import Subwords, train_bpe

TEXT = "It was a bright cold day in April, and the clocks were striking thirteen.\r\n  Größe 🎉 " * 9
CAUSAL = ("attention.causal=true", "encoder.positions=none", "task.max_length=4096", "pooling=mean")


def load(tmp_path, task, *words, **state):
    return longdoc.load(write_checkpoint(tmp_path / "a.ckpt", task, *CAUSAL, *words, classes=["a", "b"], **state))


def file(text):
    return io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8", newline="")


def numbers(found):
    return np.array([list(prediction.probabilities.values()) for prediction in found])


def test_every_so_many_bytes_it_says_what_it_says_of_so_much(tmp_path):
    loaded = load(tmp_path, "text")
    loaded.model.temperature = 10.0
    data = TEXT.encode()
    found = list(running(loaded, file(TEXT), 60))
    assert [prediction.tokens for prediction in found] == [*range(60, len(data), 60), len(data)]
    expected = loaded.predict([TEXT[:60], TEXT])
    np.testing.assert_allclose(numbers([found[0], found[-1]]), numbers(expected), atol=1e-5)
    assert abs(numbers(found)[0] - numbers(found)[-1]).max() > 0.001


def test_subwords_are_those_of_the_whole_text(tmp_path):
    tokenizer = Subwords(train_bpe([TEXT], 300))
    state = {"tokenizer": tokenizer.state, "vocab_size": tokenizer.vocab_size}
    loaded = load(tmp_path, "books", **state)
    text = TEXT * (2 * BLOCK // len(TEXT))
    (*_, last) = running(loaded, file(text), 5000)
    (expected,) = loaded.predict([text], whole=True)
    assert last.tokens == expected.tokens
    assert list(last.probabilities.values()) == pytest.approx(list(expected.probabilities.values()), abs=1e-5)


def test_pieces_end_before_white_space_and_hold_little():
    assert list(cut(file("a b c"))) == ["a b", " c"]
    endless = "x" * (LONGEST + BLOCK + 10)
    pieces = list(cut(file(endless)))
    assert "".join(pieces) == endless
    assert max(map(len, pieces)) <= LONGEST + BLOCK


def test_an_end_is_said_once_and_an_empty_text_too(tmp_path):
    loaded = load(tmp_path, "text")
    assert [prediction.tokens for prediction in running(loaded, file("abcd"), 2)] == [2, 4]
    assert list(running(loaded, file(""), 2)) == loaded.predict([""])


def test_what_cannot_stream_says_so(tmp_path):
    with pytest.raises(ValueError, match="--every 0 must be at least 1"):
        next(running(load(tmp_path, "text"), file("a"), 0))
    loaded = load(tmp_path, "text", "attention.causal=false")
    with pytest.raises(ValueError, match=r"a stream needs attention\.causal=true"):
        next(running(loaded, file("a"), 1))
