"""T2R."""

import pytest
import torch

from longdoc.feature_maps import T2R


def test_equals_its_formula():
    phi = T2R(3, 2, features=5).double()
    torch.nn.init.normal_(phi.bias)
    x = torch.randn(2, 2, 4, 3, dtype=torch.float64)
    assert phi.feature_dim == 5
    for head in range(2):
        expected = (x[:, head] @ phi.weight[head].T + phi.bias[5 * head : 5 * head + 5]).clamp(min=0)
        torch.testing.assert_close(phi(x)[:, head], expected, rtol=1e-12, atol=1e-14)


def test_heads_start_apart():
    first, second = T2R(3, 2).weight
    assert not torch.equal(first, second)


def test_impossible_features_are_named():
    with pytest.raises(ValueError, match=r"feature_map.features=0"):
        T2R(3, 1, features=0)
