"""PolaFormer's polarity, one sign a head."""

import pytest
import torch

from longdoc.feature_maps import Polarity


def test_kernel_equals_its_formula():
    """Products of equal signs in even heads, of opposite signs in odd ones."""
    phi = Polarity(3, 3, alpha=4.0).double()
    torch.nn.init.normal_(phi.power)
    q, k = torch.randn(2, 2, 3, 5, 3, dtype=torch.float64)
    kernel = phi.query(q) @ phi.key(k).mT
    assert phi.feature_dim == 6
    for head in range(3):
        p = 1 + 4 / (1 + (-phi.power[3 * head : 3 * head + 3]).exp())
        q_positive, q_negative, k_positive, k_negative = (x[:, head].clamp(min=0) ** p for x in (q, -q, k, -k))
        if head % 2 == 0:
            expected = q_positive @ k_positive.mT + q_negative @ k_negative.mT
        else:
            expected = q_positive @ k_negative.mT + q_negative @ k_positive.mT
        torch.testing.assert_close(kernel[:, head], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 4.0])
def test_gradients_at_zero_are_finite(alpha):
    """0^p has log 0 in the gradient of p."""
    phi = Polarity(3, 2, alpha=alpha)
    x = torch.tensor([0.0, -0.0, 2.0]).expand(1, 2, 4, 3).clone().requires_grad_()
    (phi.query(x).sum() + phi.key(x).sum()).backward()
    assert x.grad.isfinite().all()
    assert phi.power.grad.isfinite().all()


def test_a_negative_alpha_is_named():
    with pytest.raises(ValueError, match=r"feature_map.alpha=-1"):
        Polarity(3, 1, alpha=-1.0)
