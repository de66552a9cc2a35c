"""Linear attention as pure functions of features.

Shapes: B batch, H heads, N tokens, F feature dim, E value dim; a mask is (B, N) bool, True = real token.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from longdoc.attention.chunked import CHUNK, chunked_sums, state_in_front

# A float32 product over this many tokens is exact to ~1e-6; longer sums go chunk by chunk into float64.
SUM_CHUNK = 16_384

NORMALIZERS = ("sum", "none", "magnitude")

State = dict[str, Tensor]
"""What a causal attention keeps of the tokens it has read, whatever their number, float64: ``sums`` (B, H, F, E+1) of
k [v, 1]ᵀ; with rotary positions ``turned`` (B, H, F, E+1), the same of turned keys; unless the normalizer is ``none``
``values`` (B, H, 1, E+1), of [v, 1]ᵀ alone."""

Rotate = Callable[[Tensor], Tensor]


def _keys_times_values(k: Tensor, v: Tensor) -> Tensor:
    """sum_n k_n v_nᵀ: (B, H, N, F), (B, H, N, E) -> (B, H, F, E), without loss over millions of tokens."""
    if k.shape[2] <= SUM_CHUNK:
        return k.mT @ v
    chunks = zip(k.split(SUM_CHUNK, dim=2), v.split(SUM_CHUNK, dim=2), strict=True)
    total = torch.zeros((), dtype=torch.float64, device=k.device)
    for k_chunk, v_chunk in chunks:
        total = total + (k_chunk.mT @ v_chunk).double()
    return total.to(k.dtype)


def _times_state(q: Tensor, state: Tensor) -> Tensor:
    """q @ state, in the same chunks, since the gradient of the state is again a sum over tokens."""
    if q.shape[2] <= SUM_CHUNK:
        return q @ state
    return torch.cat([chunk @ state for chunk in q.split(SUM_CHUNK, dim=2)], dim=2)


def _sum_tokens(x: Tensor) -> Tensor:
    """Sum over axis 2, kept: (B, H, N, X) -> (B, H, 1, X), in float64 where N is large."""
    if x.shape[2] <= SUM_CHUNK:
        return x.sum(2, keepdim=True)
    return x.sum(2, keepdim=True, dtype=torch.float64).to(x.dtype)


def _keep_real(k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Keys and values with padding zeroed, and the number of real tokens, at least 1."""
    if mask is None:
        return k, v, torch.full((), k.shape[2], dtype=k.dtype, device=k.device)
    real = mask[:, None, :, None].to(k.dtype)
    return k * real, v * real, real.sum(2, keepdim=True).clamp(min=1)


def _normalize(numerator: Tensor, denominator: Tensor, mean: Tensor, count: Tensor, normalizer: str) -> Tensor:
    """From sum_j w_ij v_j and sum_j w_ij to the output; ``mean`` and ``count`` are of the values that i may read.

    Where the denominator is 0 (no feature fires, or the document is empty), or so small that the products in it
    underflow (1e-31 in float32), the result is the mean: there is no epsilon.
    """
    # A smaller sum has lost bits to underflow, and its gradient would overflow. NaN is not small, and stays.
    vanishes = denominator.abs() <= torch.finfo(numerator.dtype).tiny / torch.finfo(numerator.dtype).eps
    average = numerator / torch.where(vanishes, 1, denominator)
    if normalizer == "magnitude":
        scores = denominator / count
        average = (1 + scores) * average - scores * mean
    return torch.where(vanishes, mean, average)


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    log_decay: Tensor | None = None,
    rotate: Rotate | None = None,
    normalizer: str = "sum",
) -> Tensor:
    """Every token reads every real token with weight w_ij / sum_j w_ij, w_ij = q_i·k_j, in O(N·F·E).

    (B, H, N, F), (B, H, N, F), (B, H, N, E) -> (B, H, N, E) (Katharopoulos et al. 2020, eqs. 4-6). ``log_decay`` <= 0,
    (H,), (B, H, N) or (B, H, N, F), lets w_ij fade with distance (see chunked_sums). ``rotate`` turns queries and keys
    in the numerator only (Su et al., RoFormer, eq. 19): weights may then be negative and need not sum to 1.

    normalizer: ``sum``; ``none``, the numerator alone, for a norm behind it (Qin et al., TransNormer, 2022);
    ``magnitude``, weights (1 + 1/s_i) w_ij / n - s_i / n with s_i = sum_j w_ij / n, which sum to 1, may be negative and
    sharpen with |q| (Fan et al., MALA, 2025). Where no feature fires the result is the mean of the real values.
    """
    k, v, count = _keep_real(k, v, mask)
    if log_decay is not None:
        numerator, denominator, _ = chunked_sums(q, k, v, log_decay)
        if rotate is not None:
            numerator, _, _ = chunked_sums(rotate(q), rotate(k), v, log_decay)
    else:
        denominator = _times_state(q, _sum_tokens(k).mT)
        if rotate is not None:
            q, k = rotate(q), rotate(k)
        numerator = _times_state(q, _keys_times_values(k, v))
    if normalizer == "none":
        return numerator
    return _normalize(numerator, denominator, _sum_tokens(v) / count, count, normalizer)


