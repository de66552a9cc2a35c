"""Writing a text on, token by token: a causal classifier whose labels are the next tokens, read as a stream."""

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream
from torch import Tensor, nn

from longdoc.export import Loaded
from longdoc.models import Stream
from longdoc.tasks.next_token import NextToken

PADDING = 0  # no text has it
PIECE = 4096  # tokens read at once
BLOCK = 2**20  # characters encoded at once
# Pre-tokens begin with their white space: a text cut before it has the tokens of the whole.
CUT = re.compile(r".*\S(?=\s)", re.DOTALL)


@dataclass(frozen=True)
class Sampling:
    """From logits (..., C) to ids (...): a draw from softmax(logits / temperature) over the ``top_k`` highest.

    temperature: 0 for the highest logit. top_k: None for all.
    """

    temperature: float = 1.0
    top_k: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise ValueError(f"the temperature {self.temperature} must be finite and at least 0")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top-k {self.top_k} must be at least 1")

    def __call__(self, logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
        if self.temperature == 0:
            return logits.argmax(-1)
        logits = logits.double()
        if self.top_k is not None:
            best = logits.topk(min(self.top_k, logits.shape[-1]))
            logits = torch.full_like(logits, -math.inf).scatter(-1, best.indices, best.values)
        # From the highest down, so that no temperature overflows.
        weights = ((logits - logits.amax(-1, keepdim=True)) / self.temperature).softmax(-1)
        return torch.multinomial(weights, 1, generator=generator).squeeze(-1)


def generate(stream: Stream, sampling: Sampling, generator: torch.Generator | None = None) -> Iterator[int]:
    """Ids behind what the stream, of one text, has read, without end; each is read before it is handed out."""
    while True:
        logits = stream.logits()
        logits[:, PADDING] = -math.inf
        chosen = sampling(logits, generator)
        stream.read(chosen[:, None])
        yield int(chosen)


def encode(tokenizer: Tokenizer, file: TextIO, block: int = BLOCK) -> Iterator[Tensor]:
    """The token ids of a text in pieces (1, N), N <= PIECE, holding little of it at a time."""
    rest = ""
    while new := file.read(block):
        rest += new
        if cut := CUT.match(rest):
            yield from _pieces(tokenizer, cut.group())
            rest = rest[cut.end() :]
    if rest:
        yield from _pieces(tokenizer, rest)


def _pieces(tokenizer: Tokenizer, text: str) -> tuple[Tensor, ...]:
    return torch.tensor([tokenizer.encode(text, add_special_tokens=False).ids]).split(PIECE, dim=1)


def fingerprint(model: nn.Module) -> str:
    """A hash of the weights."""
    digest = hashlib.sha256()
    for name, weight in model.state_dict().items():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(weight.contiguous().numpy().tobytes())
    return digest.hexdigest()


@dataclass
class Writer:
    """A text in the making: what was read, and the random numbers to come.

    ``pending`` are the last ids, if they end within a character.
    """

    stream: Stream
    tokenizer: Tokenizer
    generator: torch.Generator
    pending: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, loaded: Loaded) -> "Writer":
        """Raises ValueError unless the checkpoint's labels are the next tokens and its attention is causal."""
        task = loaded.task()
        if not isinstance(task, NextToken):
            raise ValueError(f"a checkpoint of task={task.name} cannot write; train one with task=next_token")
        tokenizer = Tokenizer.from_str(loaded.task_state["tokenizer"])
        tokenizer.encode_special_tokens = True  # as in training: "[PAD]" in a text is text
        return cls(Stream(loaded.model), tokenizer, torch.Generator())

    @property
    def tokens(self) -> int:
        """How many were read."""
        return self.stream.state["encoder"].get("tokens", 0)

    def read(self, file: TextIO) -> Iterator[int]:
        """Reads a text behind what is there, handing out how many tokens of it were read so far."""
        before = self.tokens
        for piece in encode(self.tokenizer, file):
            self.stream.read(piece)
            self.pending = []  # the text ends a character that was begun
            yield self.tokens - before

    def write(self, tokens: int, sampling: Sampling) -> Iterator[str]:
        """The text of so many more tokens as it comes, by whole characters: a token without one gives ""."""
        decoder = DecodeStream(ids=self.pending)
        for _, chosen in zip(range(tokens), generate(self.stream, sampling, self.generator), strict=False):
            text = decoder.step(self.tokenizer, chosen)
            self.pending = [*self.pending, chosen] if text is None else []
            yield text or ""

    def save(self, path: Path) -> None:
        """Writes what another process needs to go on."""
        state = {"stream": self.stream.state, "generator": self.generator.get_state(), "pending": self.pending}
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"weights": fingerprint(self.stream.model)} | state, path)

    def load(self, path: Path) -> None:
        """Goes on from a saved state; raises ValueError if it is none, or of other weights."""
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there; --save-state writes one")
        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
            weights = state["weights"]
        except Exception as error:
            raise ValueError(f"{path} is not a state of generate.py ({type(error).__name__}: {error})") from error
        if weights != fingerprint(self.stream.model):
            raise ValueError(f"{path} was read by another model; a state goes on with the weights that it came from")
        self.stream.state, self.pending = state["stream"], state["pending"]
        self.generator.set_state(state["generator"])
