"""FAVOR++: positive random features whose variance is least for the data."""

import math

import torch
from torch import Tensor

from longdoc.feature_maps.favor import Favor
from longdoc.feature_maps.theory import oprf_a


class Oprf(Favor):
    """phi(x) = d exp(A|w|² + B w·x - |x|²/2) / sqrt(m), B = sqrt(1 - 4A), d = (1 - 4A)^(D/4), x scaled by D^-1/4
    (Likhosherstov et al., "Chefs' Random Tables", NeurIPS 2022: optimal positive random features).

    E[phi(q)·phi(k)] = exp(q·k / sqrt(D)) for any A < 1/8, with the variance ``theory.oprf_variance``: bounded features,
    hence light tails. A <= 0, one number a head, is the best for the mean of |q + k|² over all pairs of a query and a
    key, E|q|² + E|k|² + 2 E[q]·E[k]. It is 0, so the map FAVOR+, until the first optimizer step.

    Moments of real tokens are gathered in training forwards, all micro-batches of a step alike, and forgotten at the
    rate ``momentum`` a step; A follows at optimizer steps only. Both are persistent buffers.

    Of a feature's two factors exp(A|w|²) the query carries both, since its stabiliser takes them up: a key's exponents
    are then as large as Favor's, or B times, and do not underflow under a strongly negative A.
    """

    a: Tensor
    moments: Tensor

    def __init__(
        self, head_dim: int, heads: int, features: int = 64, redraw_every: int = 0, momentum: float = 0.01
    ) -> None:
        super().__init__(head_dim, heads, features, redraw_every)
        if not 0 < momentum <= 1:
            raise ValueError(f"oprf: feature_map.momentum={momentum} must be above 0 and at most 1")
        self.momentum = momentum
        self.register_buffer("a", torch.zeros(heads, 1, 1))
        # Of queries and of keys, by head: sums of x (D), of |x|², and the number of tokens.
        self.register_buffer("moments", torch.zeros(2, heads, head_dim + 2))

    def gather(self, role: int, x: Tensor, mask: Tensor | None) -> None:
        """Adds a training forward's tokens to the moments of queries (0) or keys (1)."""
        if not self.training:
            return
        x = x.detach() * self.head_dim**-0.25
        rows = torch.cat([x, x.square().sum(-1, keepdim=True), torch.ones_like(x[..., :1])], dim=-1)
        if mask is not None:
            rows = rows.masked_fill(~mask[:, None, :, None], 0)
        self.moments[role] += rows.sum((0, 2))

    def on_optimizer_step(self, step: int) -> None:
        super().on_optimizer_step(step)
        tokens = self.moments[..., -1:].clamp(min=torch.finfo(self.moments.dtype).tiny)
        means, squares = (self.moments[..., :-1] / tokens).split([self.head_dim, 1], dim=-1)
        mean = squares.sum((0, 2)) + 2 * means.prod(0).sum(-1)
        self.a.copy_(oprf_a(mean, self.head_dim)[:, None, None])
        self.moments.mul_(1 - self.momentum)

    def log_features(self, x: Tensor) -> Tensor:
        """log phi(x) less A|w|², (B, H, N, D) -> (B, H, N, F)."""
        projected, half_square = self.project(x)
        spread = 1 - 4 * self.a.to(x.dtype)
        scale = self.head_dim / 4 * spread.log() - math.log(self.feature_dim) / 2
        return projected * spread.sqrt() - half_square + scale

    def log_query(self, q: Tensor) -> Tensor:
        return self.log_features(q) + 2 * self.a.to(q.dtype) * self.square_norms(q.dtype)

    def largest_exponent(self, square_norms: Tensor) -> Tensor:
        spread = 1 - 4 * self.a.to(square_norms.dtype)
        return (square_norms * spread / 2 + self.head_dim / 4 * spread.log()).amax()

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        self.gather(0, q, mask)
        return super().query(q, positions, mask)

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        self.gather(1, k, mask)
        return super().key(k, positions, mask)
