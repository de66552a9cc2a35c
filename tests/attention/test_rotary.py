"""Rotary positions."""

import pytest
import torch
from reference import turned

from longdoc.attention.rotary import rotate


@pytest.mark.parametrize("dim", [2, 8, 14])
def test_equals_a_product_of_complex_numbers(dim):
    x = torch.randn(2, 3, 11, dim, dtype=torch.float64)
    positions = torch.randint(0, 5000, (11,))
    torch.testing.assert_close(rotate(x, positions), turned(x, positions), rtol=1e-10, atol=1e-10)


def test_each_document_has_positions_of_its_own():
    x = torch.randn(2, 3, 11, 8, dtype=torch.float64)
    positions = torch.randint(0, 5000, (2, 11))
    for row in range(2):
        expected = rotate(x[row : row + 1], positions[row])
        torch.testing.assert_close(rotate(x, positions)[row : row + 1], expected, rtol=0, atol=0)


@pytest.mark.parametrize("shift", [1, 17, 4000])
def test_a_product_depends_on_the_distance_only(shift):
    q, k = torch.randn(2, 1, 1, 20, 8, dtype=torch.float64)
    positions = torch.arange(20)
    here = rotate(q, positions) @ rotate(k, positions).mT
    there = rotate(q, positions + shift) @ rotate(k, positions + shift).mT
    torch.testing.assert_close(there, here, rtol=0, atol=1e-10)


def test_lengths_are_kept_and_position_zero_turns_nothing():
    x = torch.randn(1, 1, 6, 8, dtype=torch.float64)
    torch.testing.assert_close(rotate(x, torch.arange(6) * 999).norm(dim=-1), x.norm(dim=-1), rtol=1e-12, atol=0)
    assert torch.equal(rotate(x, torch.zeros(6, dtype=torch.long)), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_neighbours_far_out_differ_in_half_precision(dtype):
    """Angles in bf16 would be the same for positions 1000 to 1003."""
    x = torch.zeros(1, 1, 4, 2, dtype=dtype)
    x[..., 0] = 1
    turns = rotate(x, torch.arange(1000, 1004))[0, 0, :, 0].double()
    expected = torch.arange(1000, 1004).double().cos()
    torch.testing.assert_close(turns, expected, rtol=0, atol=0.005)


def test_an_odd_dimension_is_named():
    with pytest.raises(ValueError, match=r"even size of heads.* is 7"):
        rotate(torch.zeros(1, 1, 2, 7), torch.arange(2))
