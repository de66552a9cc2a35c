"""The square of a learned affine form."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap
from longdoc.feature_maps.monomials import quadratic, quadratic_dim


class Rebased(FeatureMap):
    """phi(q)·phi(k) = (q'·k')² / D with x' = gamma · norm(x) + beta, F = D (D + 1) / 2.

    Aksenov et al., "Linear Transformers with Learnable Kernel Functions are Better In-Context Models" (ReBased), ACL
    2024. norm is a LayerNorm over the head without affine; gamma and beta are learned for each head and
    coordinate, those of queries apart from those of keys. Features are signed, the kernel is not.
    """

    def __init__(self, head_dim: int, heads: int) -> None:
        super().__init__(head_dim, heads)
        self.feature_dim = quadratic_dim(head_dim)
        # Flat, as are a norm's gains and biases: weight decay is for matrices.
        self.query_gamma = nn.Parameter(torch.ones(heads * head_dim))
        self.query_beta = nn.Parameter(torch.zeros(heads * head_dim))
        self.key_gamma = nn.Parameter(torch.ones(heads * head_dim))
        self.key_beta = nn.Parameter(torch.zeros(heads * head_dim))

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return self._features(q, self.query_gamma, self.query_beta)

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return self._features(k, self.key_gamma, self.key_beta)

    def _features(self, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        gamma, beta = (y.to(x.dtype).view(self.heads, 1, -1) for y in (gamma, beta))
        return quadratic((gamma * F.layer_norm(x, x.shape[-1:]) + beta) * self.head_dim**-0.25)
