"""Reading documents piece by piece, in memory that does not grow with them."""

from typing import Any

import torch
from torch import Tensor

from longdoc.models.classifier import Classifier


class Stream:
    """B documents of equal length, read at once by a causal classifier, as they come in pieces of any size.

    ``logits`` after the last piece are those of the whole documents. ``state`` is all that has been read: plain dicts,
    lists, numbers and tensors, which torch.save keeps and ``Stream(model, state)`` goes on from. With linear attention,
    windows and convolutions its size does not depend on how many tokens were read; softmax keeps every key and value.
    """

    def __init__(self, model: Classifier, state: dict[str, Any] | None = None) -> None:
        if not model.encoder.causal:
            raise ValueError("a stream needs attention.causal=true: without it the first token reads the last")
        if model.interaction:
            raise ValueError(f"interaction={model.interaction}: a stream reads one document, not a pair")
        if model.training:
            raise ValueError("a stream needs a model in evaluation mode: call model.eval() first")
        self.model = model
        self.state: dict[str, Any] = {"encoder": {}, "pools": {}} if state is None else state

    @torch.no_grad()
    def read(self, ids: Tensor) -> Tensor:
        """The next piece, ids (B, N) long, no padding, N >= 1 -> the encoder's output for it (B, N, M)."""
        hidden, embedded = self.model.encoder(ids, None, self.state["encoder"])
        self.model.pooling.gather(self.state["pools"], hidden, embedded)
        return hidden

    @torch.no_grad()
    def logits(self) -> Tensor:
        """Of the documents as far as they were read: (B, C); with the pooling ``none``, of their last tokens."""
        pooled = self.model.pooling.gathered(self.state["pools"], self.state["encoder"]["tokens"])
        dtype = next(self.model.head.parameters()).dtype
        return self.model.score([pool.to(dtype) for pool in pooled])
