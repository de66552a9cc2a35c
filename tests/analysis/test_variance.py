"""Measured bias and variance of random features are those of theory, and a wrong map is found."""

from functools import partial

import pytest
import torch
from reference import CONF

from longdoc.analysis.variance import COSINE, judge, measure, pair, variance
from longdoc.feature_maps import Favor, FavorHyperbolic, Oprf, Trigonometric


@pytest.mark.parametrize("sum_squared", [0.3, 8.0])
def test_pair_is_what_it_says(sum_squared):
    x, y = pair(sum_squared, 12)
    assert (x + y).square().sum().item() == pytest.approx(sum_squared)
    assert torch.cosine_similarity(x, y, dim=0).item() == pytest.approx(COSINE)
    assert x.norm().item() == pytest.approx(y.norm().item())


@pytest.mark.parametrize("kind", [Favor, FavorHyperbolic, Trigonometric, Oprf])
def test_maps_are_within_theory(kind):
    (row,) = measure(partial(kind, features=32), head_dim=8, features=32, draws=6000, points=[0.3])
    assert row["within_theory"] is True
    for projections in ("independent", "orthogonal"):
        assert abs(row[projections]["bias"]) < 4 * row[projections]["bias_error"]
    assert row["independent"]["variance"] == pytest.approx(row["formula"], rel=0.12)
    assert row["orthogonal"]["variance"] < row["formula"]


def test_favors_formula():
    (row,) = measure(partial(Favor, features=10), head_dim=8, features=10, draws=50, points=[0.3])
    assert row["formula"] == pytest.approx((2.718281828**0.3 - 1) / 10)
    assert (row["projections"], row["draws"]) == (10, 50)


class TestJudge:
    N = 20_000

    def samples(self, mean, variance):
        return mean + variance**0.5 * torch.randn(self.N, dtype=torch.float64)

    def test_accepts_what_theory_says(self):
        row = judge(self.samples(1.0, 0.04), 0.04, orthogonal=False)
        assert row["within_theory"]
        assert row["bias_error"] == pytest.approx((0.04 / self.N) ** 0.5, rel=0.05)

    def test_rejects_a_bias(self):
        assert not judge(self.samples(1.01, 0.04), 0.04, orthogonal=False)["within_theory"]

    @pytest.mark.parametrize(("measured", "orthogonal", "within"), [
        (0.03, False, False), (0.05, False, False), (0.05, True, False), (0.03, True, True),
    ])  # fmt: skip
    def test_orthogonal_projections_may_only_be_better(self, measured, orthogonal, within):
        assert judge(self.samples(1.0, measured), 0.04, orthogonal)["within_theory"] is within


def test_only_maps_that_estimate_softmax_are_measured(monkeypatch):
    monkeypatch.setattr("longdoc.analysis.variance.FEATURES", (16, 64))
    rows = list(variance(CONF, ["elu", "relu", "favor"], head_dim=8, draws=40, seed=0))
    assert {row["map"] for row in rows} == {"favor"}
    assert [row["features"] for row in rows] == [16] + [64] * 8
    assert [row["within_theory"] is None for row in rows] == [row["sum_squared"] > 0.3 for row in rows]
