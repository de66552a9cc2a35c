"""FAVOR+: unbiased, orthogonal, redrawn at optimizer steps only."""

import math

import pytest
import torch
from reference import classifier

from longdoc.attention import LinearAttention
from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Favor
from longdoc.feature_maps.favor import haar_gaussian

D = 8
BLOCKS = 30_000


@pytest.fixture(name="draws", scope="module")
def _draws():
    """(BLOCKS, D, D): independent blocks of D orthogonal rows, as a projection of many features is."""
    rows = haar_gaussian(BLOCKS * D, D, torch.Generator().manual_seed(5))
    return rows.reshape(BLOCKS, D, D)


def within(samples, expected, errors=4.0):
    """The mean over axis 0 lies within so many standard errors of what is expected."""
    error = samples.std(0) / math.sqrt(len(samples))
    return ((samples.mean(0) - expected).abs() < errors * error).all()


def estimates(draws, x, y):
    """(BLOCKS,): exp(x·y) as each block of D features alone estimates it."""
    exponent = draws @ (x + y) - (x.square().sum() + y.square().sum()) / 2
    return exponent.exp().mean(1)


def pair():
    """x and y with |x| = |y| = 0.5 and |x + y|² = 0.3, small enough for variances to be measured."""
    x, y = torch.zeros(2, D, dtype=torch.float64)
    x[0] = 0.5
    cosine = 0.3 / 2 / 0.25 - 1
    y[0], y[3] = 0.5 * cosine, 0.5 * math.sqrt(1 - cosine**2)
    # Off the axes, where a wrong sign of QR would not show.
    turn = torch.linalg.qr(torch.randn(D, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0]
    return turn @ x, turn @ y


def test_rows_of_a_block_are_orthogonal(draws):
    directions = draws / draws.norm(dim=2, keepdim=True)
    gram = directions @ directions.mT
    torch.testing.assert_close(gram, torch.eye(D).double().expand_as(gram), rtol=0, atol=1e-12)


def test_norms_are_chi_distributed(draws):
    """|w|² has the mean D and the variance 2 D of a chi-square, independently of its neighbours."""
    squares = draws.square().sum(2)
    assert within(squares.flatten(), D)
    assert within((squares.flatten() - D).square(), 2 * D)
    assert within((squares[:, 0] - D) * (squares[:, 1] - D), 0)


def test_directions_are_haar_distributed(draws):
    """Each entry has the mean 0 and each row the covariance I; QR's own signs make the diagonal negative."""
    assert within(draws, 0)
    assert within(draws[:, 0, :, None] * draws[:, 0, None, :], torch.eye(D).double())


@pytest.mark.parametrize("sign", [1, -1])
def test_expectation_is_the_same_for_both_signs_of_the_diagonal(draws, sign):
    """E exp(w·z - |z|²/2) = 1 for z = ±c(1, ..., 1), where a sign bias of QR shows most."""
    z = sign * torch.full((D,), 0.25, dtype=torch.float64)
    assert within((draws @ z - z.square().sum() / 2).exp().mean(1), 1)


def test_kernel_is_unbiased(draws):
    """E phi(q)·phi(k) = exp(q·k / sqrt(D)), through the map's own log_features."""
    phi = Favor(D, 1, features=D).double()
    phi.projection, phi.feature_dim = draws.reshape(1, -1, D), BLOCKS * D
    x, y = pair()
    q, k = x * D**0.25, y * D**0.25
    products = (phi.log_features(q[None, None, None]) + phi.log_features(k[None, None, None])).exp()
    means = products.reshape(BLOCKS, D).sum(1) * BLOCKS
    assert within(means, math.exp(q @ k / math.sqrt(D)))


def test_orthogonal_features_vary_less_than_independent_ones(draws):
    """Choromanski et al. 2021, theorem 2: at most the iid variance (e^a - 1)/m less a term; here m = D."""
    x, y = pair()
    exact, a = math.exp(x @ y), (x + y).square().sum().item()
    squares = (estimates(draws, x, y) / exact - 1).square()
    variance, error = squares.mean().item(), squares.std().item() / math.sqrt(BLOCKS)
    independent = (math.exp(a) - 1) / D
    other = math.exp(-(x.square().sum() + y.square().sum()) / 2) / exact
    bound = independent - 2 * (D - 1) / (D * (D + 2)) * (1 - other) ** 2
    assert variance < bound + 4 * error
    assert variance < independent - 4 * error


def test_error_falls_with_the_root_of_the_features(draws):
    x, y = pair()
    single = estimates(draws, x, y) / math.exp(x @ y) - 1
    sizes = [2**i for i in range(8)]  # blocks joined to one estimate
    errors = [single[: BLOCKS // n * n].reshape(-1, n).mean(1).square().mean().sqrt().item() for n in sizes]
    log_m, log_error = torch.tensor(sizes).double().log(), torch.tensor(errors).double().log()
    centred = log_m - log_m.mean()
    assert -0.6 < (centred @ log_error / centred.square().sum()).item() < -0.4


@pytest.mark.parametrize("features", [3, 8, 21])
def test_any_number_of_features_is_drawn(features):
    phi = Favor(D, 2, features=features)
    assert phi.projection.shape == (2, features, D)
    block = phi.projection[0, :D] / phi.projection[0, :D].norm(dim=1, keepdim=True)
    torch.testing.assert_close(block @ block.mT, torch.eye(len(block)), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("dim", "features"), [(8, 64), (64, 16), (256, 16)])
def test_stabilisers_cancel(dim, features):
    """The attention is that of the plain exp(log_features), for small projections and for very large ones."""
    phi = Favor(dim, 2, features=features).double()
    q, k, v = torch.randn(3, 2, 2, 11, dim, dtype=torch.float64)
    plain = linear_attention(phi.log_features(q).exp(), phi.log_features(k).exp(), v)
    torch.testing.assert_close(linear_attention(phi.query(q), phi.key(k), v), plain, rtol=1e-10, atol=1e-12)


def test_gradients_see_no_stabiliser():
    phi = Favor(D, 2, features=16).double()
    q, k, v = torch.randn(3, 2, 2, 11, D, dtype=torch.float64).requires_grad_()
    direction = torch.randn(2, 2, 11, D, dtype=torch.float64)
    grads = []
    for phi_q, phi_k in ((phi.query(q), phi.key(k)), (phi.log_features(q).exp(), phi.log_features(k).exp())):
        grads.append(torch.autograd.grad((linear_attention(phi_q, phi_k, v) * direction).sum(), (q, k, v)))
    for actual, expected in zip(*grads, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dim", [8, 64, 256])
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0, 1e6])
def test_huge_keys_neither_overflow_nor_poison_gradients(dim, scale):
    attention = LinearAttention(dim, 2, lambda d, h: Favor(d, h, features=32))
    q, k = scale * torch.randn(2, 1, 2, 50, dim)
    v = torch.randn(1, 2, 50, dim)
    inputs = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    out = attention(*inputs, None)
    out.sum().backward()
    assert out.isfinite().all()
    assert out.abs().max() <= v.abs().max() * 1.001
    for x in inputs:
        assert x.grad.isfinite().all()


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


# ------------------------------------------------------------------------------------- redraws, and state


def model(seed, **favor):
    torch.manual_seed(seed)
    return classifier(lambda d, h: LinearAttention(d, h, lambda d, h: Favor(d, h, **favor)), depth=3)


def maps(module):
    return [m for m in module.modules() if isinstance(m, Favor)]


def step(module, number):
    for phi in maps(module):
        phi.on_optimizer_step(number)


def projections(module):
    return [phi.projection.clone() for phi in maps(module)]


def same(first, second):
    return [torch.equal(a, b) for a, b in zip(first, second, strict=True)]


IDS = torch.arange(1, 10)[None]


def test_projection_is_part_of_the_state():
    state = model(1).state_dict()
    assert sum(name.endswith("projection") for name in state) == 3
    assert sum(name.endswith("seed") for name in state) == 3


def test_layers_and_heads_have_projections_of_their_own():
    drawn = [head for layer in projections(model(1)) for head in layer]
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            assert not torch.equal(first, second)


def test_the_run_seed_decides_the_projection():
    assert all(same(projections(model(1)), projections(model(1))))
    assert not any(same(projections(model(1)), projections(model(2))))


def test_a_loaded_model_is_bit_equal():
    first, second = model(1), model(2)
    assert not torch.equal(first(IDS), second(IDS))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(IDS), second(IDS))


def test_other_sizes_in_a_checkpoint_are_an_error():
    with pytest.raises(RuntimeError, match="projection"):
        model(1, features=32).load_state_dict(model(1, features=64).state_dict())


def test_forwards_never_redraw():
    module = model(1, redraw_every=1)
    before = projections(module)
    module.train()
    module(IDS).sum().backward()
    module.eval()
    with torch.no_grad():
        assert torch.equal(module(IDS), module(IDS))
    assert all(same(projections(module), before))


def test_redraws_happen_at_multiples_of_redraw_every_only():
    module = model(1, redraw_every=5)
    changed = []
    for number in range(1, 13):
        before = projections(module)
        module.train()(IDS)
        module.eval()(IDS)
        assert all(same(projections(module), before))
        step(module, number)
        if not all(same(projections(module), before)):
            assert not any(same(projections(module), before))
            changed.append(number)
    assert changed == [5, 10]


def test_the_first_draw_stays_when_redraws_are_off():
    module = model(1, redraw_every=0)
    before = projections(module)
    for number in range(1, 13):
        step(module, number)
    assert all(same(projections(module), before))


def test_a_redraw_is_a_function_of_seed_and_step():
    """A run resumed at step 7, in a process with another seed, draws at 10 what the first run drew."""
    first = model(1, redraw_every=5)
    for number in range(1, 8):
        step(first, number)
    second = model(2, redraw_every=5)
    second.load_state_dict(first.state_dict())
    torch.manual_seed(77)
    for number in range(8, 11):
        step(first, number)
        torch.rand(3)
        step(second, number)
    assert all(same(projections(second), projections(first)))
    assert torch.equal(second(IDS), first(IDS))


def test_a_redraw_leaves_the_global_generator_alone():
    module = model(1, redraw_every=1)
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    step(module, 1)
    assert torch.equal(torch.rand(4), expected)


def test_a_redraw_keeps_dtype_and_storage():
    """In place, so that a compiled graph goes on reading the same memory."""
    module = model(1, redraw_every=1)
    places = [(p.data_ptr(), p.dtype) for p in (phi.projection for phi in maps(module))]
    step(module, 1)
    assert [(p.data_ptr(), p.dtype) for p in (phi.projection for phi in maps(module))] == places


def test_no_forward_computes_a_qr(monkeypatch):
    module = model(1, redraw_every=1)

    def refuse(*_, **__):
        raise AssertionError("QR in a forward")

    monkeypatch.setattr(torch.linalg, "qr", refuse)
    assert module.train()(IDS).isfinite().all()
    assert module.eval()(IDS).isfinite().all()


@pytest.mark.parametrize("options", [{"features": 0}, {"redraw_every": -1}])
def test_impossible_options_are_named(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}={next(iter(options.values()))}"):
        Favor(D, 1, **options)
