"""Softmax over features for queries, over the sequence for keys."""

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


class Efficient(FeatureMap):
    """phi(q) = softmax of q over its D features, phi(k) = softmax of each feature over the real tokens, F = D.

    Efficient attention (Shen et al., WACV 2021, with softmax normalization): each feature is one attention
    map over the whole document, each query a mixture of the D maps, so that a row of weights already sums to 1.
    Keys need the whole sequence: not for causal attention.
    """

    causal = False
    absolute = False

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return q.softmax(-1)

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        if mask is not None:
            # A document without a real token reads them all: finite, and the attention zeroes them after the map.
            real = mask | ~mask.any(-1, keepdim=True)
            k = k.masked_fill(~real[:, None, :, None], float("-inf"))
        # Not k.softmax(2): on CPU it adds tokens one after the other, and errs by 2e-5 at a million in float32.
        features = (k - k.detach().amax(2, keepdim=True)).exp()
        return features / features.sum(2, keepdim=True)

    def summarize(self, k: Tensor, known: Tensor | None = None) -> Tensor:
        """log sum exp(k) over the tokens, (B, H, 1, D), float64."""
        largest = k.amax(2, keepdim=True)
        found = (k - largest).exp().sum(2, keepdim=True).double().log() + largest
        return found if known is None else torch.logaddexp(found, known)

    def key_within(self, k: Tensor, positions: Tensor | None, summary: Tensor | None) -> Tensor:
        assert summary is not None
        return (k - summary.to(k.dtype)).exp()
