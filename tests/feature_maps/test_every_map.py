"""What holds for every feature map of conf/."""

import pytest
import torch
from reference import FEATURE_MAPS, each, random_mask

from longdoc.models.positions import token_positions

HEADS, DIM, TOKENS = 2, 8, 7


@pytest.fixture(name="phi", params=FEATURE_MAPS, ids=[name for name, _ in FEATURE_MAPS])
def _phi(request):
    """With vectors off 0 and 1, and matrices off zero, to hide behind."""
    _, factory = request.param
    phi = factory(DIM, HEADS).double()
    with torch.no_grad():
        for parameter in phi.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return phi


@pytest.fixture(name="x")
def _x():
    return torch.randn(3, HEADS, TOKENS, DIM, dtype=torch.float64)


def test_features_have_the_announced_dimension(phi, x):
    for features in (phi.query(x), phi.key(x)):
        assert features.shape == (3, HEADS, TOKENS, phi.feature_dim)


def test_the_kernel_is_not_negative(phi, x):
    """Features may be: weights are averages if phi(q)·phi(k) >= 0."""
    kernel = phi.query(4 * x) @ phi.key(4 * torch.randn_like(x)).mT
    assert not phi.nonnegative or kernel.min() >= -1e-12 * kernel.abs().max()


@pytest.mark.parametrize("role", ["query", "key"])
def test_a_token_is_mapped_alone(phi, x, role):
    """Where keys read the whole sequence, the document is alone."""
    features = getattr(phi, role)
    whole = features(x)
    for row in range(3):
        alone = features(x[row : row + 1])
        torch.testing.assert_close(alone[0], whole[row], rtol=1e-12, atol=0)
        if role == "query" or phi.causal:
            for token in range(TOKENS):
                alone = features(x[row : row + 1, :, token : token + 1], torch.tensor([token]))
                torch.testing.assert_close(alone[0, :, 0], whole[row, :, token], rtol=1e-12, atol=0)


@pytest.mark.parametrize("role", ["query", "key"])
def test_padding_changes_no_real_token(phi, x, role):
    """A document among padding of any size, and beside others, has the features that it has alone."""
    features = getattr(phi, role)
    mask = random_mask(3, TOKENS)
    mask[1] = True
    positions = token_positions(x[:, 0, :, 0], mask)
    padded = torch.where(mask[:, None, :, None], x, 1e3 * torch.randn_like(x))
    together = features(padded, positions, mask)
    for row in range(3):
        alone = features(x[row : row + 1, :, mask[row]])
        torch.testing.assert_close(together[row, :, mask[row]], alone[0], rtol=1e-12, atol=0)


@pytest.mark.parametrize("role", ["query", "key"])
def test_an_empty_document_is_finite(phi, x, role):
    mask = torch.ones(3, TOKENS, dtype=torch.bool)
    mask[1] = False
    x.requires_grad_()
    features = getattr(phi, role)(x, token_positions(x[:, 0, :, 0], mask), mask)
    features.square().sum().backward()
    assert features.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("role", ["query", "key"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_features_and_gradients_are_finite_in_float32(phi, x, role, scale):
    phi.float()
    x = (scale * x).float().requires_grad_()
    features = getattr(phi, role)(x)
    features.sum().backward()
    assert features.dtype == torch.float32
    assert features.isfinite().all()
    for gradient in (x.grad, *(p.grad for p in phi.parameters())):
        assert gradient is None or gradient.isfinite().all()


@pytest.mark.parametrize("role", ["query", "key"])
def test_features_are_as_wide_as_their_input(phi, x, role):
    """Also where the weights are in half precision."""
    assert getattr(phi.bfloat16(), role)(x.float()).dtype == torch.float32


def test_a_compiled_graph_has_no_breaks(phi, x):
    mask = torch.ones(3, TOKENS, dtype=torch.bool)
    positions = torch.arange(TOKENS)
    for role in (phi.query, phi.key):
        torch.compiler.reset()  # or many maps' graphs of one method would reach dynamo's limit
        compiled = torch.compile(role, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(x, positions, mask), role(x, positions, mask))


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
def test_weights_are_those_of_the_state_dict(factory, x):
    """Learned or drawn, all that decides the features is in the state; the seed at construction is not."""
    first = factory(DIM, HEADS).double()
    torch.manual_seed(99)
    second = factory(DIM, HEADS).double()
    second.load_state_dict(first.state_dict())
    assert torch.equal(second.query(x), first.query(x))
    assert torch.equal(second.key(x), first.key(x))
