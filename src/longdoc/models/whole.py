"""Whole documents of any length, piece by piece: exact, in the memory of one vector a token; causal, of none."""

from collections.abc import Iterator
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from longdoc.attention import LinearAttention, WindowAttention
from longdoc.attention.sweep import Sweep
from longdoc.models.classifier import Classifier
from longdoc.models.encoder import Block, Encoder
from longdoc.models.positions import token_positions

CHUNK = 16_384  # tokens of a piece
BUDGET = 2**18  # tokens of a batch, with padding, that one pass reads
Span = tuple[int, int]


def logits(model: Classifier, ids: Tensor, mask: Tensor | None = None) -> Tensor:
    """``model(ids, mask)`` not compiled; of a batch of more than BUDGET tokens in pieces, if the model can.

    Documents of a piece or less are read at once, however many.
    """
    if ids.shape[-1] > CHUNK and ids.numel() > BUDGET and refusal(model) is None:
        return classify(model, ids, mask)
    return model.forward(ids, mask)


def refusal(model: Classifier) -> str | None:
    """Why the model cannot read a document in pieces, in one sentence, or None."""
    for number, block in enumerate(cast(list[Block], [*model.encoder.blocks]), 1):
        mixer = block.attention.mixer
        if not isinstance(mixer, LinearAttention | WindowAttention):
            return (
                f"block {number} mixes by {type(mixer).__name__}, whose every token reads all others at once: "
                f"documents are read in pieces by linear and window attention alone"
            )
        if isinstance(mixer, LinearAttention) and not mixer.feature_map.reads_pieces:
            return (
                f"feature_map={mixer.feature_map.word} needs the whole sequence for its keys, and does not say how to "
                f"read it in pieces"
            )
    return None


@torch.no_grad()
def classify(model: Classifier, ids: Tensor, mask: Tensor | None = None, chunk: int = CHUNK) -> Tensor:
    """The logits of ``model(ids, mask)``, document by document in pieces of ``chunk`` tokens.

    ids (N,), (B, N), or of pairs (2, N), (B, 2, N), mask likewise, True = real token, padding on either side -> logits
    (C,) or (B, C); with the pooling ``none`` (N, C) or (B, N, C), 0 for padding. Between blocks one vector a token is
    held; of a causal model nothing that grows with the document.

    Raises ValueError for a model in training, or one that ``refusal`` speaks of, and padding between real tokens.
    """
    if model.training:
        raise ValueError("reading in pieces needs a model in evaluation mode: call model.eval() first")
    if (reason := refusal(model)) is not None:
        raise ValueError(reason)
    if ids.dim() == (2 if model.interaction else 1):
        return classify(model, ids[None], None if mask is None else mask[None], chunk)[0]
    if model.interaction:
        ids, mask = ids.flatten(0, 1), None if mask is None else mask.flatten(0, 1)
    spans = [(0, ids.shape[1])] * len(ids) if mask is None else [_real(row, i) for i, row in enumerate(mask)]
    rows = [(ids[i : i + 1, start:end], start) for i, (start, end) in enumerate(spans)]
    if model.pooling.per_token:
        return torch.cat([_token_logits(model, row, start, ids.shape[1], chunk) for row, start in rows])
    pooled = [_pooled(model, row, chunk) for row, _ in rows]
    return model.score([torch.cat(of_rows) for of_rows in zip(*pooled, strict=True)])


def _real(mask: Tensor, row: int) -> Span:
    """Where a document's real tokens begin and end."""
    at = mask.nonzero()[:, 0]
    if len(at) == 0:
        return 0, 0
    start, end = int(at[0]), int(at[-1]) + 1
    if end - start != len(at):
        raise ValueError(f"row {row} of mask has padding between real tokens: documents are read in pieces without")
    return start, end


