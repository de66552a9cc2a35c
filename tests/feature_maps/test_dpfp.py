"""DPFP-nu."""

import pytest
import torch

from longdoc.feature_maps import Dpfp


@pytest.mark.parametrize("nu", [1, 2, 5])
def test_kernel_equals_its_formula(nu):
    """The sum over a and j of r_a r_(a+j) of the query times that of the key, r = [relu(x), relu(-x)]."""
    dim = 3
    phi = Dpfp(dim, 1, nu=nu)
    q, k = torch.randn(2, dim, dtype=torch.float64)
    r, s = ([max(y, 0.0) for y in (*x.tolist(), *(-x).tolist())] for x in (q, k))
    pairs = [(a, (a + j) % (2 * dim)) for j in range(1, nu + 1) for a in range(2 * dim)]
    assert phi.feature_dim == len(pairs) == 2 * dim * nu
    expected = sum(r[a] * r[b] * s[a] * s[b] for a, b in pairs)
    assert (phi(q) @ phi(k)).item() == pytest.approx(expected, rel=1e-12)


def test_the_negative_part_enters_positively():
    """[relu(x), -relu(x)] in its place would give negative features."""
    assert Dpfp(2, 1)(torch.tensor([-2.0, 3.0])).tolist() == [0, 0, 6, 0]
    assert Dpfp(2, 1)(torch.tensor([-2.0, -3.0])).tolist() == [0, 0, 0, 6]


@pytest.mark.parametrize("nu", [0, 8])
def test_impossible_rolls_are_named(nu):
    with pytest.raises(ValueError, match=f"feature_map.nu={nu} must be from 1 to 7"):
        Dpfp(4, 1, nu=nu)
