"""Entropy, ranks, profiles and windows against values by hand."""

import math

import pytest
import torch

from longdoc.analysis.measures import (
    causal,
    decay_profile,
    distance_profile,
    effective_window,
    entropy,
    ranks,
    spearman,
)


def softmax_weights(n, heads=1):
    return torch.randn(heads, n, n, dtype=torch.float64).softmax(-1)


class TestEntropy:
    def test_is_ln_n_where_uniform_and_0_where_one_token_is_read(self):
        n = 37
        weights = torch.stack([torch.full((n, n), 1 / n), torch.eye(n)]).double()
        uniform, single = entropy(weights)
        torch.testing.assert_close(uniform, torch.full((n,), math.log(n)).double())
        torch.testing.assert_close(single, torch.zeros(n).double())

    def test_is_the_sum_by_hand(self):
        weights = torch.tensor([[0.5, 0.25, 0.25]])
        assert entropy(weights).item() == pytest.approx(1.5 * math.log(2))

    def test_of_signed_weights_is_that_of_their_shares(self):
        weights = torch.tensor([[2.0, -1.0, 0.0]])
        assert entropy(weights).item() == pytest.approx(math.log(3) - 2 / 3 * math.log(2))


class TestSpearman:
    def test_ranks_share_the_mean_among_equals(self):
        x = torch.tensor([[30.0, 10.0, 20.0, 10.0], [1.0, 1.0, 1.0, 1.0]])
        assert ranks(x).tolist() == [[4.0, 1.5, 3.0, 1.5], [2.5] * 4]

    def test_without_ties_is_one_less_the_squared_differences(self):
        x, y = torch.randperm(20).double(), torch.randperm(20).double()
        expected = 1 - 6 * (x - y).square().sum() / (20 * (400 - 1))
        assert spearman(x.exp(), y).item() == pytest.approx(expected.item())

    def test_with_ties_is_pearson_of_the_mean_ranks(self):
        x, y = torch.tensor([1.0, 2.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0, 4.0])
        mean_ranks = torch.tensor([[1.0, 2.5, 2.5, 4.0], [1.0, 3.0, 2.0, 4.0]])
        assert spearman(x, y).item() == pytest.approx(torch.corrcoef(mean_ranks)[0, 1].item())

    def test_is_1_for_any_growing_function_and_0_for_a_constant(self):
        x = torch.randn(5, 30)
        torch.testing.assert_close(spearman(x, x.exp()), torch.ones(5).double())
        torch.testing.assert_close(spearman(x, -(x**3)), -torch.ones(5).double())
        assert spearman(x, torch.ones(5, 30)).tolist() == [0.0] * 5


class TestCausal:
    def test_is_softmax_over_the_tokens_read_so_far(self):
        scores = torch.randn(2, 9, 9, dtype=torch.float64)
        future = torch.ones(9, 9, dtype=torch.bool).triu(1)
        torch.testing.assert_close(causal(scores.softmax(-1)), scores.masked_fill(future, -math.inf).softmax(-1))

    def test_is_the_mean_where_nothing_fires(self):
        weights = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
        assert causal(weights).tolist() == [[1.0, 0.0], [0.0, 1.0]]


class TestDistance:
    def test_of_uniform_weights_is_1_everywhere(self):
        n = 50
        uniform = torch.full((2, n, n), 1 / n, dtype=torch.float64)
        for weights, is_causal in ((uniform, False), (causal(uniform), True)):
            distances, profile = distance_profile(weights, is_causal)
            assert distances[0] == 1
            assert (distances.diff() > 0).all()
            torch.testing.assert_close(profile, torch.ones_like(profile))

    def test_is_the_mean_of_the_pairs_at_that_distance(self):
        n = 8
        weights = softmax_weights(n, heads=3)
        distances, profile = distance_profile(weights)
        by_hand = {
            length: torch.cat([weights.diagonal(o, dim1=1, dim2=2).flatten() for o in (length, -length)]).mean() * n
            for length in (1, 2, 3)
        }
        assert distances[:3].tolist() == [1, 2, 3]  # the bins of half an octave hold one distance each there
        for found, length in zip(profile[:3], (1, 2, 3), strict=True):
            assert found.item() == pytest.approx(by_hand[length].item())

    def test_shows_a_weight_that_falls_with_distance(self):
        i = torch.arange(64)
        decay = 0.9 ** (i[:, None] - i).abs().double()
        _, profile = distance_profile(decay / decay.sum(-1, keepdim=True))
        assert (profile.diff() < 0).all()


class TestDecay:
    N = 400

    @pytest.mark.parametrize("gamma", [0.5, 0.9])
    def test_window_of_a_constant_decay_is_1_over_1_less_gamma(self, gamma):
        """And the weight at distance L is gamma^L, however the decay is given."""
        rate = math.log(gamma)
        expected = gamma ** torch.arange(self.N).double()
        for shape in ((2,), (3, 2, self.N), (3, 2, self.N, 5)):
            profile = decay_profile(torch.full(shape, rate, dtype=torch.float64), self.N)
            assert profile.shape == ((2, 5, self.N) if len(shape) == 4 else (2, self.N))
            torch.testing.assert_close(profile, expected.expand_as(profile))
            window = effective_window(profile)
            torch.testing.assert_close(window, torch.full_like(window, 1 / (1 - gamma)))

    def test_weight_is_at_most_gamma_to_the_distance_where_every_rate_is_at_least_that(self):
        gamma = 0.8
        log_decay = math.log(gamma) - torch.rand(1, 2, 60)
        profile = decay_profile(log_decay, 60)
        assert (profile <= gamma ** torch.arange(60).double() + 1e-12).all()

    def test_without_forgetting_the_document_is_the_window(self):
        assert effective_window(decay_profile(torch.zeros(1), 30)).item() == 30

    def test_is_the_mean_over_pairs_of_the_decay_between_them(self):
        a = -torch.rand(2, 1, 12, dtype=torch.float64)
        profile = decay_profile(a, 12)
        between = [[a[b, 0, i + 1 : i + 6].sum().exp() for i in range(12 - 5)] for b in range(2)]
        assert profile[0, 5].item() == pytest.approx(torch.tensor(between).mean().item())
