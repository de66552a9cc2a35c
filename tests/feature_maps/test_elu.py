"""elu(x) + 1."""

import pytest
import torch

from longdoc.feature_maps import Elu

GRID = torch.linspace(-12, 4, 1601).bfloat16()


def exact(x):
    """elu(x) + 1 in float64 without the cancellation."""
    x = x.double()
    return torch.where(x > 0, x + 1, x.exp())


def test_equals_its_formula():
    x = torch.linspace(-30, 30, 1001, dtype=torch.float64)
    torch.testing.assert_close(Elu(8, 1)(x), exact(x), rtol=1e-14, atol=0)
    torch.testing.assert_close(Elu(8, 1)(x), torch.nn.functional.elu(x) + 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("compute", [torch.float32, torch.bfloat16])
def test_negative_inputs_in_bf16_do_not_cancel(compute):
    """1 + elu(x) in bf16 is 0 at -8 and 58 % too high at -6."""
    features = Elu(8, 1)(GRID.to(compute))
    assert (features > 0).all()
    assert ((features.double() / exact(GRID) - 1).abs() < 0.02).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_slope_at_zero_is_one(dtype):
    x = torch.zeros(3, dtype=dtype, requires_grad=True)
    Elu(8, 1)(x).sum().backward()
    assert (x.grad == 1).all()


def test_gradient_equals_that_of_its_formula():
    x = torch.cat([torch.linspace(-9, -0.01, 50), torch.linspace(0.01, 9, 50)]).double().requires_grad_()
    (actual,) = torch.autograd.grad(Elu(8, 1)(x).sum(), x)
    (expected,) = torch.autograd.grad(exact(x).sum(), x)
    torch.testing.assert_close(actual, expected, rtol=1e-14, atol=0)
