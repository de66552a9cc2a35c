"""FAVOR+: positive orthogonal random features."""

import math

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap

# The largest exponent that a key can reach. exp(60) summed over millions of keys and times any sane value
# stays far below float32's exp(88); the higher it is, the longer a key may be before all its features underflow.
MAX_EXPONENT = 60.0


def haar_gaussian(features: int, dim: int, generator: torch.Generator) -> Tensor:
    """(features, dim) float64 rows: blocks of ``dim`` mutually orthogonal directions with chi(dim) norms.

    Each row alone is distributed as N(0, I). QR alone does not give Haar-distributed directions (LAPACK fixes the
    signs of the reflections), so the signs of R's diagonal go into Q (Mezzadri, 2007, section 5); without them
    the estimate of exp(x·y) is off by up to 25 %.
    """
    # One call: small QRs one by one cost a hundred times as much where threads wait for a busy processor.
    blocks = torch.randn(math.ceil(features / dim), dim, dim, dtype=torch.float64, generator=generator)
    q, r = torch.linalg.qr(blocks)
    signs = torch.sign(torch.diagonal(r, dim1=-2, dim2=-1))
    directions = (q * signs[:, None]).mT.reshape(-1, dim)[:features]
    norms = torch.randn(features, dim, dtype=torch.float64, generator=generator).norm(dim=1, keepdim=True)
    return directions * norms


class Favor(FeatureMap):
    """phi(x) = exp(w·x - |x|²/2) / sqrt(m) with x scaled by D^-1/4 (Choromanski et al., ICLR 2021, lemma 1).

    E[phi(q)·phi(k)] = exp(q·k / sqrt(D)); the relative variance of one feature is exp(|q + k|²) - 1 in scaled
    units, so the estimate resembles softmax only while |q + k| stays small.

    The projection, (H, m, D), is a persistent buffer, redrawn in place from (its own seed, step) after every
    ``redraw_every`` optimizer steps; 0 keeps the first draw. It never changes in evaluation.

    Stabilisers cancel in the attention's ratio: for a query its largest exponent, for keys a constant of the
    projection, because exp(w·x - |x|²/2) <= exp(|w|²/2). So neither padding nor other documents nor the future enter.
    """

    absolute = False

    projection: Tensor
    seed: Tensor

    def __init__(self, head_dim: int, heads: int, features: int = 64, redraw_every: int = 0) -> None:
        super().__init__(head_dim, heads)
        if features < 1 or redraw_every < 0:
            raise ValueError(f"favor: features={features} must be >= 1 and redraw_every={redraw_every} >= 0")
        self.feature_dim = features
        self.redraw_every = redraw_every
        # Drawn from torch's global generator, so layers differ and the run's seed decides.
        self.register_buffer("seed", torch.randint(2**31, (), dtype=torch.int64))
        self.register_buffer("projection", torch.empty(heads, features, head_dim))
        self.redraw(0)

    def redraw(self, step: int) -> None:
        """Draws the projection that belongs to ``step``, in place."""
        generator = torch.Generator().manual_seed(int(self.seed) * 1_000_003 + step)
        draws = [haar_gaussian(self.feature_dim, self.head_dim, generator) for _ in range(self.heads)]
        self.projection.copy_(torch.stack(draws))

    def on_optimizer_step(self, step: int) -> None:
        if self.redraw_every and step % self.redraw_every == 0:
            self.redraw(step)

    def log_features(self, x: Tensor) -> Tensor:
        """log phi(x), (B, H, N, D) -> (B, H, N, m)."""
        x = x * self.head_dim**-0.25
        projected = x @ self.projection.to(x.dtype).mT
        return projected - x.square().sum(-1, keepdim=True) / 2 - math.log(self.feature_dim) / 2

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        exponent = self.log_features(q)
        return torch.exp(exponent - exponent.detach().amax(-1, keepdim=True))

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        bound = self.projection.to(k.dtype).square().sum(-1).amax() / 2
        # Small projections leave room: there keys are lifted, and may be longer before they underflow. In large ones
        # only keys far beyond any that training makes would reach the limit.
        lifted = self.log_features(k) + (MAX_EXPONENT - bound).clamp(min=0)
        return torch.exp(lifted.clamp(max=MAX_EXPONENT))
