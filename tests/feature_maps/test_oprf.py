"""FAVOR++: A from the moments of real tokens, at optimizer steps only."""

import math

import pytest
import torch
from feature_maps.random_maps import D

from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Favor, Oprf
from longdoc.feature_maps.theory import oprf_a

HEADS = 2
MASK = torch.tensor([[True] * 7, [True] * 3 + [False] * 4, [False] * 7])


@pytest.fixture(name="phi")
def _phi():
    return Oprf(D, HEADS).double()


def tokens(batch=3, count=7):
    """Queries and keys with means of their own."""
    q, k = torch.randn(2, batch, HEADS, count, D, dtype=torch.float64)
    return q + torch.linspace(-1, 1, D), 2 * k + torch.linspace(0, 1, D)


def forward(phi, q, k, mask=None):
    return phi.query(q, mask=mask), phi.key(k, mask=mask)


def best(q, k, mask=None):
    """A (H, 1, 1) from |q + k|² of every pair of real tokens of the batch."""
    mask = torch.ones(len(q), q.shape[2], dtype=torch.bool) if mask is None else mask
    q, k = (x.transpose(1, 2)[mask] * D**-0.25 for x in (q, k))  # (tokens, H, D)
    pairs = (q[:, None] + k[None]).square().sum(-1)
    return oprf_a(pairs.mean((0, 1)), D)[:, None, None]


def test_equals_its_formula(phi):
    phi.a.copy_(torch.tensor([-0.3, -0.02])[:, None, None])
    x, y = torch.randn(2, 2, HEADS, 3, D, dtype=torch.float64)
    features = []
    for z in (x * D**-0.25, y * D**-0.25):
        exponent = phi.a * phi.projection.square().sum(-1)[:, None]
        exponent = exponent + (1 - 4 * phi.a).sqrt() * torch.einsum("bhnd,hmd->bhnm", z, phi.projection)
        exponent = exponent - z.square().sum(-1, keepdim=True) / 2
        features.append((1 - 4 * phi.a) ** (D / 4) * exponent.exp() / math.sqrt(64))
    actual = phi.log_query(x).exp() @ phi.log_features(y).exp().mT
    torch.testing.assert_close(actual, features[0] @ features[1].mT)


def test_it_is_favor_until_the_first_step(phi):
    favor = Favor(D, HEADS).double()
    favor.load_state_dict({name: phi.state_dict()[name] for name in ("seed", "projection")})
    x = tokens()[0]
    for _ in range(2):
        assert torch.equal(phi.query(x), favor.query(x))
        assert torch.equal(phi.key(x), favor.key(x))
    phi.on_optimizer_step(1)
    assert (phi.a < 0).all()
    assert not torch.equal(phi.key(x), favor.key(x))


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_a_is_the_best_for_all_pairs_of_real_tokens(phi, mask):
    q, k = tokens()
    if mask is not None:
        q, k = (x.masked_fill(~mask[:, None, :, None], math.inf) for x in (q, k))
    forward(phi, q, k, mask)
    phi.on_optimizer_step(1)
    torch.testing.assert_close(phi.a, best(q, k, mask))
    assert phi.a[0] != phi.a[1]


def test_a_step_without_a_real_token_leaves_favor(phi):
    forward(phi, *tokens(), torch.zeros(3, 7, dtype=torch.bool))
    phi.on_optimizer_step(1)
    assert (phi.a == 0).all()


def test_a_changes_at_steps_only(phi):
    q, k = tokens()
    forward(phi, q, k)
    phi.on_optimizer_step(1)
    first = phi.a.clone()
    forward(phi, 3 * q, 3 * k)
    assert torch.equal(phi.a, first)
    phi.on_optimizer_step(2)
    assert (phi.a < first).all()


def test_evaluation_changes_nothing(phi):
    forward(phi, *tokens())
    before = {name: value.clone() for name, value in phi.state_dict().items()}
    phi.eval()
    forward(phi, *tokens())
    for name, value in phi.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_all_micro_batches_of_a_step_count(phi):
    q, k = tokens(6)
    for rows in (slice(0, 1), slice(1, 4), slice(4, 6)):
        forward(phi, q[rows], k[rows])
    phi.on_optimizer_step(1)
    torch.testing.assert_close(phi.a, best(q, k))


def test_older_steps_are_forgotten_at_the_rate_of_momentum():
    phi = Oprf(D, HEADS, momentum=0.5).double()
    q, k = tokens(2)
    for step, row in enumerate((0, 1), start=1):
        forward(phi, q[row : row + 1], k[row : row + 1])
        phi.on_optimizer_step(step)
    torch.testing.assert_close(phi.a, best(q[[0, 1, 1]], k[[0, 1, 1]]))


def test_a_strongly_negative_a_underflows_nowhere():
    """A = -2 makes A|w|² about -130 at D = 64: in float32 such features would be 0."""
    phi = Oprf(64, HEADS)
    phi.a.fill_(-2)
    q, k, v = torch.randn(3, 2, HEADS, 9, 64)
    wide = Oprf(64, HEADS).double()
    wide.load_state_dict(phi.state_dict())
    actual = linear_attention(phi.query(q), phi.key(k), v).double()
    expected = linear_attention(wide.query(q.double()), wide.key(k.double()), v.double())
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-4)


def test_compiled_once_it_gathers_and_steps_as_it_does_uncompiled(phi):
    compiled = Oprf(D, HEADS).double()
    compiled.load_state_dict(phi.state_dict())
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    call = torch.compile(lambda q, k: forward(compiled, q, k), backend=backend, fullgraph=True)
    for step in (1, 2):
        q, k = tokens()
        for actual, expected in zip(call(q, k), forward(phi, q, k), strict=True):
            torch.testing.assert_close(actual, expected)
        compiled.on_optimizer_step(step)
        phi.on_optimizer_step(step)
        for name, value in phi.state_dict().items():
            torch.testing.assert_close(compiled.state_dict()[name], value)
    assert len(graphs) == 1


@pytest.mark.parametrize("momentum", [0, -0.1, 1.5])
def test_impossible_options_are_named(momentum):
    with pytest.raises(ValueError, match=f"oprf: feature_map.momentum={momentum} must be above 0 and at most 1"):
        Oprf(D, 1, momentum=momentum)
