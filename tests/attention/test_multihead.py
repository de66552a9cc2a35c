"""Heads, projections and gate, with every way to mix; half precision."""

from functools import partial

import pytest
import torch
from reference import MIXERS, each, linear, linear_attention, names, relative_error, softmax_attention

from longdoc.attention import LinearAttention, MultiHeadAttention, SoftmaxAttention
from longdoc.attention.ops import NORMALIZERS

WIDTH, HEADS = 16, 2
OPTIONS = [{}, {"gate": True}, {"rotary": True}, {"qk_norm": True}, {"head_dim": 4, "gate": True}, {"head_dim": 10}]


def by_hand(module, x, mask, positions):
    """One head after the other, from the rows of the joint projection that are its own."""
    size, mixer = module.out.in_features // HEADS, module.mixer
    inner = HEADS * size
    read = x if inner == WIDTH else x @ module.qkv.weight[2 * inner :].T
    turned = positions if module.rotary else None
    mixed = []
    for head in range(HEADS):
        parts = []
        for part, norm in enumerate((module.query_norm, module.key_norm, torch.nn.Identity())):
            rows = slice(part * inner + head * size, part * inner + (head + 1) * size)
            parts.append(norm(x @ module.qkv.weight[rows].T)[:, None])
        q, k, v = parts
        if isinstance(mixer, LinearAttention):
            phi, log_decay = mixer.feature_map, mixer.decay(read)
            if log_decay is not None:
                log_decay = log_decay[head : head + 1] if log_decay.dim() == 1 else log_decay[:, head : head + 1]
            # All heads at once, since a map may differ from head to head.
            q, k = (
                f(torch.cat([y] * HEADS, dim=1), positions, mask)[:, head : head + 1]
                for f, y in ((phi.query, q), (phi.key, k))
            )
            out = linear_attention(q, k, v, mask, turned, log_decay, mixer.causal, mixer.normalizer)
            if mixer.norm is not None:
                out = mixer.norm(out / out.detach().abs().amax(-1, keepdim=True).clamp(min=1))
            mixed.append(out[:, 0])
        else:
            window = getattr(mixer, "window", None)
            mixed.append(softmax_attention(q, k, v, mask, turned, mixer.causal, window)[:, 0])
    joined = torch.cat(mixed, dim=-1)
    if module.gate is not None:
        opening = x @ module.gate.weight.T
        joined = joined * opening * torch.sigmoid(opening)
    return joined @ module.out.weight.T


@pytest.mark.parametrize("mixer", **each(MIXERS))
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("padded", [False, True])
def test_equals_one_head_after_the_other(mixer, options, padded):
    module = MultiHeadAttention(WIDTH, HEADS, mixer, **options).double()
    x = torch.randn(2, 9, WIDTH, dtype=torch.float64)
    mask = torch.arange(9) < torch.tensor([9, 4])[:, None] if padded else None
    positions = torch.arange(9)
    torch.testing.assert_close(module(x, mask, positions), by_hand(module, x, mask, positions), rtol=1e-10, atol=1e-10)


def test_models_that_differ_in_the_mixer_differ_in_nothing_else():
    def weights(mixer):
        torch.manual_seed(4)
        module = MultiHeadAttention(WIDTH, HEADS, mixer, gate=True)
        return {name: p for name, p in module.named_parameters() if not name.startswith("mixer.")}

    first, *others = [weights(mixer) for _, mixer in MIXERS]
    for other in others:
        assert {name: p.shape for name, p in other.items()} == {name: p.shape for name, p in first.items()}


def test_heads_that_do_not_divide_the_width_are_named():
    with pytest.raises(ValueError, match=r"encoder.heads=3 .* encoder.width=16"):
        MultiHeadAttention(16, 3, SoftmaxAttention)


def test_heads_of_odd_size_cannot_turn():
    with pytest.raises(ValueError, match=r"encoder.positions=rotary .* encoder.width=14 / encoder.heads=2 is odd"):
        MultiHeadAttention(14, 2, SoftmaxAttention, rotary=True)
    with pytest.raises(ValueError, match=r"encoder.positions=rotary .* encoder.head_dim=3 is odd"):
        MultiHeadAttention(16, 2, SoftmaxAttention, rotary=True, head_dim=3)


def test_heads_of_their_own_size_change_the_projections_shapes_and_no_name():
    def shapes(**options):
        module = MultiHeadAttention(16, 4, SoftmaxAttention, gate=True, qk_norm=True, **options)
        return {name: tuple(p.shape) for name, p in module.named_parameters()}

    assert shapes() == shapes(head_dim=4)
    assert shapes(head_dim=2) == {
        "qkv.weight": (24, 16), "gate.weight": (8, 16), "out.weight": (16, 8),
        "query_norm.weight": (2,), "key_norm.weight": (2,),
    }  # fmt: skip


# -------------------------------------------------------------------------------------- half precision

HALF = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
LINEAR = [
    (name, mixer)
    for name, mixer in MIXERS
    if isinstance(module := mixer(8, 2), LinearAttention) and module.feature_map.nonnegative
]
LONG = [(f"{name}-{tokens}", (mixer, tokens)) for name, mixer in LINEAR for tokens in (1_000, 16_000, 64_000)]


