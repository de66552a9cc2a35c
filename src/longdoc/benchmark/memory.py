"""Peak memory of a training step, in a process of its own, because memory once used blurs what follows."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from longdoc.benchmark.trial import Point, Settings, Trial
from longdoc.speed import ProcessMemory

STEPS = 2

# Freed blocks go back to the system at once, so that a peak counts live tensors, not the allocator's slack.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}


def tensor_bytes(tensors: Iterable[Any]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def measure_memory(settings: Settings, variant: str, length: int) -> Point:
    """Peak memory of training steps; to be called in a fresh process with MALLOC set.

    bare   the process with its libraries, the compiler among them, before the model is made
    idle   with the compiled model, its weights and the optimizer's state, between steps
    peak   the most during the steps

    What grows with the tokens is peak - idle; idle - bare hardly depends on them.
    """
    memory = ProcessMemory(torch.device(settings.device))
    # A throw-away model loads what loads late: the compiler, kernels, thread pools.
    tiny = replace(settings, tokens=1, width=settings.heads * 4, feedforward=16, vocab=8)
    Trial(tiny, variant, 16).step("train")
    torch.compiler.reset()
    bare = memory.now()
    trial = Trial(settings, variant, length)
    first = trial.step("train")
    steps = STEPS if first < settings.max_seconds_per_point else 1
    idle = memory.now()
    memory.reset_peak()
    for _ in range(steps):
        trial.step("train")
    peak = memory.peak()
    tokens = trial.rows * length
    state = [value for states in trial.optimizer.state.values() for value in states.values()]
    return {
        "method": memory.method,
        "steps": steps,
        "bare_bytes": bare,
        "idle_bytes": idle,
        "peak_bytes": peak,
        "model_bytes": tensor_bytes([*trial.model.parameters(), *trial.model.buffers()]),
        "optimizer_bytes": tensor_bytes(state),
        "bytes_per_token": (peak - idle) / tokens,
        "bytes_per_token_with_model": (peak - bare) / tokens,
    }


def memory_in_child(command: Sequence[str], variant: str, length: int) -> Point:
    """What ``command`` finds, called with the variant and the length; its last line is the JSON of the above."""
    command = [*command, variant, str(length)]
    child = subprocess.run(command, env=os.environ | MALLOC, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode:
        raise RuntimeError(f"memory of {variant} at {length} tokens: exit status {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])
