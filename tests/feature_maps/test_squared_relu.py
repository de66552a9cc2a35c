"""relu(x)²."""

import torch

from longdoc.feature_maps import SquaredRelu


def test_equals_its_formula():
    x = torch.tensor([-3.0, -0.0, 0.0, 0.5, 7.0])
    phi = SquaredRelu(5, 1)
    assert phi.feature_dim == 5
    assert phi(x).tolist() == [0, 0, 0, 0.25, 49]
