"""FAVOR+ with each row in both signs."""

import math

import torch
from torch import Tensor

from longdoc.feature_maps.favor import Favor


class FavorHyperbolic(Favor):
    """phi(x) = [exp(w·x), exp(-w·x)] exp(-|x|²/2) / sqrt(2m), F = 2m (Choromanski et al., ICLR 2021, lemma 1).

    Scale and stabilisers are Favor's. The relative variance is (cosh |q + k|² - 1) / m: with as many features it is
    that of FAVOR+ times 1 - exp(-|q + k|²), so the gain is large only where FAVOR+ is good already.
    """

    per_row = 2

    def log_features(self, x: Tensor) -> Tensor:
        projected, half_square = self.project(x)
        return torch.cat([projected, -projected], dim=-1) - half_square - math.log(self.feature_dim) / 2
