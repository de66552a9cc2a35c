"""FAVOR+: positive orthogonal random features."""

import math

import torch
from torch import Tensor

from longdoc.feature_maps.random import RandomFeatures

# The largest exponent that a key can reach. exp(60) summed over millions of keys and times any sane value
# stays far below float32's exp(88); the higher it is, the longer a key may be before all its features underflow.
MAX_EXPONENT = 60.0


class Favor(RandomFeatures):
    """phi(x) = exp(w·x - |x|²/2) / sqrt(m) with x scaled by D^-1/4 (Choromanski et al., ICLR 2021, lemma 1).

    E[phi(q)·phi(k)] = exp(q·k / sqrt(D)); the relative variance of one feature is exp(|q + k|²) - 1 in scaled
    units, so the estimate resembles softmax only while |q + k| stays small.

    Stabilisers cancel in the attention's ratio: for a query its largest exponent, for keys a constant of the
    projection, because exp(w·x - |x|²/2) <= exp(|w|²/2). So neither padding nor other documents nor the future enter.
    """

    absolute = False

    def log_features(self, x: Tensor) -> Tensor:
        """log phi(x), (B, H, N, D) -> (B, H, N, F)."""
        projected, half_square = self.project(x)
        return projected - half_square - math.log(self.feature_dim) / 2

    def log_query(self, q: Tensor) -> Tensor:
        """``log_features``, unless a map moves a factor of its keys' features over to the queries."""
        return self.log_features(q)

    def largest_exponent(self, square_norms: Tensor) -> Tensor:
        """What ``log_features`` never exceeds, from |w|², (H, 1, m)."""
        return square_norms.amax() / 2

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        exponent = self.log_query(q)
        return torch.exp(exponent - exponent.detach().amax(-1, keepdim=True))

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        bound = self.largest_exponent(self.square_norms(k.dtype))
        # Small projections leave room: there keys are lifted, and may be longer before they underflow. In large ones
        # only keys far beyond any that training makes would reach the limit.
        lifted = self.log_features(k) + (MAX_EXPONENT - bound).clamp(min=0)
        return torch.exp(lifted.clamp(max=MAX_EXPONENT))
