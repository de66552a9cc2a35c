"""Planted evidence: each label by reading the document, and where the evidence lies."""

import numpy as np
import pytest

from longdoc.tasks.evidence import Evidence

SIZES = {"train": 3000, "validation": 20, "test": 30}
THIRDS = {"early": range(20), "middle": range(20, 40), "late": range(40, 60), "anywhere": range(60)}


@pytest.fixture(name="make")
def _make(tmp_path):
    options = {"sizes": SIZES, "max_length": 60, "batch_tokens": 240, "seed": 0, "vocab": 8, "distance": 7}
    return lambda **others: Evidence(**(options | {"cache": str(tmp_path)} | others))


def documents(task):
    """(ids, label) of each training document."""
    found = task.documents("train")
    return [(found.ids(row).tolist(), label) for row, label in enumerate(found.labels.tolist())]


@pytest.mark.parametrize("position", list(THIRDS))
@pytest.mark.parametrize("kind", ["single", "xor"])
def test_the_label_is_what_the_planted_tokens_say(make, kind, position):
    first = []
    for ids, label in documents(make(kind=kind, position=position)):
        planted = [(place, token) for place, token in enumerate(ids) if token in (1, 2)]
        first.append(planted[0][0])
        if kind == "single":
            ((_, token),) = planted
            assert label == token - 1
        else:
            (near, one), (far, other) = planted
            assert far == near + 7
            assert label == (one != other)
    room = {place for place in THIRDS[position] if kind == "single" or place < 53}
    assert set(first) == room


@pytest.mark.parametrize("kind", ["single", "xor"])
def test_classes_and_noise_are_uniform(make, kind):
    """Bounds are four standard errors."""
    task = make(kind=kind)
    assert (task.classes, task.vocab_size) == (["0", "1"], 11)
    assert abs(np.mean([label for _, label in documents(task)]) - 0.5) < 4 * 0.5 / np.sqrt(3000)
    noise = [token for ids, _ in documents(task) for token in ids if token > 2]
    shares = np.bincount(noise, minlength=11)[3:] / len(noise)
    assert (np.abs(shares - 1 / 8) < 4 * np.sqrt(1 / 8 / len(noise))).all()


def test_neither_token_of_a_xor_tells_the_label_alone(make):
    """Each of the four pairs of tokens is as frequent as the others."""
    pairs = [[token for token in ids if token in (1, 2)] for ids, _ in documents(make(kind="xor"))]
    shares = [np.mean([pair == [one, other] for pair in pairs]) for one in (1, 2) for other in (1, 2)]
    assert np.allclose(shares, 0.25, atol=4 * np.sqrt(0.25 / 3000))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kind": "and"}, r"task.kind=and is not one of single, xor"),
        ({"position": "start"}, r"task.position=start is not one of early, middle, late, anywhere"),
        ({"vocab": 0}, r"task.vocab=0 and task.distance=7 must be at least 1"),
        (
            {"kind": "xor", "position": "late", "distance": 20},
            r"task.distance=20 after late evidence does not fit into task.max_length=60; at most 19 does",
        ),
    ],
)
def test_options_that_cannot_be_met_are_named(make, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(**options)


def test_the_farthest_evidence_that_fits_is_planted(make):
    ids, _ = documents(make(kind="xor", position="late", distance=19))[0]
    assert ids[40] in (1, 2)
    assert ids[59] in (1, 2)
