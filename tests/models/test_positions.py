"""Where a token stands, and the additive ways to say so."""

import math

import pytest
import torch
from reference import MIXERS, classifier

from longdoc.models.positions import (
    LearnedPositions,
    SinusoidalPositions,
    additive_positions,
    token_positions,
)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([1, 1, 1, 0, 0], [0, 1, 2]),
        ([0, 0, 1, 1, 1], [0, 1, 2]),
        ([0, 1, 1, 1, 0], [0, 1, 2]),
        ([1, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
        ([0, 0, 0, 0, 1], [0]),
    ],
)
def test_padding_on_either_side_moves_no_token(mask, expected):
    mask = torch.tensor([mask]).bool()
    positions = token_positions(torch.zeros(mask.shape, dtype=torch.long), mask)
    assert positions[mask].tolist() == expected
    assert positions.min() >= 0
    assert positions.max() < mask.sum()  # padding asks for no position of its own


def test_positions_without_padding_are_shared():
    assert token_positions(torch.zeros(3, 4, dtype=torch.long), None).tolist() == [0, 1, 2, 3]


def test_sinusoids_equal_their_formula():
    """Vaswani et al. 2017, section 3.5: sin and cos of position / 10000^(2i/M), here sines first."""
    width = 12
    actual = SinusoidalPositions(width)(torch.tensor([0, 1, 7, 500, 4095])) / 0.02
    for row, position in zip(actual, [0, 1, 7, 500, 4095], strict=True):
        angles = [position / 10_000 ** (2 * i / width) for i in range(width // 2)]
        expected = [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
        assert row.tolist() == pytest.approx(expected, abs=1e-3 if position > 1000 else 1e-4)


def test_sinusoids_tell_neighbours_apart_far_out():
    far = torch.arange(1_000_000, 1_000_004)
    rows = SinusoidalPositions(16)(far) / 0.02
    first = rows[:, 0].double()
    torch.testing.assert_close(first, far.double().sin(), rtol=0, atol=1e-3)


def test_a_document_longer_than_the_table_is_an_error():
    model = classifier(MIXERS[0][1], "learned", max_length=12)
    message = r"a document of 13 tokens is longer than the learned position table of 12; cut it, or train with enc"
    with pytest.raises(ValueError, match=message):
        model(torch.ones(1, 13, dtype=torch.long))
    mask = torch.arange(20) < torch.tensor([[13], [3]])
    with pytest.raises(ValueError, match=message):
        model(torch.ones(2, 20, dtype=torch.long), mask)


def test_padding_may_be_longer_than_the_table():
    table = LearnedPositions(4, 12)
    mask = torch.arange(20) < torch.tensor([[12], [3]])
    rows = table(token_positions(torch.zeros(2, 20, dtype=torch.long), mask))
    assert torch.equal(rows[0, :12], table.table.weight)
    assert torch.equal(rows[1, :3], table.table.weight[:3])


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "rotary"])
def test_the_others_know_no_longest_document(positions):
    model = classifier(MIXERS[0][1], positions, max_length=12)
    assert model(torch.ones(1, 50, dtype=torch.long)).isfinite().all()


def test_an_unknown_kind_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"encoder.positions=sinus is not one of none, learned, sinusoidal, rotary"):
        additive_positions("sinus", 8, 8)
    with pytest.raises(ValueError, match=r"encoder.positions=sinus"):
        classifier(MIXERS[0][1], "sinus")


def test_an_odd_width_is_named():
    with pytest.raises(ValueError, match=r"even encoder.width, not 7"):
        SinusoidalPositions(7)
