"""The layers of an encoder, captured and analysed, against the attention that it has by definition."""

import math
from functools import partial

import pytest
import torch
from reference import classifier, linear_weights, turned

from longdoc.analysis.checkpoint import analyse_layer, capture
from longdoc.analysis.measures import causal
from longdoc.attention import FixedDecay, LinearAttention, SoftmaxAttention
from longdoc.feature_maps import Elu

N = 20
IDS = torch.arange(1, N + 1)
LINEAR = partial(LinearAttention, feature_map=Elu)


def layers(mixer, **options):
    return capture(classifier(mixer, dtype=torch.float32, **options).eval().encoder, IDS)


def test_every_layers_queries_and_keys_are_captured_and_no_hook_stays():
    model = classifier(LINEAR, dtype=torch.float32).eval()
    before = model(IDS[None])
    first, second = capture(model.encoder, IDS)
    assert first.q.shape == second.k.shape == (1, 2, N, 8)
    x = model.encoder.blocks[0].attention_norm(model.encoder.embedding(IDS[None]))
    q = model.encoder.blocks[0].attention.qkv(x).chunk(3, dim=-1)[0].unflatten(-1, (2, 8)).transpose(1, 2)
    torch.testing.assert_close(first.q, q)
    assert not any(module._forward_pre_hooks for module in model.modules())
    torch.testing.assert_close(model(IDS[None]), before)


def test_weights_of_linear_attention_are_its_features():
    for layer in layers(LINEAR):
        phi = layer.mixer.feature_map
        expected = linear_weights(phi.query(layer.q.double()), phi.key(layer.k.double()))[0]
        torch.testing.assert_close(layer.weights(), expected)
        assert next(layer.mixer.parameters(), torch.zeros(())).dtype == torch.float32  # the model itself is untouched


def test_weights_of_softmax_are_softmax():
    for number, layer in enumerate(layers(SoftmaxAttention)):
        row = analyse_layer(number, layer)
        assert row["weight"] == [pytest.approx(softmax) for softmax in row["softmax_weight"]]
        for head in row["heads"]:
            assert head["entropy"] == pytest.approx(head["softmax_entropy"])
            assert head["spearman"] == pytest.approx(1)
        assert row["uniform"] == pytest.approx(math.log(N))


def test_decay_is_in_the_weights():
    distance = (IDS[:, None] - IDS).abs()
    for layer in layers(partial(LINEAR, decay=partial(FixedDecay, shortest=2, longest=20))):
        phi = layer.mixer.feature_map
        rate = layer.mixer.decay.log_rate.double().exp()[:, None, None]
        expected = (phi.query(layer.q.double()) @ phi.key(layer.k.double()).mT)[0] * torch.exp(-rate * distance)
        torch.testing.assert_close(layer.weights(), expected / expected.sum(-1, keepdim=True), rtol=1e-5, atol=0)


def test_rotary_positions_are_in_the_weights():
    for layer in layers(SoftmaxAttention, positions="rotary"):
        q, k = (turned(side, torch.arange(N)) for side in (layer.q, layer.k))
        expected = (q @ k.mT / 8**0.5).softmax(-1)[0]
        torch.testing.assert_close(layer.weights(), expected, rtol=1e-6, atol=0)


def test_a_norm_in_place_of_the_normaliser_is_left_out():
    layer = layers(partial(LINEAR, normalizer="none"))[0]
    shares = layer.weights()
    plain = layer.mixer.feature_map.query(layer.q.double()) @ layer.mixer.feature_map.key(layer.k.double()).mT
    ratio = shares / plain[0]
    torch.testing.assert_close(ratio, ratio[..., :1].expand_as(ratio))  # the same, but for a factor a query


def test_causal_attention_is_set_beside_causal_softmax():
    row = analyse_layer(0, layers(partial(SoftmaxAttention, causal=True))[0])
    assert row["causal"]
    assert row["uniform"] == pytest.approx(sum(math.log(i + 1) for i in range(N)) / N)
    assert row["weight"] == [pytest.approx(softmax) for softmax in row["softmax_weight"]]
    assert all(head["spearman"] == pytest.approx(1) for head in row["heads"])


def test_length_of_q_plus_k_is_in_scaled_units():
    layer = layers(LINEAR)[0]
    (low, middle, high) = analyse_layer(0, layer)["heads"][1]["sum_squared"]
    pairs = (layer.q[0, 1, :, None] + layer.k[0, 1]).double().square().sum(-1).flatten() / 8**0.5
    torch.testing.assert_close(torch.tensor(middle).double(), pairs.quantile(0.5), rtol=0.05, atol=0)
    assert low == pytest.approx(pairs.quantile(0.1).item(), rel=0.05)
    assert high == pytest.approx(pairs.quantile(0.9).item(), rel=0.05)


def test_causal_of_full_weights_is_what_a_causal_mixer_gives():
    full, restricted = layers(LINEAR)[0], layers(partial(LINEAR, causal=True))[0]
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 2, N, 8)
    for layer in (full, restricted):
        layer.q, layer.k = q, k
    torch.testing.assert_close(causal(full.weights()), restricted.weights())
