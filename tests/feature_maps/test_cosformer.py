"""cosFormer: relu(q)·relu(k) cos(pi (i - j) / 2M)."""

import math

import pytest
import torch

from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Cosformer


@pytest.mark.parametrize("start", [0, 13])
@pytest.mark.parametrize("rows", [False, True])
def test_kernel_equals_its_formula(start, rows):
    phi = Cosformer(4, 2, length=20)
    assert phi.feature_dim == 8
    q, k = torch.randn(2, 3, 2, 7, 4, dtype=torch.float64)
    positions = torch.arange(start, start + 7)
    given = positions.expand(3, 7) if rows else positions
    actual = phi.query(q, given) @ phi.key(k, given).mT
    distance = (positions[:, None] - positions[None]).double()
    expected = q.relu() @ k.relu().mT * torch.cos(math.pi / 2 * distance / 20)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)
    assert expected.min() >= 0


def test_padding_on_either_side_does_not_matter():
    """The horizon is ``length``, not the longest document of the batch."""
    phi = Cosformer(4, 2, length=32)
    q, k, v = torch.randn(3, 1, 2, 5, 4, dtype=torch.float64)
    alone = linear_attention(phi.query(q), phi.key(k), v)
    mask = torch.zeros(1, 31, dtype=torch.bool)
    mask[:, 9:14] = True
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    padded = [torch.full((1, 2, 31, 4), 50.0, dtype=torch.float64) for _ in range(3)]
    for whole, part in zip(padded, (q, k, v), strict=True):
        whole[:, :, 9:14] = part
    phi_q, phi_k = (phi.query(padded[0], positions, mask), phi.key(padded[1], positions, mask))
    actual = linear_attention(phi_q, phi_k, padded[2], mask)[:, :, 9:14]
    torch.testing.assert_close(actual, alone, rtol=1e-12, atol=1e-14)


def test_a_document_beyond_the_length_is_an_error():
    phi = Cosformer(4, 1, length=6)
    x = torch.randn(1, 1, 9, 4)
    for role in (phi.query, phi.key):
        with pytest.raises(ValueError, match=r"a document of 9 tokens is longer than feature_map.length=6"):
            role(x)
    assert phi.key(x, torch.arange(9).clamp(max=5)).isfinite().all()  # padding may be longer


def test_an_impossible_length_is_named():
    with pytest.raises(ValueError, match=r"feature_map.length=0"):
        Cosformer(4, 1, length=0)
