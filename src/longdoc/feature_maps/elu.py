"""elu(x) + 1."""

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


class Elu(FeatureMap):
    """phi(x) = elu(x) + 1, F = D (Katharopoulos et al., "Transformers are RNNs", ICML 2020, eq. 7).

    Written as exp(min(x, 0)) + max(x, 0): for x < 0 the sum elu(x) + 1 would cancel to nothing in low precision.
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(x.clamp(max=0)) + torch.relu(x)
