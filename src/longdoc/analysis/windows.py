"""How far the decays of conf/decay see before training."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from longdoc.analysis.measures import decay_profile, effective_window
from longdoc.analysis.subjects import Inputs, Row, read
from longdoc.build import build

POINTS = 40


def decays(conf: Path, inputs: Inputs) -> list[Row]:
    """A row a decay that forgets, on normal inputs (N, M); features are as many as the head dim."""
    torch.manual_seed(inputs.seed)
    x = torch.randn(1, inputs.tokens, inputs.heads * inputs.head_dim)
    rows = []
    for path in sorted((conf / "decay").glob("*.yaml")):
        module = build(read(conf, "decay", path.stem))(inputs.head_dim, inputs.heads, inputs.head_dim)
        with torch.no_grad():
            log_decay = module(x)
        if log_decay is not None:
            rows.append({"decay": path.stem, **describe(log_decay, inputs.tokens)})
    return rows


def describe(log_decay: Tensor, tokens: int) -> Row:
    """Effective windows in tokens and the profile at some distances, a list a head; by channel [head][channel]."""
    profile = decay_profile(log_decay, tokens)
    windows = effective_window(profile)
    distances = _spread(tokens)
    return {
        "windows": windows.tolist(),
        "shortest": windows.min().item(),
        "longest": windows.max().item(),
        "distances": distances,
        "profiles": profile[..., distances].tolist(),
    }


def _spread(tokens: int) -> Sequence[int]:
    """Distances 1 .. N-1, evenly on a log axis."""
    return sorted({round(d) for d in torch.logspace(0, torch.tensor(tokens - 1.0).log10().item(), POINTS).tolist()})
