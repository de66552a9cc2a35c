"""relu(x)."""

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


class Relu(FeatureMap):
    """phi(x) = relu(x), F = D (Kasai et al., EMNLP 2021; Qin et al., "cosFormer", ICLR 2022, section 3.1).

    Positive homogeneity makes the weights blind to |q|. A query whose features are all zero reads the plain mean
    of the values.
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)
