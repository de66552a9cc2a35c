"""Hedgehog."""

import torch
from reference import linear_weights

from longdoc.feature_maps import Elu, Hedgehog


def spearman(a, b):
    """Rank correlation of two tensors without ties."""
    ranks = torch.stack([x.flatten().argsort().argsort().double() for x in (a, b)])
    return torch.corrcoef(ranks)[0, 1].item()


def test_equals_its_formula():
    """Softmax of W x and of -W x, each over D features: not one softmax over both."""
    phi = Hedgehog(3, 2).double()
    torch.nn.init.normal_(phi.weight)
    x = torch.randn(2, 2, 5, 3, dtype=torch.float64)
    assert phi.feature_dim == 6
    for head in range(2):
        y = x[:, head] @ (torch.eye(3) + phi.weight[head]).T
        parts = [part.exp() / part.exp().sum(-1, keepdim=True) for part in (y, -y)]
        torch.testing.assert_close(phi(x)[:, head], torch.cat(parts, -1), rtol=1e-12, atol=0)


def test_starts_at_the_identity():
    x = torch.randn(1, 1, 4, 8)
    expected = torch.cat([x.softmax(-1), (-x).softmax(-1)], -1)
    torch.testing.assert_close(Hedgehog(8, 1)(x), expected)


def test_weights_rise_with_the_dot_product():
    """The paper's criterion, rank correlation of a query's weights with q·k: nearer to softmax's 1 than elu's."""
    q, k = 2 * torch.randn(2, 1, 1, 400, 8, dtype=torch.float64)
    dots = (q @ k.mT)[0, 0]
    mean = {}
    for phi in (Hedgehog(8, 1).double(), Elu(8, 1)):
        weights = linear_weights(phi.query(q), phi.key(k))[0, 0]
        mean[type(phi)] = sum(spearman(w, d) for w, d in zip(weights, dots, strict=True)) / len(dots)
    assert mean[Hedgehog] > 0.8 > mean[Elu]
