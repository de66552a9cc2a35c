"""relu of a learned projection."""

import torch
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap


class T2R(FeatureMap):
    """phi(x) = relu(W x + b) with W (F, D) and b (F) learned for each head, F = ``features``.

    Kasai et al., "Finetuning Pretrained Transformers into RNNs" (T2R), EMNLP 2021. A query whose features are
    all zero reads the plain mean.
    """

    def __init__(self, head_dim: int, heads: int, features: int = 32) -> None:
        super().__init__(head_dim, heads)
        if features < 1:
            raise ValueError(f"feature_map.features={features} must be at least 1")
        self.feature_dim = features
        self.weight = nn.Parameter(torch.randn(heads, features, head_dim) * head_dim**-0.5)
        # Flat, as are a layer's biases: weight decay is for matrices.
        self.bias = nn.Parameter(torch.zeros(heads * features))

    def forward(self, x: Tensor) -> Tensor:
        bias = self.bias.to(x.dtype).view(self.heads, 1, -1)
        return torch.relu(x @ self.weight.to(x.dtype).mT + bias)
