"""Random Fourier features of the softmax kernel."""

import torch
from torch import Tensor

from longdoc.feature_maps.favor import MAX_EXPONENT
from longdoc.feature_maps.random import RandomFeatures


class Trigonometric(RandomFeatures):
    """phi(x) = exp(|x|²/2) [cos(w·x), sin(w·x)] / sqrt(m), F = 2m, x scaled by D^-1/4 (Rahimi and Recht, NeurIPS 2007;
    Choromanski et al., ICLR 2021, section 2.3).

    E[phi(q)·phi(k)] = exp(q·k / sqrt(D)); the relative variance is (cosh |q - k|² - 1) / m: exact where q = k, worst
    where softmax's weight is small.

    A query's factor exp(|q|²/2) cancels in the attention's ratio and is left out; a key's is its own and stays: no
    constant is needed, since it is >= 1, and it saturates at exp(60), beyond |k|² = 120 in scaled units.

    Features have both signs, so by nature weights are no averages: some are negative, a denominator may be near 0 or
    below it, and outputs then leave the range of the values. Of standard normal queries and keys (D = 32, m = 64, 256
    keys) three denominators in ten are not positive; of those half as long none in 40,000; twice as long, every second.
    """

    per_row = 2
    nonnegative = False
    absolute = False

    def waves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """[cos(w·x), sin(w·x)] / sqrt(m) and |x|²/2."""
        projected, half_square = self.project(x)
        waves = torch.cat([projected.cos(), projected.sin()], dim=-1)
        return waves * (self.feature_dim // 2) ** -0.5, half_square

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return self.waves(q)[0]

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        waves, half_square = self.waves(k)
        return waves * torch.exp(half_square.clamp(max=MAX_EXPONENT))
