"""What a matrix of attention weights says of itself: (..., N, N), a row a query, each summing to 1."""

import torch
from torch import Tensor

BINS_PER_OCTAVE = 2


def shares(weights: Tensor) -> Tensor:
    """|w| / sum |w|: how much of what a query reads comes from each token; w itself where none is negative."""
    size = weights.abs()
    return size / size.sum(-1, keepdim=True)


def entropy(weights: Tensor) -> Tensor:
    """-sum w ln w of the shares in nats, (..., N, N) -> (..., N): ln N where all are read alike, 0 where one is."""
    return torch.special.entr(shares(weights)).sum(-1)


def ranks(x: Tensor) -> Tensor:
    """Ranks 1 .. N along the last axis, float64; equal values share the mean of their ranks."""
    x = x.contiguous()
    ordered = x.sort(-1).values
    first, last = (torch.searchsorted(ordered, x, right=right) for right in (False, True))
    return (first + last + 1).double() / 2


def spearman(x: Tensor, y: Tensor) -> Tensor:
    """Rank correlation along the last axis, (..., N) x 2 -> (...); 0 where either is constant."""
    x, y = (r - r.mean(-1, keepdim=True) for r in (ranks(x), ranks(y)))
    norm = x.norm(dim=-1) * y.norm(dim=-1)
    return (x * y).sum(-1) / torch.where(norm == 0, 1, norm)


def causal(weights: Tensor) -> Tensor:
    """The weights among tokens up to the query's own, again summing to 1; their plain mean where they sum to 0.

    These are the causal attention's own weights if features and normaliser read no later token.
    """
    earlier = weights.tril()
    total = earlier.sum(-1, keepdim=True)
    mean = torch.ones_like(weights).tril()
    mean = mean / mean.sum(-1, keepdim=True)
    return torch.where(total == 0, mean, earlier / torch.where(total == 0, 1, total))


def distance_profile(weights: Tensor, is_causal: bool = False) -> tuple[Tensor, Tensor]:
    """Mean share at distance |i-j| >= 1, times the number of tokens that a query sees.

    (..., N, N) -> distances and weights, one a bin of half an octave. Without position bias it is 1 at every distance.
    """
    n = weights.shape[-1]
    i = torch.arange(n)
    visible = i + 1 if is_causal else torch.full((n,), n)
    relative = shares(weights).reshape(-1, n, n).mean(0) * visible[:, None]
    distance = (i[:, None] - i).abs()
    used = (i[:, None] > i) if is_causal else distance > 0
    distance, relative = distance[used].double(), relative[used].double()
    bins = (BINS_PER_OCTAVE * distance.log2()).floor().long()
    count = torch.bincount(bins)
    filled = count > 0
    means = [(torch.bincount(bins, values) / count)[filled] for values in (distance, relative)]
    return means[0], means[1]


def decay_profile(log_decay: Tensor, tokens: int) -> Tensor:
    """What a decay leaves of a weight at distance L = 0 .. N-1, the mean over documents and pairs.

    log_decay (H,), (B, H, N) or (B, H, N, F) -> (H, N) or, by channel, (H, F, N): exp(-|c_i - c_j|), c the inclusive
    cumulative sum of log_decay <= 0 over tokens.
    """
    log_decay = log_decay.double()
    if log_decay.dim() == 1:
        log_decay = log_decay[None, :, None].expand(1, -1, tokens)
    channels = log_decay if log_decay.dim() == 4 else log_decay[..., None]
    c = channels.cumsum(2)
    left = [torch.exp(c[:, :, L:] - c[:, :, : tokens - L]).mean((0, 2)) for L in range(tokens)]
    profile = torch.stack(left, -1)
    return profile if log_decay.dim() == 4 else profile[:, 0]


def effective_window(profile: Tensor) -> Tensor:
    """Tokens that a decay leaves to one side of a query: (..., N) -> (...), 1 / (1 - gamma) for gamma^L.

    A document bounds it: where nothing is forgotten it is N.
    """
    return profile.sum(-1)
