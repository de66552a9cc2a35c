"""The classifier of one document, of each of its tokens, or of a pair of documents."""

import torch
from torch import Tensor, nn

from longdoc.models.encoder import Encoder
from longdoc.models.pooling import Pooling

HEADS = ("linear", "mlp")
INTERACTIONS = ("full", "concat")


class Classifier(nn.Module):
    """Encoder, pooling, head: ids (B, N) -> logits (B, C), or (B, N, C) if the pooling is ``none``.

    A document's logits depend on its own tokens alone: neither on padding nor on the rest of its batch.

    head: ``linear``, or ``mlp``: one hidden layer with ReLU, as wide as the encoder's feed-forward (LRA's heads).
    interaction: None, or of pairs, ids (B, 2, N) -> logits (B, C). One encoder reads both documents, apart; the head
        sees of their pooled a and b ``full``: [a, b, a*b, a-b] (Nyströmformer, arXiv:2102.03902, its LRA code), or
        ``concat``: [a, b] (Long Range Arena, arXiv:2011.04006).
    """

    def __init__(
        self, encoder: Encoder, pooling: str, classes: int, head: str = "linear", interaction: str | None = None
    ) -> None:
        super().__init__()
        if head not in HEADS:
            raise ValueError(f"head={head} is not one of {', '.join(HEADS)}")
        if interaction not in {None, *INTERACTIONS}:
            raise ValueError(f"interaction={interaction} is not one of {', '.join(INTERACTIONS)}, or null")
        if interaction == "concat" and head == "linear":
            raise ValueError(
                "interaction=concat: a linear head adds what each document says and compares nothing; "
                "it needs head=mlp, or interaction=full"
            )
        self.encoder = encoder
        self.pooling = Pooling(pooling)
        if interaction and self.pooling.per_token:
            raise ValueError(f"interaction={interaction}: pooling=none leaves no vector of a document to compare")
        # One norm for each pool: means of embeddings are far smaller than means of normalised outputs.
        self.norms = nn.ModuleList(nn.LayerNorm(encoder.width) for _ in self.pooling.kinds)
        self.interaction = interaction
        width = len(self.norms) * encoder.width * {None: 1, "concat": 2, "full": 4}[interaction]
        self.temperature = 1.0  # logits are divided by it; training knows no other (Guo et al. 2017, arXiv:1706.04599)
        hidden = encoder.feedforward
        self.head = (
            nn.Linear(width, classes)
            if head == "linear"
            else nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, classes))
        )

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """ids (B, N) long, mask (B, N) bool, True = real token, or None -> logits (B, C) or (B, N, C).

        Of pairs ids and mask are (B, 2, N).
        """
        if self.interaction:
            ids, mask = ids.flatten(0, 1), None if mask is None else mask.flatten(0, 1)
        hidden, embedded = self.encoder(ids, mask)
        return self.score(self.pooling(hidden, embedded, mask))

    def score(self, pooled: list[Tensor]) -> Tensor:
        """One (..., M) a pool, of pairs (2B, M) -> logits (..., C)."""
        x = torch.cat([norm(p) for norm, p in zip(self.norms, pooled, strict=True)], dim=-1)
        if self.interaction:
            a, b = x.unflatten(0, (-1, 2)).unbind(1)
            x = torch.cat([a, b] if self.interaction == "concat" else [a, b, a * b, a - b], dim=-1)
        logits = self.head(x)
        return logits if self.temperature == 1 else logits / self.temperature


def ids_shape(model: nn.Module, rows: int, length: int) -> tuple[int, ...]:
    """The shape of the ids of so many rows: (B, N), or (B, 2, N) if the model reads pairs."""
    return (rows, 2, length) if getattr(model, "interaction", None) else (rows, length)
