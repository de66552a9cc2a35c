"""relu(x)."""

import pytest
import torch

from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Relu


def test_equals_its_formula():
    x = torch.tensor([-3.0, -0.0, 0.0, 0.5, 7.0])
    assert Relu(5, 1)(x).tolist() == [0, 0, 0, 0.5, 7]


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1e4])
def test_weights_do_not_see_the_length_of_a_query(scale):
    phi = Relu(8, 2)
    q, k, v = torch.randn(3, 2, 2, 9, 8, dtype=torch.float64)
    expected = linear_attention(phi.query(q), phi.key(k), v)
    torch.testing.assert_close(linear_attention(phi.query(scale * q), phi.key(k), v), expected, rtol=1e-12, atol=0)


def test_a_query_without_a_feature_reads_the_mean():
    phi = Relu(4, 1)
    q = -torch.rand(1, 1, 3, 4, dtype=torch.float64) - 0.1
    k, v = torch.randn(2, 1, 1, 3, 4, dtype=torch.float64)
    out = linear_attention(phi.query(q), phi.key(k), v)
    torch.testing.assert_close(out, v.mean(2, keepdim=True).expand_as(v), rtol=1e-14, atol=1e-14)