def causal_linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    log_decay: Tensor | None = None,
    rotate: Rotate | None = None,
    normalizer: str = "sum",
    state: State | None = None,
    chunk: int = CHUNK,
) -> tuple[Tensor, State]:
    """As ``linear_attention``, each token reading itself and those before it, and those in ``state``.

    Returns the output and the state behind the last token, from which another call goes on. The mean and n of a
    normalizer are those of the values read so far.
    """
    state = state or {}
    k, v, _ = _keep_real(k, v, mask)
    real = torch.ones_like(k[..., :1]) if mask is None else mask[:, None, :, None].to(k.dtype).expand(*k.shape[:3], 1)
    new: State = {}
    numerator, denominator, new["sums"] = chunked_sums(q, k, v, log_decay, True, state.get("sums"), chunk)
    if rotate is not None:
        numerator, _, new["turned"] = chunked_sums(rotate(q), rotate(k), v, log_decay, True, state.get("turned"), chunk)
    if normalizer == "none":
        return numerator, new
    total, count, new["values"] = chunked_sums(torch.ones_like(real), real, v, None, True, state.get("values"), chunk)
    count = count.clamp(min=1)
    return _normalize(numerator, denominator, total / count, count, normalizer), new


def step(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    state: State,
    log_decay: Tensor | None = None,
    rotate: Rotate | None = None,
    normalizer: str = "sum",
) -> tuple[Tensor, State]:
    """One token of ``causal_linear_attention``: N = 1, at a cost that does not depend on how many came before."""
    wide = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1).double()
    decay: float | Tensor = 1.0
    if log_decay is not None:
        decay = log_decay.double().exp().reshape(-1, q.shape[1], log_decay.shape[-1] if log_decay.dim() == 4 else 1, 1)

    def read(name: str, q: Tensor, k: Tensor, decay: float | Tensor) -> tuple[Tensor, Tensor]:
        new[name] = k.double().mT @ wide + (decay * state[name] if name in state else 0)
        result = (q.double() @ new[name]).to(v.dtype)
        return result[..., :-1], result[..., -1:]

    new: State = {}
    one = torch.ones_like(v[..., :1])
    numerator, denominator = read("sums", q, k, decay)
    if rotate is not None:
        numerator, _ = read("turned", rotate(q), rotate(k), decay)
    if normalizer == "none":
        return numerator, new
    total, count = read("values", one, one, 1.0)
    return _normalize(numerator, denominator, total / count, count, normalizer), new


def gather(k: Tensor, v: Tensor, behind: State, log_decay: Tensor | None = None, rotate: Rotate | None = None) -> State:
    """The state in front of a piece of a document, from the state behind it, {} at the end.

    What a document's pieces, from the last to the first, add up to: without decay, all that a query needs of it.
    """
    new = {"sums": state_in_front(k, v, log_decay, behind.get("sums"))}
    if rotate is not None:
        new["turned"] = state_in_front(rotate(k), v, log_decay, behind.get("turned"))
    new["values"] = state_in_front(torch.ones_like(v[..., :1]), v, None, behind.get("values"))
    return new


def attend_to(q: Tensor, whole: State, rotate: Rotate | None = None, normalizer: str = "sum") -> Tensor:
    """``linear_attention`` without decay of a piece's queries to a document that ``gather`` has been through."""
    numerator, denominator = (q @ whole["sums"].to(q.dtype)).split([whole["sums"].shape[-1] - 1, 1], dim=-1)
    if rotate is not None:
        numerator = (rotate(q) @ whole["turned"].to(q.dtype))[..., :-1]
    return _normalize_whole(numerator, denominator, whole, normalizer)


def attend_between(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: State,
    behind: State,
    whole: State,
    log_decay: Tensor,
    rotate: Rotate | None = None,
    normalizer: str = "sum",
) -> tuple[Tensor, State]:
    """``linear_attention`` of a piece, between what was read ``before`` it and what ``gather`` found ``behind`` it.

    Returns the output and the state behind its last token, the ``before`` of the next piece; {} at the start.
    """
    new: State = {}

    def sums(name: str, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        numerator, denominator, new[name] = chunked_sums(
            q, k, v, log_decay, state=before.get(name), behind=behind.get(name)
        )
        return numerator, denominator

    numerator, denominator = sums("sums", q, k)
    if rotate is not None:
        numerator, _ = sums("turned", rotate(q), rotate(k))
    return _normalize_whole(numerator, denominator, whole, normalizer), new


def _normalize_whole(numerator: Tensor, denominator: Tensor, whole: State, normalizer: str) -> Tensor:
    if normalizer == "none":
        return numerator
    total, count = whole["values"].to(numerator.dtype).split([numerator.shape[-1], 1], dim=-1)
    return _normalize(numerator, denominator, total / count, count, normalizer)
