"""What the parts say of attention whose answers are known."""

import math

import pytest
import torch
from reference import CONF, FEATURE_MAPS, linear_weights

from longdoc.analysis.cost import cost
from longdoc.analysis.parts import monotonicity, position_bias, sharpness
from longdoc.analysis.subjects import Inputs, make_mixer, make_mixers, map_names, weights
from longdoc.analysis.windows import decays, describe

INPUTS = Inputs(tokens=64, head_dim=8, heads=2, scale=1.0, seed=0)


@pytest.fixture(name="mixers", scope="module")
def _mixers():
    return make_mixers(CONF, map_names(CONF), INPUTS)


def by_map(rows):
    return {row["map"]: row for row in rows}


def test_every_map_of_conf_is_a_subject(mixers):
    assert [*mixers] == ["softmax", *sorted(name for name, _ in FEATURE_MAPS)]


def test_weights_are_those_of_the_matrix(mixers):
    q, k = INPUTS.queries_and_keys()
    softmax = (q @ k.mT / 8**0.5).softmax(-1)
    torch.testing.assert_close(weights(mixers["softmax"], q, k), softmax)
    phi = mixers["elu"].feature_map
    torch.testing.assert_close(weights(mixers["elu"], q, k), linear_weights(phi.query(q), phi.key(k)))


def test_a_map_that_cannot_be_made_is_named(monkeypatch):
    def impossible(config):
        raise ValueError("an even head dim is needed")

    monkeypatch.setattr("longdoc.analysis.subjects.build", impossible)
    with pytest.raises(ValueError, match="elu cannot be made for a head dim of 7: an even head dim is needed"):
        make_mixer(CONF, "elu", head_dim=7, heads=1, seed=0)


def test_softmax_sharpens_as_queries_grow_and_relu_does_not_see_them(mixers):
    q, k = INPUTS.queries_and_keys()
    rows = by_map(sharpness(mixers, q, k, [1.0, 8.0, 512.0]))
    assert rows["softmax"]["entropy"][-1] < 0.05
    assert rows["softmax"]["entropy"][0] > 0.7 * math.log(64)
    assert rows["relu"]["entropy"] == pytest.approx([rows["relu"]["entropy"][0]] * 3)
    assert all(max(row["entropy"]) <= math.log(64) + 1e-9 for row in rows.values())
    nonnegative = {name for name, mixer in mixers.items() if name == "softmax" or mixer.feature_map.nonnegative}
    assert all(rows[name]["negative_share"] == [0.0] * 3 for name in nonnegative)


def test_softmax_is_monotone_in_the_score_and_the_shown_curve_is_its_own(mixers):
    q, k = INPUTS.queries_and_keys()
    rows = by_map(monotonicity(mixers, q, k))
    softmax = rows["softmax"]
    assert softmax["spearman"] == pytest.approx(1)
    assert softmax["spearman_low"] == pytest.approx(1)
    assert softmax["scores"] == sorted(softmax["scores"])
    scores, shown = torch.tensor(softmax["scores"]), torch.tensor(softmax["weights"])
    torch.testing.assert_close(shown.log().diff(), scores.diff(), rtol=1e-4, atol=1e-5)  # ln w = s + const
    assert 0.2 < rows["elu"]["spearman"] < 0.9


def test_a_kernel_that_turns_back_below_minus_one_is_found():
    """1 + s + s²/2, Taylor's, falls with s there and rises beyond."""

    class Parabola(torch.nn.Module):
        def forward(self, q, k, v, x):
            s = q @ k.mT / q.shape[-1] ** 0.5
            kernel = 1 + s + s.square() / 2
            return kernel / kernel.sum(-1, keepdim=True) @ v

    (row,) = monotonicity({"parabola": Parabola()}, *INPUTS.queries_and_keys())
    assert row["spearman_low"] == pytest.approx(-1)
    assert 0.5 < row["spearman"] < 1


def test_no_position_bias_without_positions(mixers):
    q, k = INPUTS.queries_and_keys(documents=200)
    names = ("softmax", "elu")
    for row in position_bias({name: mixers[name] for name in names}, q, k):
        assert row["near_over_far"] == pytest.approx(1, abs=0.03)
        assert row["causal_near_over_far"] == pytest.approx(1, abs=0.03)


def test_a_map_that_needs_the_whole_sequence_has_no_causal_profile(mixers):
    mixers["relu"].feature_map.causal = False
    (row,) = position_bias({"relu": mixers["relu"]}, *INPUTS.queries_and_keys())
    del mixers["relu"].feature_map.causal
    assert "causal_weight" not in row


class TestWindows:
    def test_of_fixed_decay_are_those_of_its_half_lives(self):
        rows = {row["decay"]: row for row in decays(CONF, Inputs(512, 8, 2, 1.0, 0))}
        assert "none" not in rows
        gamma = 2 ** (-1 / 16)
        assert rows["fixed"]["shortest"] == pytest.approx(1 / (1 - gamma), rel=1e-6)
        assert {len(row["windows"]) for row in rows.values()} == {2}

    def test_profile_is_shown_at_its_distances(self):
        row = describe(torch.full((1,), math.log(0.5)), 100)
        assert (row["distances"][0], row["distances"][-1]) == (1, 99)
        assert row["profiles"][0] == pytest.approx([0.5**length for length in row["distances"]])
        assert row["windows"] == pytest.approx([2])


class TestCost:
    """4 n m d for the products, 4 n m for the normaliser, 4 n d m for a projection; softmax 4 n² d."""

    def test_is_the_formula(self, mixers):
        rows = by_map(cost(mixers, 8, 2))
        assert rows["elu"]["flops"] == 4 * 8 * 8 + 4 * 8
        assert rows["elu"]["crossover"] == 8 + 1
        m = mixers["favor"].feature_map.feature_dim
        assert rows["favor"]["flops"] == 4 * m * 8 + 4 * m + 4 * 8 * m
        assert rows["favor"]["crossover"] == pytest.approx(2 * m + m / 8)
        assert "softmax" not in rows
