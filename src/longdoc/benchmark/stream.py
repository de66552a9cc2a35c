"""Reading as a stream: what a token costs early and late in a text, and what memory a long text takes."""

import statistics
import time

import torch
from torch import Tensor

from longdoc.benchmark.trial import Point, Settings, classifier
from longdoc.models import Classifier, Stream
from longdoc.speed import ProcessMemory

PIECE = 16_384  # tokens read at once
SETTLED = 16 * PIECE  # tokens behind which the allocator has found all it will need
EARLY, LATE = 10, 100_000
WHOLE = 2**20  # the most tokens that one call reads for comparison


def read(stream: Stream, ids: Tensor) -> Tensor:
    """Reads ids (1, N) in pieces; the output for the last token beside the logits (M + C,)."""
    for piece in ids.split(PIECE, dim=1):
        last = stream.read(piece)[0, -1].clone()  # a view would keep the whole piece
    return torch.cat([last, stream.logits()[0]])


def step_cost(model: Classifier, ids: Tensor, rounds: int = 500) -> Point:
    """Median seconds of reading one token behind EARLY and behind LATE others, taking turns, and their ratio."""
    streams = {tokens: Stream(model) for tokens in (EARLY, LATE)}
    seconds: dict[int, list[float]] = {tokens: [] for tokens in streams}
    for tokens, stream in streams.items():
        read(stream, ids[:, torch.arange(tokens) % ids.shape[1]])
    for i in range(rounds):
        for tokens in sorted(streams, reverse=i % 2 == 1):
            start = time.perf_counter()
            streams[tokens].read(ids[:, :1])
            seconds[tokens].append(time.perf_counter() - start)
    early, late = (statistics.median(seconds[tokens]) for tokens in (EARLY, LATE))
    return {"early_seconds": early, "late_seconds": late, "ratio": late / early, "rounds": rounds}


def long_text(model: Classifier, ids: Tensor) -> Point:
    """Tokens a second over ids (1, N), N > SETTLED, and the process's peak memory behind PIECE, SETTLED and all tokens.

    growth_bytes is from SETTLED on: 0 where memory does not depend on N.
    """
    memory = ProcessMemory(ids.device)
    memory.now()  # gives back what is free, where growth would hide
    memory.reset_peak()
    stream, start, peaks = Stream(model), time.perf_counter(), []
    for part in ids.tensor_split((PIECE, SETTLED), dim=1):
        read(stream, part)
        peaks.append(memory.peak())
    found = {"tokens": ids.shape[1], "tokens_per_second": ids.shape[1] / (time.perf_counter() - start)}
    return found | {"method": memory.method, "peak_bytes": peaks, "growth_bytes": peaks[-1] - peaks[-2]}


@torch.no_grad()
def agreement(model: Classifier, ids: Tensor) -> Point:
    """How far a stream's last output and logits are from one call's over the first WHOLE tokens: max|a-b| / max|b|."""
    ids = ids[:, :WHOLE]
    pieces = read(Stream(model), ids)
    hidden, embedded = model.encoder(ids)
    whole = torch.cat([hidden[0, -1], model.score(model.pooling(hidden, embedded, None))[0]])
    return {"tokens": ids.shape[1], "relative_error": ((pieces - whole).abs().max() / whole.abs().max()).item()}


def measure_stream(settings: Settings, variant: str, tokens: int) -> Point:
    """All three, of a variant made causal, on random ids."""
    model = classifier(settings, f"{variant} attention.causal=true").eval()
    ids = torch.randint(settings.vocab, (1, tokens), generator=torch.Generator().manual_seed(settings.seed))
    parts = {"step": step_cost(model, ids), "text": long_text(model, ids), "agreement": agreement(model, ids)}
    return {"variant": variant, "piece": PIECE, **parts}
