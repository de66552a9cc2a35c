"""Random projections: drawn, kept and redrawn in one way by every map that has them."""

import math

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


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


class RandomFeatures(FeatureMap):
    """F features of the products w·x of m random rows w, x scaled by D^-1/4; m = F / ``per_row``.

    The projection, (H, m, D), rows of each head by ``haar_gaussian``, is a persistent buffer, redrawn in place from
    (its own seed, step) after every ``redraw_every`` optimizer steps; 0 keeps the first draw. It never changes in
    evaluation.
    """

    per_row = 1
    """Features made of one row."""
    projection: Tensor
    seed: Tensor

    def __init__(self, head_dim: int, heads: int, features: int = 64, redraw_every: int = 0) -> None:
        super().__init__(head_dim, heads)
        if features < 1 or features % self.per_row:
            raise ValueError(
                f"{self.word}: feature_map.features={features} must be a positive multiple of {self.per_row}"
            )
        if redraw_every < 0:
            raise ValueError(f"{self.word}: feature_map.redraw_every={redraw_every} must be >= 0 (0: never)")
        self.feature_dim = features
        self.redraw_every = redraw_every
        # Drawn from torch's global generator, so layers differ and the run's seed decides.
        self.register_buffer("seed", torch.randint(2**31, (), dtype=torch.int64))
        self.register_buffer("projection", torch.empty(heads, features // self.per_row, head_dim))
        self.redraw(0)

    def redraw(self, step: int) -> None:
        """Draws the projection that belongs to ``step``, in place."""
        generator = torch.Generator().manual_seed(int(self.seed) * 1_000_003 + step)
        heads, rows, dim = self.projection.shape
        self.projection.copy_(torch.stack([haar_gaussian(rows, dim, generator) for _ in range(heads)]))

    def on_optimizer_step(self, step: int) -> None:
        if self.redraw_every and step % self.redraw_every == 0:
            self.redraw(step)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """w·x (B, H, N, m) and |x|²/2 (B, H, N, 1) of x times D^-1/4."""
        x = x * self.head_dim**-0.25
        return x @ self.projection.to(x.dtype).mT, x.square().sum(-1, keepdim=True) / 2

    def square_norms(self, dtype: torch.dtype) -> Tensor:
        """|w|², (H, 1, m)."""
        return self.projection.to(dtype).square().sum(-1)[:, None]
