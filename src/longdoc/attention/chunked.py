"""Sums over keys that are weighted by distance, chunk by chunk: linear in N with any decay, causal or not.

Inside a chunk of C tokens the weights are a C x C product; between chunks travels one F x E state from the left and, if
tokens see both ways, one from the right. Shapes: B batch, H heads, N tokens, F feature dim, E value dim.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 32
GROUP = 16  # chunk states that one small matrix of decays combines; groups are combined in the same way


def chunked_sums(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None = None, causal: bool = False,
    state: Tensor | None = None, chunk: int = CHUNK, behind: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Numerator sum_j w_ij v_j, denominator sum_j w_ij, and the state behind the last token.

    w_ij = sum_f q_if k_jf exp(-|c_if - c_jf|), c the inclusive cumulative sum of ``log_decay`` <= 0; causal: j <= i.

    q, k (B, H, N, F), v (B, H, N, E); log_decay (H,), (B, H, N), (B, H, N, F) or None for 0; state (B, H, F, E+1)
    float64 or None, what was read before: sums of k_j [v_j, 1]ᵀ, decayed up to its last token; behind, likewise, what
    follows (not if causal), see ``state_in_front``.
    -> (B, H, N, E), (B, H, N, 1), (B, H, F, E+1) float64.
    """
    tokens = q.shape[2]
    padding = -tokens % chunk
    q, k, v = (_pad(x, padding).unflatten(2, (-1, chunk)) for x in (q, k, v))
    c = _cumulative(log_decay, tokens, padding, chunk)
    if c is None:
        scores = q @ k.mT
    elif c.shape[-1] == 1:
        # The sign rather than abs(), whose slope at 0 is wrong for a decay of exactly 0.
        sign = torch.ones(chunk, chunk, device=q.device, dtype=q.dtype).tril() * 2 - 1
        scores = (q @ k.mT) * torch.exp((c - c.mT) * sign)
    else:
        scores = _channel_scores(q, k, c)
    scores = scores.tril() if causal else scores
    numerator, denominator = scores @ v, scores.sum(-1, keepdim=True)

    c = torch.zeros(1, 1, 1, 1, 1, dtype=q.dtype, device=q.device) if c is None else c
    totals = c[..., -1, :].expand(-1, -1, q.shape[2], -1)
    # enter: from a chunk's start to each of its tokens; leave: from behind each to its end.
    enter, leave = c.exp(), (c[..., -1:, :] - c).exp()
    sides = [(enter, leave)] if causal else [(enter, leave), (leave, enter)]
    ends = []
    for reverse, beyond, (read, write) in zip((False, True), (state, behind), sides, strict=False):
        of_values, of_ones = (None, None) if beyond is None else beyond.to(q.dtype).split([v.shape[-1], 1], dim=-1)
        # Values and the ones of the denominator apart: rows of E + 1 numbers would fit no vector register.
        written = k * write
        values, end = _scan(written.mT @ v, totals, reverse, of_values)
        ones, count = _scan(written.sum(-2)[..., None], totals, reverse, of_ones)
        # A rate a token may as well scale the result, which leaves the queries as they are.
        at, after = (1.0, read) if c.shape[-1] == 1 else (read, 1.0)
        numerator = numerator + (q * at) @ values * after
        denominator = denominator + (q * at * ones.mT).sum(-1, keepdim=True) * after
        ends.append(torch.cat([end, count], dim=-1).double())
    end = ends[0]
    if state is not None:
        end = end + state * totals.double().sum(2).exp()[..., None]
    return numerator.flatten(2, 3)[:, :, :tokens], denominator.flatten(2, 3)[:, :, :tokens], end


def state_in_front(k: Tensor, v: Tensor, log_decay: Tensor | None = None, behind: Tensor | None = None) -> Tensor:
    """What tokens in front of these read of them, and of those that follow: the ``behind`` of the tokens in front.

    Sums of k_j [v_j, 1]ᵀ, decayed from the first token's front up to j; shapes as of chunked_sums -> (B, H, F, E+1)
    float64. Sums within one call are of the type of k.
    """
    c = _cumulative(None if log_decay is None else log_decay.double(), k.shape[2], 0, k.shape[2])
    if c is not None:
        c = c[:, :, 0]
        k = k * c.exp().to(k.dtype)
    state = torch.cat([k.mT @ v, k.sum(2)[..., None]], dim=-1).double()
    if behind is None:
        return state
    return state + (behind if c is None else behind * c[:, :, -1, :, None].exp())


