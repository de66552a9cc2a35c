"""Decayed and causal sums in every form: quadratic = chunked = step by step, in value and gradient."""

import math

import pytest
import reference
import torch
from reference import FEATURE_MAPS, assert_agree, each, largest_tensor, random_mask, relative_error, with_gradients

from longdoc.attention import chunked
from longdoc.attention.chunked import CHUNK, chunked_sums, state_in_front
from longdoc.attention.ops import (
    NORMALIZERS,
    attend_between,
    attend_to,
    causal_linear_attention,
    gather,
    linear_attention,
    step,
)
from longdoc.attention.rotary import rotate

B, H, F, E = 2, 3, 6, 5
DECAYS = ("none", "fixed", "selective", "channel")


def features(tokens, dtype=torch.float64):
    """Non-negative q and k with zeros among them, and v of any sign."""
    q, k = torch.relu(torch.randn(2, B, H, tokens, F, dtype=dtype))
    return q, k, torch.randn(B, H, tokens, E, dtype=dtype)


def decays(kind, tokens, strongest=8.0):
    """log_decay with zeros and strong ones among them; where all is forgotten, averages are of rounding errors."""
    shape = {"none": None, "fixed": (H,), "selective": (B, H, tokens), "channel": (B, H, tokens, F)}[kind]
    if shape is None:
        return None
    rates = 0.3 * torch.randn(shape, dtype=torch.float64).abs()
    rates[torch.rand(shape) < 0.1] = 0
    rates[torch.rand(shape) < 0.05] = strongest
    return -rates


@pytest.fixture(name="group", params=[2, 3, 16])
def _group(request, monkeypatch):
    """Chunks combined at once: so few that a short sequence already needs groups of groups."""
    monkeypatch.setattr(chunked, "GROUP", request.param)


def inputs(kind, tokens, rotary=False):
    """Features and log_decay; turned numerators get none that vanish, over which they would be enormous."""
    log_decay = decays(kind, tokens, 1.0 if rotary else 8.0)
    q, k, v = features(tokens)
    q, k = (q + 0.1, k + 0.1) if rotary else (q, k)
    return [q, k, v, *([] if log_decay is None else [log_decay])]


@pytest.mark.parametrize("kind", DECAYS[1:])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("tokens", [1, 32, 75])
def test_both_directions_equal_the_quadratic_form(kind, normalizer, masked, rotary, tokens):
    mask = random_mask(B, tokens) if masked else None
    positions = torch.arange(tokens) if rotary else None
    turn = (lambda x: rotate(x, positions)) if rotary else None
    given = inputs(kind, tokens, rotary)
    actual = with_gradients(lambda q, k, v, a: linear_attention(q, k, v, mask, a, turn, normalizer), *given)
    expected = with_gradients(
        lambda q, k, v, a: reference.linear_attention(q, k, v, mask, positions, a, False, normalizer), *given
    )
    assert_agree(actual, expected)


