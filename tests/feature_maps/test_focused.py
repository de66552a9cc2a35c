"""Focused linear attention."""

import pytest
import torch

from longdoc.feature_maps import Focused, Relu


def by_hand(u, power):
    return u.norm(dim=-1, keepdim=True) * u**power / (u**power).norm(dim=-1, keepdim=True)


@pytest.mark.parametrize("power", [1.0, 3.0, 4.5])
def test_equals_its_formula(power):
    phi = Focused(6, 2, power=power).double()
    torch.nn.init.normal_(phi.scale)
    x = torch.randn(3, 2, 9, 6, dtype=torch.float64)
    x[..., 0] = x[..., 0].abs()
    scale = (1 + phi.scale.exp()).log().view(2, 1, 6)
    torch.testing.assert_close(phi(x), by_hand((x / scale).clamp(min=0), power), rtol=1e-11, atol=1e-14)


def test_gradients_are_those_of_the_formula():
    phi = Focused(6, 2).double()
    x = torch.randn(3, 2, 9, 6, dtype=torch.float64)
    x[..., 0] = x[..., 0].abs() + 0.1
    x.requires_grad_()
    direction = torch.randn(3, 2, 9, 6, dtype=torch.float64)
    expected = by_hand((x / torch.log(torch.tensor(2.0, dtype=torch.float64))).clamp(min=0), 3)
    grads = [torch.autograd.grad((features * direction).sum(), x)[0] for features in (phi(x), expected)]
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_length_stays_and_direction_sharpens(scale):
    """Without over- or underflow of the third power in float32."""
    x = scale * torch.tensor([3.0, 4.0, 0.0, -1.0])
    u = Relu(4, 1)(x) / 0.6931472
    features = Focused(4, 1)(x[None, None, None])[0, 0, 0]
    length = torch.tensor([27.0, 64.0, 0.0, 0.0]).norm()
    torch.testing.assert_close(features / u.max(), torch.tensor([27.0, 64.0, 0, 0]) / length * 1.25)


def test_no_positive_coordinate_no_features():
    phi = Focused(4, 1)
    x = torch.tensor([[-1.0, -2.0, -3.0, -4.0], [0, 0, 0, 0]])[None, None].requires_grad_()
    features = phi(x)
    features.sum().backward()
    assert (features == 0).all()
    assert x.grad.isfinite().all()


def test_an_impossible_power_is_named():
    with pytest.raises(ValueError, match=r"feature_map.power=0.5"):
        Focused(4, 1, power=0.5)