def _pad(x: Tensor, padding: int, axis: int = 2) -> Tensor:
    """Zeros behind the last token: without a key they weigh nothing, without a decay they are no distance."""
    return F.pad(x, (0, 0) * (x.dim() - 1 - axis) + (0, padding)) if padding else x


def _cumulative(log_decay: Tensor | None, tokens: int, padding: int, chunk: int) -> Tensor | None:
    """The cumulative sum within each chunk: (B | 1, H, n | 1, C, F | 1)."""
    if log_decay is None:
        return None
    if log_decay.dim() == 1:  # one rate a head: all chunks are alike, unless the last has padding
        log_decay = log_decay[None, :, None].expand(-1, -1, tokens if padding else chunk)
    if log_decay.dim() == 3:
        log_decay = log_decay[..., None]
    return _pad(log_decay, padding if log_decay.shape[2] == tokens else 0).unflatten(2, (-1, chunk)).cumsum(3)


def _channel_scores(q: Tensor, k: Tensor, c: Tensor) -> Tensor:
    """sum_f q_if k_jf exp(-|c_if - c_jf|) for every pair of a chunk: (..., C, F) x 3 -> (..., C, C).

    The halves read each other through their boundary, so that every exponent is <= 0; then each half likewise.
    """
    size = q.shape[-2]
    if size == 1:
        return q @ k.mT
    half = size // 2
    middle = c[..., half - 1 : half, :]
    before, behind = (middle - c[..., :half, :]).exp(), (c[..., half:, :] - middle).exp()
    upper = (q[..., :half, :] * before) @ (k[..., half:, :] * behind).mT
    lower = (q[..., half:, :] * behind) @ (k[..., :half, :] * before).mT
    if 2 * half == size:
        own = _channel_scores(*(x.unflatten(-2, (2, half)) for x in (q, k, c)))
        first, second = own.unbind(-3)
    else:
        first = _channel_scores(*(x[..., :half, :] for x in (q, k, c)))
        second = _channel_scores(*(x[..., half:, :] for x in (q, k, c)))
    return torch.cat([torch.cat([first, upper], dim=-1), torch.cat([lower, second], dim=-1)], dim=-2)


def _scan(states: Tensor, totals: Tensor, reverse: bool, initial: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """For each chunk the decayed sum of the states before it (behind it if ``reverse``), and the sum over all.

    states (B, H, n, F, X), totals (B | 1, H | 1, n, F | 1) log decay over each chunk, initial (B, H, F, X), read by
    the first -> (B, H, n, F, X), (B, H, F, X); ``initial`` is not in the latter.
    """
    n, features = states.shape[2], states.shape[3]
    group = min(n, GROUP)
    padding = -n % group
    # Padding at the end: it adds nothing to what comes before it, and nothing reads it.
    states, totals = _pad(states, padding).unflatten(2, (-1, group)), _pad(totals, padding).unflatten(2, (-1, group))
    upto = totals.double().cumsum(3)
    before = upto - totals
    wide = (before[:, :, :, :, None] - upto[:, :, :, None]).movedim(-1, 3)  # (B, H, n/G, F | 1, G, G)
    later = torch.ones(group, group, dtype=torch.bool, device=states.device).tril(-1)
    matrix = wide.masked_fill(~later, -torch.inf).exp().to(states.dtype)
    enter, leave = before.exp().to(states.dtype), (upto[:, :, :, -1:] - upto).exp().to(states.dtype)
    if reverse:
        matrix, enter, leave = matrix.mT, leave, enter
    rates = totals.shape[-1]  # (B, H, n/G, F | 1, G, X or F·X)
    flat = states.flatten(4).unflatten(4, (rates, -1)).movedim(4, 3)
    inside = (matrix @ flat).movedim(3, 4).flatten(4).unflatten(4, (features, -1))
    ends = (leave.movedim(-1, 3)[..., None, :] @ flat).squeeze(-2).flatten(3).unflatten(3, (features, -1))
    if ends.shape[2] == 1:
        carried, end = initial[:, :, None] if initial is not None else None, ends[:, :, 0]
    else:
        carried, end = _scan(ends, upto[:, :, :, -1], reverse, initial)
    if carried is not None:
        inside = inside + enter[..., None] * carried[:, :, :, None]
    return inside.flatten(2, 3)[:, :, :n], end
