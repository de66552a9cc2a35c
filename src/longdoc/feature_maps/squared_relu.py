"""relu(x)²."""

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


class SquaredRelu(FeatureMap):
    """phi(x) = relu(x)², F = D (the activation of So et al., "Primer", NeurIPS 2021, as a feature map).

    Sharper than relu, and like it blind to |q|. A query whose features are all zero reads the plain mean.
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x).square()
