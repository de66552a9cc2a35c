"""Random features in a model: drawn from the run's seed, part of the state, redrawn at optimizer steps only."""

import pytest
import torch
from feature_maps.random_maps import RANDOM
from reference import classifier

from longdoc.attention import LinearAttention
from longdoc.feature_maps.random import RandomFeatures

IDS = torch.arange(1, 10)[None]


@pytest.fixture(name="model", params=[factory for _, factory in RANDOM], ids=[name for name, _ in RANDOM])
def _model(request):
    def model(seed, **options):
        torch.manual_seed(seed)
        return classifier(lambda d, h: LinearAttention(d, h, lambda d, h: request.param(d, h, **options)), depth=3)

    return model


def maps(module):
    return [m for m in module.modules() if isinstance(m, RandomFeatures)]


def step(module, number):
    for phi in maps(module):
        phi.on_optimizer_step(number)


def projections(module):
    return [phi.projection.clone() for phi in maps(module)]


def same(first, second):
    return [torch.equal(a, b) for a, b in zip(first, second, strict=True)]


def test_projection_is_part_of_the_state(model):
    state = model(1).state_dict()
    assert sum(name.endswith("projection") for name in state) == 3
    assert sum(name.endswith("seed") for name in state) == 3


def test_layers_and_heads_have_projections_of_their_own(model):
    drawn = [head for layer in projections(model(1)) for head in layer]
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            assert not torch.equal(first, second)


def test_the_run_seed_decides_the_projection(model):
    assert all(same(projections(model(1)), projections(model(1))))
    assert not any(same(projections(model(1)), projections(model(2))))


def test_a_loaded_model_is_bit_equal(model):
    first, second = model(1), model(2)
    assert not torch.equal(first(IDS), second(IDS))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(IDS), second(IDS))


def test_other_sizes_in_a_checkpoint_are_an_error(model):
    with pytest.raises(RuntimeError, match="projection"):
        model(1, features=32).load_state_dict(model(1, features=64).state_dict())


def test_forwards_never_redraw(model):
    module = model(1, redraw_every=1)
    before = projections(module)
    module.train()
    module(IDS).sum().backward()
    module.eval()
    with torch.no_grad():
        assert torch.equal(module(IDS), module(IDS))
    assert all(same(projections(module), before))


def test_redraws_happen_at_multiples_of_redraw_every_only(model):
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


def test_the_first_draw_stays_when_redraws_are_off(model):
    module = model(1, redraw_every=0)
    before = projections(module)
    for number in range(1, 13):
        step(module, number)
    assert all(same(projections(module), before))


def test_a_redraw_is_a_function_of_seed_and_step(model):
    """A run resumed at step 7, in a process with another seed, goes on as the first run does and draws at 10 alike."""
    first = model(1, redraw_every=5)
    for number in range(1, 8):
        first(IDS)
        step(first, number)
    first(IDS)
    second = model(2, redraw_every=5)
    second.load_state_dict(first.state_dict())
    torch.manual_seed(77)
    for number in range(8, 11):
        first(IDS)
        step(first, number)
        torch.rand(3)
        second(IDS)
        step(second, number)
    assert all(same(first.state_dict().values(), second.state_dict().values()))
    assert torch.equal(second.eval()(IDS), first.eval()(IDS))


def test_a_redraw_leaves_the_global_generator_alone(model):
    module = model(1, redraw_every=1)
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    step(module, 1)
    assert torch.equal(torch.rand(4), expected)


def test_a_step_keeps_dtype_and_storage(model):
    """In place, so that a compiled graph goes on reading the same memory."""
    module = model(1, redraw_every=1)
    places = [(buffer.data_ptr(), buffer.dtype) for buffer in module.buffers()]
    module(IDS)
    step(module, 1)
    assert [(buffer.data_ptr(), buffer.dtype) for buffer in module.buffers()] == places


def test_no_forward_computes_a_qr(model, monkeypatch):
    module = model(1, redraw_every=1)

    def refuse(*_, **__):
        raise AssertionError("QR in a forward")

    monkeypatch.setattr(torch.linalg, "qr", refuse)
    assert module.train()(IDS).isfinite().all()
    assert module.eval()(IDS).isfinite().all()
