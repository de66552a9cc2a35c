"""FAVOR+: what it has beyond test_random_features.py and test_redraws.py."""

import math

import torch
from feature_maps.random_maps import D, estimates, pair

from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Favor
from longdoc.feature_maps.random import haar_gaussian
from longdoc.feature_maps.theory import favor_variance, orthogonal_bound

BLOCKS = 30_000


def test_equals_its_formula():
    phi = Favor(D, 2, features=5).double()
    x = torch.randn(2, 2, 3, D, dtype=torch.float64)
    z = x * D**-0.25
    expected = torch.einsum("bhnd,hmd->bhnm", z, phi.projection) - z.square().sum(-1, keepdim=True) / 2
    torch.testing.assert_close(phi.log_features(x).exp(), expected.exp() / math.sqrt(5))


def test_orthogonal_rows_save_what_is_promised():
    """Choromanski et al. 2021, theorem 2: at most the independent variance less a term; here m = D."""
    rows = haar_gaussian(BLOCKS * D, D, torch.Generator().manual_seed(5)).reshape(BLOCKS, D, D)
    x, y = pair()
    squares = (estimates(Favor, rows, x, y) / math.exp(x @ y) - 1).square()
    bound = orthogonal_bound(favor_variance((x + y).square().sum(), D), x, y, D)
    assert squares.mean() < bound + 4 * squares.std() / math.sqrt(BLOCKS)


def test_a_long_key_that_float32_can_still_weigh_is_weighed():
    """|k|²/2 = 130 in scaled units: such features are 0 in float32, unless the common constant lifts them."""
    phi = Favor(D, 1, features=64)
    q = torch.randn(1, 1, 5, D)
    k = torch.nn.functional.normalize(torch.randn(1, 1, 9, D), dim=-1) * math.sqrt(260) * D**0.25
    v = torch.randn(1, 1, 9, D)
    actual = linear_attention(phi.query(q), phi.key(k), v)
    wide = phi.double()
    expected = linear_attention(wide.query(q.double()), wide.key(k.double()), v.double())
    torch.testing.assert_close(actual.double(), expected, rtol=1e-3, atol=1e-3)
