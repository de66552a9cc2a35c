"""What is planted is found: the passage that decides weighs most, and a page says so without markup of the text's."""

import re

import numpy as np
import pytest
import torch
from checkpoints import write_checkpoint

import longdoc
from longdoc.explanation import explain
from longdoc.explanation_page import to_page

PLAIN = "the day was long and nothing much was said of it by those who had been there "


def planted(tmp_path, *words, **state):
    """A mean of embeddings in which Z speaks for class yes, Q against it, and all else for nothing."""
    words = ("pooling=embeddings", "encoder.positions=none", "task.batch_tokens=4096", *words)
    loaded = longdoc.load(write_checkpoint(tmp_path / "a.ckpt", "text", *words, classes=["no", "yes"], **state))
    with torch.no_grad():
        loaded.model.encoder.embedding.weight.copy_(torch.randn(257, 16) * 0.1)
        direction = torch.tensor([1.0, -1.0] * 8)
        loaded.model.encoder.embedding.weight[ord("Z") + 1] = 4 * direction
        loaded.model.encoder.embedding.weight[ord("Q") + 1] = -2 * direction
        loaded.model.head.weight.copy_(torch.stack([-direction, direction]))
        loaded.model.head.bias.zero_()
    return loaded


TEXT = PLAIN * 10 + "ZZZZ ZZZZ " + PLAIN * 5 + "QQQQ " + PLAIN * 5


@pytest.mark.parametrize("state", [{}, {"multi_label": True}])
def test_the_planted_passage_weighs_most(state, tmp_path):
    found = explain(planted(tmp_path, "task.max_length=2048", **state), TEXT)
    first, second = found.top(2)
    assert found.label == "yes"
    assert "Z" in first.text
    assert first.weight > 0
    assert "Q" in second.text
    assert second.weight < 0
    assert "".join(passage.text for passage in found.passages) == TEXT
    assert found.passages[0].start == 0
    assert all(passage.text.startswith(" ") for passage in found.passages[1:])
    assert len(found.passages) <= 33


def test_the_probability_is_the_predictions(tmp_path):
    loaded = planted(tmp_path, "task.max_length=256", "task.truncation=windows")
    found, (expected,) = explain(loaded, TEXT), loaded.predict([TEXT])
    assert found.probability == pytest.approx(expected.probabilities[found.label], abs=1e-5)
    assert found.tokens == expected.tokens
    assert "Z" in found.top(1)[0].text


@pytest.mark.parametrize(("truncation", "read"), [("head", [(0, 64)]), ("head+tail", [(0, 32), (1668, 1700)])])
def test_what_was_not_read_has_no_weight(truncation, read, tmp_path):
    text = ("é" * 850)[:850]
    loaded = planted(tmp_path, "task.max_length=64", f"task.truncation={truncation}")
    passages = explain(loaded, text).passages
    assert (passages[0].start, passages[-1].end) == (read[0][0], read[-1][1])
    assert sum(passage.end - passage.start for passage in passages) == sum(end - start for start, end in read)
    assert "tokens not read]" in to_page([("a", explain(loaded, text))])


def test_whole_documents_and_empty_ones(tmp_path):
    loaded = planted(tmp_path, "task.max_length=64")
    assert "Z" in explain(loaded, TEXT, whole=True).top(1)[0].text
    assert explain(loaded, "").passages == []
    (alone,) = explain(loaded, "Z").passages
    assert (alone.start, alone.end, alone.text) == (0, 1, "Z")
    assert np.isfinite(alone.weight)


def test_the_page_shades_and_escapes(tmp_path):
    loaded = planted(tmp_path, "task.max_length=2048")
    text = "<script>alert('Z')</script> & \x00\r\n" + PLAIN + "ZZZZZZZZ " + PLAIN + "QQQQ " + PLAIN
    found = explain(loaded, text)
    page = to_page([('"><b>name', found)])
    assert "<script" not in page
    assert "<b>name" not in page
    assert "&lt;script&gt;" in page
    assert "\x00" not in page
    assert "␀" in page
    assert f"<b>yes</b>, probability {found.probability:.4f}" in page
    shaded = re.findall(r'<span class="(for|against)" style="--share: ([\d.]+)" title="([+-][\d.]+)">', page)
    assert len(shaded) == len(found.passages)
    assert [side == "for" for side, *_ in shaded] == [passage.weight >= 0 for passage in found.passages]
    assert max(float(share) for _, share, _ in shaded) == 0.6
    assert re.findall(r"(?:src|href|url)\s*[=(]", page) == []
    assert "prefers-color-scheme: dark" in page


def test_pairs_have_no_passages_of_their_own(tmp_path):
    words = ("task.max_length=32", "task.batch_tokens=256", "encoder.positions=none")
    loaded = longdoc.load(write_checkpoint(tmp_path / "a.ckpt", "retrieval", *words, classes=["0", "1"]))
    with pytest.raises(ValueError, match="task=retrieval reads pairs of documents: no passage of one decides alone"):
        explain(loaded, "a")
