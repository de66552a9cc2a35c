"""From tokens to one vector a document, blind to padding."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def _mean(x: Tensor, mask: Tensor | None) -> Tensor:
    # A matrix product: a reduction over tokens does not vectorise when it is fused with what made them.
    if mask is None:
        weights = torch.full_like(x[..., 0], 1 / x.shape[1])
    else:
        weights = mask.to(x.dtype) / mask.sum(1, keepdim=True).clamp(min=1)
    with torch.autocast(x.device.type, enabled=False):
        return (weights[:, None] @ x).squeeze(1)


def _max(x: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return x.amax(1)
    lowest = x.masked_fill(~mask[..., None], -torch.inf).amax(1)
    return torch.where(mask.any(1, keepdim=True), lowest, 0)


def _pick(x: Tensor, index: Tensor, mask: Tensor) -> Tensor:
    picked = x.gather(1, index[:, None, None].expand(-1, 1, x.shape[-1])).squeeze(1)
    return torch.where(mask.any(1, keepdim=True), picked, 0)


def _first(x: Tensor, mask: Tensor | None) -> Tensor:
    return x[:, 0] if mask is None else _pick(x, mask.int().argmax(1), mask)


def _last(x: Tensor, mask: Tensor | None) -> Tensor:
    return x[:, -1] if mask is None else _pick(x, x.shape[1] - 1 - mask.flip(1).int().argmax(1), mask)


POOLS: dict[str, Callable[[Tensor, Tensor | None], Tensor]] = {
    "mean": _mean, "max": _max, "first": _first, "last": _last,
}  # fmt: skip


class Pooling(nn.Module):
    """One or several pools side by side, joined by "+": mean, max, first, last over the encoder's output, and
    ``embeddings``, the mean of the token embeddings (a bag of words beside the encoder). A document without a
    real token gives 0. ``none``, alone, leaves one vector a token.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kinds = kind.split("+")
        self.per_token = kind == "none"
        for name in self.kinds:
            if name not in {*POOLS, "embeddings"} and not self.per_token:
                valid = f"{', '.join(POOLS)}, embeddings, or none alone, for labels of tokens"
                raise ValueError(f"pooling={kind}: {name!r} is not one of {valid}")

    def forward(self, hidden: Tensor, embedded: Tensor, mask: Tensor | None) -> list[Tensor]:
        """hidden, embedded (B, N, M), mask (B, N) -> one (B, M) a pool, or (B, N, M); float32 or wider."""
        wide = torch.promote_types(hidden.dtype, torch.float32)
        hidden, embedded = hidden.to(wide), embedded.to(wide)
        if self.per_token:
            return [hidden]
        return [_mean(embedded, mask) if name == "embeddings" else POOLS[name](hidden, mask) for name in self.kinds]

    def gather(self, pools: dict[str, Any], hidden: Tensor, embedded: Tensor) -> None:
        """Brings ``pools``, {} at first, up to date with a piece (B, N, M) of documents of equal length, unpadded."""
        for kind in self.kinds:
            pools[kind] = _gathered(kind, pools.get(kind), embedded if kind == "embeddings" else hidden)

    def gathered(self, pools: dict[str, Any], tokens: int) -> list[Tensor]:
        """What ``forward`` gives for all ``tokens``, means in float64; with ``none`` for the last token, (B, M)."""
        means = ("mean", "embeddings")
        return [pools[kind] / tokens if kind in means else pools[kind] for kind in self.kinds]


def _gathered(kind: str, known: Tensor | None, x: Tensor) -> Tensor:
    """A pool over what was read before and x (B, N, M) behind it: (B, M); sums for means, float64."""
    if kind in ("mean", "embeddings"):
        total = x.double().sum(1)
        return total if known is None else known + total
    if kind == "max":
        highest = x.amax(1)
        return highest if known is None else torch.maximum(known, highest)
    if kind == "first":
        return x[:, 0].clone() if known is None else known
    return x[:, -1].clone()  # last, and none
