"""What holds for every feature map of conf/."""

import pytest
import torch
from reference import FEATURE_MAPS, each

HEADS, DIM = 2, 8


@pytest.fixture(name="phi", params=FEATURE_MAPS, ids=[name for name, _ in FEATURE_MAPS])
def _phi(request):
    _, factory = request.param
    return factory(DIM, HEADS).double()


@pytest.fixture(name="x")
def _x():
    return torch.randn(3, HEADS, 7, DIM, dtype=torch.float64)


def test_features_have_the_announced_dimension(phi, x):
    for features in (phi.query(x), phi.key(x)):
        assert features.shape == (3, HEADS, 7, phi.feature_dim)


def test_products_of_a_map_that_calls_itself_nonnegative_are(phi, x):
    products = phi.query(4 * x) @ phi.key(4 * x).mT
    assert products.min() >= 0 or not phi.nonnegative


@pytest.mark.parametrize("role", ["query", "key"])
def test_a_token_is_mapped_alone(phi, x, role):
    features = getattr(phi, role)
    whole = features(x)
    for row in range(3):
        for token in range(7):
            alone = features(x[row : row + 1, :, token : token + 1])
            torch.testing.assert_close(alone[0, :, 0], whole[row, :, token], rtol=1e-12, atol=0)


@pytest.mark.parametrize("role", ["query", "key"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_features_and_gradients_are_finite_in_float32(phi, x, role, scale):
    x = (scale * x).float().requires_grad_()
    features = getattr(phi.float(), role)(x)
    features.sum().backward()
    assert features.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
def test_weights_are_those_of_the_state_dict(factory, x):
    """Learned or drawn, all that decides the features is in the state; the seed at construction is not."""
    first = factory(DIM, HEADS).double()
    torch.manual_seed(99)
    second = factory(DIM, HEADS).double()
    second.load_state_dict(first.state_dict())
    assert torch.equal(second.query(x), first.query(x))
    assert torch.equal(second.key(x), first.key(x))
