"""The contract of a feature map."""

import re

from torch import Tensor, nn


class FeatureMap(nn.Module):
    """phi on the last axis: (B, H, N, D) -> (B, H, N, F), made by the attention as ``factory(head_dim, heads)``.

    A map acts on every token alone, unless ``causal`` is False: it may read neither padding nor other documents.
    Features are computed in float32 or wider (the attention sees to that) and padded keys are zeroed after the map,
    never before it, since phi(0) is not 0 for most maps. Most maps treat queries and keys alike and define
    ``forward``; others define ``query`` and ``key``.
    """

    feature_dim: int
    causal: bool = True
    """False where a key's features need the whole sequence, which a causal attention does not have."""
    nonnegative: bool = True
    """phi(q)·phi(k) >= 0 for all q and k: weights are then averages."""
    absolute: bool = True
    """False where stabilisers leave a factor open that cancels in an average, and in a norm behind the numerator."""

    def __init__(self, head_dim: int, heads: int) -> None:
        super().__init__()
        self.head_dim = head_dim
        self.heads = heads
        self.feature_dim = head_dim

    @property
    def word(self) -> str:
        """The map's name as configs write it: favor_hyperbolic."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    def require(self, tokens: int) -> None:
        """Raises ValueError if a stream of so many tokens is more than the map can tell apart."""

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Features of queries, (B, H, N, D) -> (B, H, N, F).

        positions: (N,) or (B, N), of real tokens among real tokens; None: 0 .. N-1. mask: (B, N) bool, True = real.
        """
        return self(q)

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Features of keys, as ``query``."""
        return self(k)

    def summarize(self, k: Tensor, known: Tensor | None = None) -> Tensor | None:
        """What ``key_within`` needs to know of a sequence, read in pieces k (B, H, N, D); None: nothing.

        known: of the pieces before.
        """
        return None

    @property
    def reads_pieces(self) -> bool:
        """Whether ``key_within`` can be had: a map that is not ``causal`` has to say how to ``summarize``."""
        return self.causal or type(self).summarize is not FeatureMap.summarize

    def key_within(self, k: Tensor, positions: Tensor | None, summary: Tensor | None) -> Tensor:
        """Features of the keys of a piece, (B, H, N, D) -> (B, H, N, F), from the summary of the whole sequence."""
        return self.key(k, positions)

    def on_optimizer_step(self, step: int) -> None:
        """Called after optimizer step ``step`` (1, 2, ...): the only moment at which random features may change."""
