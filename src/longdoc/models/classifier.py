"""The classifier of one document, or of each of its tokens."""

import torch
from torch import Tensor, nn

from longdoc.models.encoder import Encoder
from longdoc.models.pooling import Pooling


class Classifier(nn.Module):
    """Encoder, pooling, linear head: ids (B, N) -> logits (B, C), or (B, N, C) if the pooling is ``none``.

    A document's logits depend on its own tokens alone: neither on padding nor on the rest of its batch.
    """

    def __init__(self, encoder: Encoder, pooling: str, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = Pooling(pooling)
        # One norm for each pool: means of embeddings are far smaller than means of normalised outputs.
        self.norms = nn.ModuleList(nn.LayerNorm(encoder.width) for _ in self.pooling.kinds)
        self.head = nn.Linear(len(self.norms) * encoder.width, classes)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """ids (B, N) long, mask (B, N) bool, True = real token, or None -> logits (B, C) or (B, N, C)."""
        hidden, embedded = self.encoder(ids, mask)
        pooled = self.pooling(hidden, embedded, mask)
        return self.head(torch.cat([norm(p) for norm, p in zip(self.norms, pooled, strict=True)], dim=-1))