def value_and_gradients(function, inputs, parameters=(), autocast=None):
    """The value, under autocast to a dtype or without, and the gradients of a fixed random projection of it.

    A random one, since errors of rounding then add up over tokens just as slowly as the gradient itself does.
    """
    inputs = [x.clone().requires_grad_() for x in inputs]
    with torch.autocast("cpu", dtype=autocast or torch.bfloat16, enabled=autocast is not None):
        out = function(*inputs)
    direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(3))
    gradients = torch.autograd.grad((out.float() * direction).sum(), [*inputs, *parameters])
    return [out.detach(), *gradients]


@HALF
@pytest.mark.parametrize("case", **each([*LONG, ("softmax-1000", (SoftmaxAttention, 1_000))]))
def test_half_precision_stays_within_two_percent_of_float32(case, dtype):
    """Sums of features leave fp16's range at a thousand tokens and bf16's 8 bits long before.

    Both sides read the same rounded inputs: relu's slope jumps where rounding turns a sign.
    """
    mixer, tokens = case
    attention = mixer(8, HEADS)
    inputs = [torch.randn(1, HEADS, tokens, 8).to(dtype) for _ in range(3)]
    attend = partial(attention, x=inputs[0].transpose(1, 2).flatten(2).float())
    actual = value_and_gradients(attend, inputs, autocast=dtype)
    expected = value_and_gradients(attend, [x.float() for x in inputs])
    assert actual[0].dtype == dtype
    for a, b in zip(actual, expected, strict=True):
        assert a.isfinite().all()
        assert relative_error(a, b) < 2e-2


@HALF
@pytest.mark.parametrize("mixer", **each([*LINEAR, ("softmax", SoftmaxAttention)]))
def test_autocast_with_projections_stays_within_two_percent_of_float32(mixer, dtype):
    # So many features that no query comes close to having none, where relu jumps to the mean.
    module = MultiHeadAttention(32, 1, mixer, gate=True)
    x = torch.randn(1, 1_000, 32)
    actual = value_and_gradients(module, [x], list(module.parameters()), autocast=dtype)
    expected = value_and_gradients(module, [x], list(module.parameters()))
    names = ["out", "x", *(name for name, _ in module.named_parameters())]
    for name, a, b in zip(names, actual, expected, strict=True):
        assert a.isfinite().all(), name
        # A slope that jumps (relu's) moves what lies before the map.
        if name not in ("x", "qkv.weight") and not name.startswith("mixer.feature_map"):
            assert relative_error(a, b) < 2e-2, name


@HALF
@pytest.mark.parametrize("mixer", **each(LINEAR))
def test_sums_of_features_run_in_float32_whatever_the_inputs(mixer, dtype):
    """The only error is that of rounding the result once."""
    q, k, v = torch.randn(3, 1, HEADS, 5_000, 8).to(dtype)
    attention = mixer(8, HEADS)
    with torch.autocast("cpu", dtype=dtype):
        x = v.transpose(1, 2).flatten(2).float()
        actual = attention(q, k, v, x)
    expected = attention.double()(q.double(), k.double(), v.double(), x.double())
    scale = max(1.0, expected.abs().max().item())  # averages are small, what a norm gives is not
    torch.testing.assert_close(actual.double(), expected, rtol=torch.finfo(dtype).eps, atol=1e-6 * scale)


# ------------------------------------------------------------------------------------ every map, every normalizer


@pytest.mark.parametrize("feature_map", names("feature_map"))
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [8, 16, 32])
def test_a_norm_in_place_of_the_sum_is_alive_in_float32(feature_map, causal, dim):
    """Lifted keys make sums whose squares overflow: a norm of them would be 0, and so all gradients."""
    attention = linear(feature_map, normalizer="none")(dim, HEADS)
    attention.causal = causal and attention.feature_map.causal
    q, k, v = torch.randn(3, 1, HEADS, 300, dim).requires_grad_()
    out = attention(q, k, v + 1, torch.zeros(1, 300, HEADS * dim))
    root = out.square().mean(-1).sqrt()
    assert root.max() < 1.001
    assert (root > 0.99).float().mean() > 0.9  # some early tokens of a causal one read next to nothing
    assert torch.autograd.grad(out.sum(), v)[0].abs().max() > 0


@pytest.mark.parametrize("feature_map", names("feature_map"))
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("decay", ["none", "fixed"])
def test_a_number_that_is_none_stays_visible(feature_map, normalizer, decay):
    """NaN in a key must not come out as the mean of the values, which looks well."""
    try:
        attention = linear(feature_map, decay, normalizer=normalizer)(8, HEADS)
    except ValueError:  # magnitude with a map whose scale is open
        assert normalizer == "magnitude"
        return
    q, k, v = torch.randn(3, 1, HEADS, 12, 8)
    k[0, 0, 2, 1] = torch.nan
    assert attention(q, k, v, torch.zeros(1, 12, HEADS * 8))[0, 0].isnan().any()


@pytest.mark.parametrize("decay", names("decay"))
def test_weights_in_half_precision_are_read_in_float32(decay):
    module = MultiHeadAttention(WIDTH, HEADS, linear(decay=decay), rotary=True).bfloat16()
    x = torch.randn(2, 9, WIDTH, dtype=torch.bfloat16)
    assert module(x, None, torch.arange(9)).isfinite().all()
