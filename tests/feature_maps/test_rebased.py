"""ReBased."""

import torch

from longdoc.feature_maps import Rebased


def test_kernel_equals_its_formula():
    phi = Rebased(4, 2).double()
    for parameter in phi.parameters():
        torch.nn.init.normal_(parameter)
    q, k = torch.randn(2, 3, 2, 9, 4, dtype=torch.float64)
    assert phi.feature_dim == 10
    for head in range(2):
        rows = slice(4 * head, 4 * head + 4)
        turned = []
        for x, gamma, beta in ((q, phi.query_gamma, phi.query_beta), (k, phi.key_gamma, phi.key_beta)):
            x = x[:, head]
            variance = x.var(-1, correction=0, keepdim=True)
            turned.append(gamma[rows] * (x - x.mean(-1, keepdim=True)) / (variance + 1e-5).sqrt() + beta[rows])
        expected = (turned[0] @ turned[1].mT) ** 2 / 4
        torch.testing.assert_close((phi.query(q) @ phi.key(k).mT)[:, head], expected, rtol=1e-10, atol=1e-12)


def test_kernel_is_even_until_beta_moves():
    phi = Rebased(4, 2).double()
    q, k = torch.randn(2, 3, 2, 9, 4, dtype=torch.float64)
    torch.testing.assert_close(phi.query(-q), phi.query(q), rtol=1e-12, atol=0)
    torch.nn.init.normal_(phi.query_beta)
    assert ((phi.query(-q) - phi.query(q)) @ phi.key(k).mT).abs().max() > 0.1
