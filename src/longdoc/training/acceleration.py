"""bf16 and compilation: what this machine can do, and doing it before the clock starts."""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from longdoc.models import ids_shape


@cache
def compiler_error(device: str) -> str | None:
    """Why torch.compile does not work here (no compiler, no Python headers), or None where it does."""
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.ones(8, device=device))
    except Exception as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return None


def choose_precision(wanted: str, device: str, say: Callable[[str], None]) -> str:
    """``auto`` is bf16-mixed where the hardware multiplies bf16 natively, else 32-true and a line; other words stay."""
    if wanted != "auto":
        return wanted
    if device == "cuda":
        native = torch.cuda.is_bf16_supported()
    else:
        native = device == "cpu" and torch.cpu._is_avx512_bf16_supported()
    if not native:
        say("training runs in float32, since this processor does not multiply bfloat16 natively")
    return "bf16-mixed" if native else "32-true"


def choose_compile(wanted: bool | str, device: str, say: Callable[[str], None]) -> bool:
    """``auto`` compiles where a tiny function compiles here; where it does not, one line says why."""
    if wanted not in (True, False, "auto"):
        raise ValueError(f"trainer.compile={wanted} must be true, false or auto")
    if wanted is False:
        return False
    reason = compiler_error(device)
    if reason is None:
        return True
    if wanted is True:
        raise RuntimeError(f"trainer.compile=true, but torch.compile does not work here: {reason}")
    say(f"training is not compiled, since torch.compile does not work here: {reason}")
    return False


def compile_ahead(
    model: nn.Module,
    shapes: Iterable[tuple[int, int, bool]],
    device: torch.device,
    autocast: Callable[[], AbstractContextManager],
) -> float:
    """Compiles ``model`` in place for every training shape (length, rows, padded); returns the seconds it took.

    A shape that was not planned is an error later: dynamo would otherwise fall back to eager, with no more than a
    warning, after its limit. Parameters, buffers, gradients and random state are left as they were.
    """
    shapes = list(shapes)
    torch.compiler.reset()  # a job of a sweep must not inherit the recompilations of the jobs before
    torch._dynamo.config.recompile_limit = len(shapes) + 1
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    # Inductor's own random numbers do not vectorise on a CPU: dropout would cost more than the matrix products.
    torch._inductor.config.fallback_random = device.type == "cpu"
    model.compile(dynamic=False)
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]  # some gather what a training forward sees
    start = time.monotonic()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for length, rows, padded in shapes:
            ids = torch.zeros(ids_shape(model, rows, length), dtype=torch.long, device=device)
            mask = torch.ones_like(ids, dtype=torch.bool) if padded else None
            with autocast():
                logits = model(ids, mask)
            logits = logits.float().flatten(0, -2)  # a row a document, or one a token
            F.cross_entropy(logits, ids.new_zeros(len(logits))).backward()
    model.zero_grad(set_to_none=True)
    for buffer, before in buffers:
        buffer.copy_(before)
    return time.monotonic() - start
