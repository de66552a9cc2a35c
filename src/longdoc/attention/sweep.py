"""Linear attention of both directions over one sequence in pieces, in memory that one piece needs."""

from functools import partial

import torch
from torch import Tensor

from longdoc.attention.linear import LinearAttention
from longdoc.attention.multihead import MultiHeadAttention
from longdoc.attention.ops import Rotate, State, attend_between, attend_to, gather
from longdoc.attention.rotary import rotate


class Sweep:
    """What MultiHeadAttention gives for a whole sequence, by passes over pieces of any size, without padding.

    ``survey`` every piece, in any order, if ``surveys``; ``gather`` every piece, from the last to the first; ``read``
    every piece, from the first to the last. Without decay the keys and values are made once, in ``gather``, which keeps
    one state; with a decay twice, and a state behind each piece is kept until the piece is read.
    """

    def __init__(self, attention: MultiHeadAttention) -> None:
        assert isinstance(attention.mixer, LinearAttention)
        self.attention, self.mixer = attention, attention.mixer
        self.surveys = not self.mixer.feature_map.causal
        self.summary: Tensor | None = None
        self.forgets = True
        self.before: State = {}
        self.behind: list[State] = []
        self.whole: State = {}

    def survey(self, x: Tensor) -> None:
        """A piece (B, N, M), for a map whose keys need the whole sequence."""
        k = self.attention.keys_values(x)[0]
        with _no_autocast(x):
            self.summary = self.mixer.feature_map.summarize(_wide(k), self.summary)

    def gather(self, x: Tensor, positions: Tensor) -> None:
        """A piece (B, N, M) at positions (N,)."""
        k, v, log_decay = self._keys_values(x, positions)
        self.forgets = log_decay is not None
        if self.forgets:
            self.behind.append(self.whole)
        with _no_autocast(x):
            self.whole = gather(k, v, self.whole, log_decay, self._turn(positions))

    def read(self, x: Tensor, positions: Tensor) -> Tensor:
        """A piece (B, N, M) at positions (N,) -> (B, N, M)."""
        queries, turn, normalizer = self.attention.queries(x), self._turn(positions), self.mixer.normalizer
        k, v, log_decay = self._keys_values(x, positions) if self.forgets else (None, None, None)
        with _no_autocast(x):
            q = self.mixer.feature_map.query(_wide(queries), positions)
            if k is None or v is None or log_decay is None:
                out = attend_to(q, self.whole, turn, normalizer)
            else:
                behind = self.behind.pop()
                out, self.before = attend_between(q, k, v, self.before, behind, self.whole, log_decay, turn, normalizer)
            out = self.mixer.finish(out).to(queries.dtype)
        return self.attention.join(x, out)

    def _keys_values(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Features of the keys, values and log decay."""
        k, v, read = self.attention.keys_values(x)
        with _no_autocast(x):
            log_decay = self.mixer.decay(_wide(read))
            return self.mixer.feature_map.key_within(_wide(k), positions, self.summary), _wide(v), log_decay

    def _turn(self, positions: Tensor) -> Rotate | None:
        return partial(rotate, positions=positions) if self.attention.rotary else None


def _no_autocast(x: Tensor) -> torch.autocast:
    return torch.autocast(x.device.type, enabled=False)


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
