"""relu(x), reweighted by the cosine of the distance."""

import math

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


class Cosformer(FeatureMap):
    """phi_i(x) = relu(x) ⊗ [cos(pi i / 2M), sin(pi i / 2M)] at position i, F = 2 D.

    So phi_i(q)·phi_j(k) = relu(q)·relu(k) cos(pi (i - j) / 2M) (Qin et al., "cosFormer", ICLR 2022). M is the
    fixed ``length``, in tokens, not the longest document of the batch as in the authors' code, which would make a
    document's result depend on its company. Distances of M or more would have negative weights.

    Raises ValueError for more than ``length`` tokens.
    """

    def __init__(self, head_dim: int, heads: int, length: int = 4096) -> None:
        super().__init__(head_dim, heads)
        if length < 1:
            raise ValueError(f"feature_map.length={length} must be at least 1")
        self.feature_dim = 2 * head_dim
        self.length = length

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        positions = torch.arange(q.shape[2], device=q.device) if positions is None else positions
        # Looked at only where the shape gives reason to, as the look waits for a GPU; padding may be longer.
        if positions.shape[-1] > self.length:
            self.require(int(positions.max()) + 1)
        angle = positions.to(q.dtype)[..., None] * (math.pi / 2 / self.length)
        if angle.dim() == 3:  # (B, N, 1): one row of positions a document
            angle = angle[:, None]
        features = torch.relu(q)
        return torch.cat([features * angle.cos(), features * angle.sin()], dim=-1)

    def require(self, tokens: int) -> None:
        if tokens > self.length:
            raise ValueError(
                f"a document of {tokens} tokens is longer than feature_map.length={self.length}, "
                f"beyond which cosformer's weights are negative; raise it or lower task.max_length"
            )

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return self.query(k, positions, mask)
