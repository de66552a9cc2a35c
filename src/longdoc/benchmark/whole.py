"""Whole documents in pieces: time and peak memory against length, and how far the logits are from one pass's.

Float32, not compiled, on the CPU, over random ids.
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from longdoc.benchmark.trial import Point, Settings, classifier
from longdoc.models import Classifier, classify
from longdoc.speed import ProcessMemory

COMPARED = 2**17  # the most tokens that one pass reads for comparison
ROUNDS = 3


def _document(settings: Settings, variant: str, tokens: int) -> tuple[Classifier, Tensor]:
    model = classifier(settings, variant).eval()
    return model, torch.randint(settings.vocab, (1, tokens), generator=torch.Generator().manual_seed(settings.seed))


def measure_memory(settings: Settings, variant: str, tokens: int) -> Point:
    """Peak memory of a process that reads one document; to be called in a fresh one.

    peak_bytes is all the process's, of which bare_bytes, libraries and model, were there before the document.
    """
    model, ids = _document(settings, variant, tokens)
    memory = ProcessMemory(ids.device)
    classify(model, ids[:, :64], chunk=32)  # loads what loads late
    bare = memory.now()
    memory.reset_peak()
    classify(model, ids)
    return {"method": memory.method, "bare_bytes": bare, "peak_bytes": memory.peak()}


@torch.no_grad()
def measure_speed(settings: Settings, variant: str, tokens: int) -> Point:
    """Tokens a second, and up to COMPARED tokens how that compares with one pass.

    ``ratio``: seconds in pieces by seconds at once, the median of rounds in which they take turns.
    """
    model, ids = _document(settings, variant, tokens)

    def timed(read: Callable[[Tensor], Tensor]) -> tuple[Tensor, float]:
        start = time.perf_counter()
        return read(ids), time.perf_counter() - start

    if tokens > COMPARED:
        return {"tokens_per_second": tokens / timed(lambda ids: classify(model, ids))[1]}
    seconds, ratios = [], []
    for _ in range(ROUNDS):
        pieces, in_pieces = timed(lambda ids: classify(model, ids))
        whole, at_once = timed(model)
        seconds.append(in_pieces)
        ratios.append(in_pieces / at_once)
    return {
        "tokens_per_second": tokens / statistics.median(seconds),
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "relative_error": ((pieces - whole).abs().max() / whole.abs().max()).item(),
    }