@pytest.mark.parametrize("kind", DECAYS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("sizes", [[75], [40, 1, 34], [33] * 3])
def test_pieces_between_their_sides_equal_the_quadratic_form(kind, normalizer, rotary, sizes):
    positions = torch.arange(sum(sizes))
    q, k, v, *log_decay = inputs(kind, sum(sizes), rotary)
    pieces = []
    for span in positions.split(sizes):
        cut = [a if a.dim() == 1 else a[:, :, span] for a in log_decay]
        turn = (lambda x, span=span: rotate(x, span)) if rotary else None
        pieces.append((*(x[:, :, span] for x in (q, k, v)), cut[0] if cut else None, turn))
    behind = [{}]
    for _, k_piece, v_piece, decay, turn in reversed(pieces):
        behind.append(gather(k_piece, v_piece, behind[-1], decay, turn))
    whole, before, out = behind.pop(), {}, []
    for q_piece, k_piece, v_piece, decay, turn in pieces:
        if decay is None:
            out.append(attend_to(q_piece, whole, turn, normalizer))
            continue
        mixed, before = attend_between(q_piece, k_piece, v_piece, before, behind.pop(), whole, decay, turn, normalizer)
        out.append(mixed)
    turned = positions if rotary else None
    expected = reference.linear_attention(q, k, v, None, turned, *(log_decay or [None]), False, normalizer)
    assert_agree([torch.cat(out, dim=2)], [expected])


def test_a_state_in_front_does_not_drift_over_a_million_tokens():
    """Half-lives of a million tokens, gathered in pieces in float32, against one float64 sum."""
    tokens, rate = 2**20, torch.tensor([math.log(2) / 2**20])
    k, v = torch.rand(1, 1, tokens, 1), torch.rand(1, 1, tokens, 1)
    state = None
    for start in reversed(range(0, tokens, 2**14)):
        span = slice(start, start + 2**14)
        state = state_in_front(k[:, :, span], v[:, :, span], -rate, state)
    weighted = k.double() * torch.exp(-rate.double() * torch.arange(1, tokens + 1))[:, None]
    expected = torch.stack([(weighted * v).sum(), weighted.sum()])
    assert relative_error(state.flatten(), expected) < 1e-6


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("kind", DECAYS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize(("tokens", "chunk"), [(1, 32), (37, 4), (37, 5), (40, 1), (75, 32)])
def test_causal_equals_the_quadratic_form(kind, normalizer, masked, rotary, tokens, chunk):
    mask = random_mask(B, tokens) if masked else None
    positions = torch.arange(tokens) if rotary else None
    turn = (lambda x: rotate(x, positions)) if rotary else None
    given = inputs(kind, tokens, rotary)
    actual = with_gradients(
        lambda q, k, v, a=None: causal_linear_attention(q, k, v, mask, a, turn, normalizer, chunk=chunk)[0], *given
    )
    expected = with_gradients(
        lambda q, k, v, a=None: reference.linear_attention(q, k, v, mask, positions, a, True, normalizer), *given
    )
    assert_agree(actual, expected)


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("kind", DECAYS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 8, 64])
def test_any_chunk_gives_the_same_sums(kind, causal, chunk):
    given = [*features(45), *([] if kind == "none" else [decays(kind, 45, strongest=200.0)])]
    actual = with_gradients(
        lambda q, k, v, a=None: torch.cat(chunked_sums(q, k, v, a, causal, None, chunk)[:2], -1), *given
    )
    expected = with_gradients(lambda q, k, v, a=None: torch.cat(chunked_sums(q, k, v, a, causal)[:2], -1), *given)
    assert_agree(actual, expected)


@pytest.mark.parametrize("kind", DECAYS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("rotary", [False, True])
def test_pieces_and_single_steps_equal_the_whole(kind, normalizer, rotary):
    """Also in gradient, through the state: (q, k, v, log_decay) of one long call."""
    tokens = 41
    turn = (lambda at: lambda x: rotate(x, at)) if rotary else (lambda at: None)
    places = torch.arange(tokens)

    def pieces(sizes):
        def run(q, k, v, a=None):
            state, outs = {}, []
            for at in places.split(sizes):
                part = a if a is None or a.dim() == 1 else a[:, :, at]
                arguments = (q[:, :, at], k[:, :, at], v[:, :, at])
                if len(at) == 1:
                    out, state = step(*arguments, state, part, turn(at), normalizer)
                else:
                    out, state = causal_linear_attention(*arguments, None, part, turn(at), normalizer, state, chunk=4)
                outs.append(out)
            return torch.cat(outs, dim=2)

        return run

    given = inputs(kind, tokens, rotary)
    whole = with_gradients(
        lambda q, k, v, a=None: causal_linear_attention(q, k, v, None, a, turn(places), normalizer)[0], *given
    )
    for sizes in ([1] * tokens, [13, 1, 1, 4, 22], [40, 1]):
        assert_agree(with_gradients(pieces(sizes), *given), whole)


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
def test_outputs_do_not_depend_on_what_comes_later(factory):
    """The prefix property, with the map's own stabilisers; so too the state."""
    phi = factory(8, H).double()
    if not phi.causal:
        return
    q, k, v = torch.randn(3, B, H, 30, 8, dtype=torch.float64)
    attend = lambda n, q, k, v: causal_linear_attention(phi.query(q[:, :, :n]), phi.key(k[:, :, :n]), v[:, :, :n])  # noqa: E731
    whole, _ = attend(30, q, k, v)
    changed = [torch.cat([x[:, :, :17], 100 * torch.randn(B, H, 13, 8).double()], dim=2) for x in (q, k, v)]
    torch.testing.assert_close(attend(30, *changed)[0][:, :, :17], whole[:, :, :17], rtol=1e-10, atol=1e-10)
    short, state = attend(17, q, k, v)
    torch.testing.assert_close(short, whole[:, :, :17], rtol=1e-10, atol=1e-10)
    sums = phi.key(k[:, :, :17]).mT @ torch.cat([v, torch.ones(B, H, 30, 1)], -1)[:, :, :17]
    torch.testing.assert_close(state["sums"], sums, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", DECAYS)
def test_forward_and_backward_less_the_diagonal_are_the_whole(kind):
    """Chunked sums over both sides count each token once."""
    q, k, v = features(50)
    a = decays(kind, 50)
    both = chunked_sums(q, k, v, a)[0]
    past = chunked_sums(q, k, v, a, causal=True)[0]
    # Reversed, the decay between two tokens is that of the tokens behind the first, not before it.
    later = a if a is None or a.dim() == 1 else torch.cat([a[:, :, :1] * 0, a[:, :, 1:].flip(2)], dim=2)
    future = chunked_sums(q.flip(2), k.flip(2), v.flip(2), later, causal=True)[0].flip(2)
    own = (q * k).sum(-1, keepdim=True) * v
    torch.testing.assert_close(past + future - own, both, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", DECAYS[1:])
@pytest.mark.parametrize("causal", [False, True])
def test_a_million_tokens_are_exact_in_float32_and_linear_in_memory(kind, causal):
    """A global cumulative sum in float32 would be wrong by a fifth; an (n/C, n/C) matrix would be 4 GB."""
    tokens = 2**20
    q, k, v = torch.rand(3, 1, 1, tokens, 2)
    shape = {"fixed": (1,), "selective": (1, 1, tokens), "channel": (1, 1, tokens, 2)}[kind]
    a = -0.01 * torch.rand(shape)
    with largest_tensor() as largest:
        out = chunked_sums(q, k, v, a, causal)
    assert largest.bytes <= tokens * CHUNK * 4
    wide = chunked_sums(q.double(), k.double(), v.double(), a.double(), causal)
    for actual, expected in zip(out, wide, strict=True):
        assert relative_error(actual, expected) < 2e-6


def test_running_sums_do_not_lose_counts():
    """Plain float32 stops counting at 16.8 million."""
    one = torch.ones(1, 1, 1, 1)
    state = {"sums": torch.full((1, 1, 1, 2), 5e7).double(), "values": torch.full((1, 1, 1, 2), 5e7).double()}
    for _ in range(10):
        _, state = step(one, one, one, state)
    assert state["sums"][0, 0, 0, 1] == 5e7 + 10
    many = torch.ones(1, 1, 64, 1)
    _, state = causal_linear_attention(many, many, many, state=state)
    assert state["sums"][0, 0, 0, 1] == 5e7 + 74


def test_states_are_float64_and_as_small_after_many_tokens():
    q, k, v = features(3, torch.float32)
    _, first = step(q[:, :, :1], k[:, :, :1], v[:, :, :1], {})
    long = [torch.rand(B, H, 5_000, x.shape[-1]) for x in (q, k, v)]
    _, second = causal_linear_attention(*long, state=first)
    for name, part in second.items():
        assert part.dtype == torch.float64
        assert part.shape == first[name].shape
