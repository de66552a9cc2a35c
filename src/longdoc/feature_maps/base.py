"""The contract of a feature map."""

from torch import Tensor, nn


class FeatureMap(nn.Module):
    """phi on the last axis: (B, H, N, D) -> (B, H, N, F), made by the attention as ``factory(head_dim, heads)``.

    A map acts on every token alone: it may read neither padding nor other documents. Features are computed in
    float32 or wider (the attention sees to that) and padded keys are zeroed after the map, never before it,
    since phi(0) is not 0 for most maps.
    """

    feature_dim: int

    def __init__(self, head_dim: int, heads: int) -> None:
        super().__init__()
        self.head_dim = head_dim
        self.heads = heads
        self.feature_dim = head_dim

    def query(self, q: Tensor) -> Tensor:
        """Features of queries, (B, H, N, D) -> (B, H, N, F)."""
        return self(q)

    def key(self, k: Tensor) -> Tensor:
        """Features of keys, (B, H, N, D) -> (B, H, N, F)."""
        return self(k)

    def on_optimizer_step(self, step: int) -> None:
        """Called after optimizer step ``step`` (1, 2, ...): the only moment at which random features may change."""