def _pooled(model: Classifier, ids: Tensor, chunk: int) -> list[Tensor]:
    """ids (1, N) without padding -> one (1, M) a pool."""
    weight = model.encoder.norm.weight
    if ids.shape[1] == 0:
        return [weight.new_zeros(1, len(weight)) for _ in model.pooling.kinds]
    pools: dict[str, Tensor] = {}
    for hidden, embedded in encode(model.encoder, ids, chunk):
        model.pooling.gather(pools, hidden, embedded)
    return [pool.to(weight.dtype) for pool in model.pooling.gathered(pools, ids.shape[1])]


def _token_logits(model: Classifier, ids: Tensor, start: int, length: int, chunk: int) -> Tensor:
    """ids (1, N) without padding, from ``start`` on in a row of ``length`` -> (1, length, C)."""
    if ids.shape[1] == 0:
        none = model.encoder.norm.weight.new_zeros(1, 1, model.encoder.width)
        return 0 * model.score([none]).expand(-1, length, -1)
    pieces = [model.score([hidden]) for hidden, _ in encode(model.encoder, ids, chunk)]
    return F.pad(torch.cat(pieces, dim=1), (0, 0, start, length - start - ids.shape[1]))


def encode(encoder: Encoder, ids: Tensor, chunk: int = CHUNK) -> Iterator[tuple[Tensor, Tensor]]:
    """ids (B, N) without padding, N >= 1 -> ``encoder(ids)`` in pieces, from the first to the last."""
    tokens = ids.shape[1]
    if tokens <= chunk:
        yield encoder(ids)
        return
    if encoder.causal:
        state: dict[str, object] = {}
        for piece in ids.split(chunk, dim=1):
            yield encoder(piece, None, state)
        return
    encoder.require(tokens)
    spans = [(start, min(start + chunk, tokens)) for start in range(0, tokens, chunk)]
    positions = token_positions(ids, None)
    x = encoder.norm.weight.new_empty(len(ids), tokens, encoder.width)
    for start, end in spans:
        x[:, start:end], _ = encoder.embed(ids[:, start:end], positions[start:end])
    *inner, last = cast(list[Block], [*encoder.blocks])
    for block in inner:
        for (start, end), piece in _block(block, x, positions, spans):
            x[:, start:end] = piece
    for (start, end), piece in _block(last, x, positions, spans):
        yield encoder.norm(piece), encoder.embedding(ids[:, start:end])


def _block(block: Block, x: Tensor, positions: Tensor, spans: list[Span]) -> Iterator[tuple[Span, Tensor]]:
    """The block's output for x (B, N, M), span by span; a span of x may be overwritten once its output is there."""
    mixer = block.attention.mixer
    sweep = Sweep(block.attention) if isinstance(mixer, LinearAttention) else None
    near = mixer.window if isinstance(mixer, WindowAttention) else 0  # neighbours that attention reads at once
    halo = near + (block.convolution.kernel // 2 if block.convolution is not None else 0)
    tokens = x.shape[1]

    def read(start: int, end: int, left: Tensor) -> Tensor:
        """What attention reads of a span and of those near it; ``left``: the halo before it."""
        wide = block.read(torch.cat([left, x[:, start : end + halo]], dim=1))
        first = left.shape[1] - min(near, start)
        return wide[:, first : left.shape[1] + min(end + near, tokens) - start]

    def unread(start: int) -> Tensor:
        return x[:, max(0, start - halo) : start]

    if sweep is not None and sweep.surveys:
        for start, end in spans:
            sweep.survey(read(start, end, unread(start)))
    if sweep is not None:
        for start, end in reversed(spans):
            sweep.gather(read(start, end, unread(start)), positions[start:end])
    left = x[:, :0]
    for start, end in spans:
        wide = read(start, end, left)
        if sweep is not None:
            mixed = sweep.read(wide, positions[start:end])
        else:
            first = max(0, start - near)
            around = positions[first : first + wide.shape[1]]
            mixed = block.attention(wide, None, around)[:, start - first : end - first]
        piece = x[:, start:end]
        out = block.join(piece, mixed)
        left = torch.cat([left, piece], dim=1)[:, -halo:].clone() if halo else left
        yield (start, end), out
