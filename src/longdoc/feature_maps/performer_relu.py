"""Performer's generalised attention with relu."""

import torch
from torch import Tensor

from longdoc.feature_maps.random import RandomFeatures

EPSILON = 1e-3


class PerformerRelu(RandomFeatures):
    """phi(x) = relu(w·x) + 1e-3, F = m, x scaled by D^-1/4 (Choromanski et al., ICLR 2021: Performer-ReLU).

    phi(q)·phi(k) / m tends to |q||k| (sin t + (pi - t) cos t) / (2 pi), t the angle between q and k: half the
    arc-cosine kernel of order 1, not softmax. 1e-3 is the constant of the authors' code: no token is without a feature.
    Weights of queries much longer than it depend on their direction alone.
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.project(x)[0]) + EPSILON
