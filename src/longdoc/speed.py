"""What a model costs: operations, the largest tensor, memory, and where one model overtakes another.

Costs of a shape are read off a run on fake tensors, which have shapes but no data: exact for any length, in
milliseconds and without memory. Imports torch alone.
"""

import ctypes
import gc
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from longdoc.models import ids_shape

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")


def _fused_cpu_attention(q: Any, k: Any, v: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return sdpa_flop_count(q, k, v)


# FlopCounterMode knows the fused kernels of GPUs only; on a CPU softmax attention would count as nothing.
FORMULAS: dict[Any, Any] = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _fused_cpu_attention}


@contextmanager
def _fake_documents(model: nn.Module, rows: int, length: int) -> Iterator[Tensor]:
    """Fake ids of ``ids_shape`` on the model's device; meanwhile nothing is computed, nor compiled."""
    device = next(model.parameters()).device
    with torch.compiler.set_stance("force_eager"), FakeTensorMode(allow_non_fake_inputs=True):
        yield torch.zeros(ids_shape(model, rows, length), dtype=torch.long, device=device)


def flops_per_token(model: nn.Module, length: int) -> float:
    """Floating point operations of one forward pass over one document, or pair of them, of ``length`` tokens, by token.

    Matrix products and fused attention, a multiplication and an addition counted as two; elementwise work is
    not counted. A training step costs about three times as many.
    """
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    with torch.no_grad(), _fake_documents(model, 1, length) as ids, counter:
        model(ids)
    return counter.get_total_flops() / ids.numel()


class _Largest(TorchDispatchMode):
    """Remembers the most elements in the storage of any tensor made; an expanded view takes no new memory."""

    elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                size = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.elements = max(self.elements, size)
        return result


def largest_tensor(model: nn.Module, rows: int, length: int) -> int:
    """Elements of the largest tensor that an eager forward and backward over (rows, length) makes.

    Gradients of the weights count too. What a fused kernel keeps to itself does not show.
    """
    with _fake_documents(model, rows, length) as ids, _Largest() as largest:
        torch.autograd.grad(model(ids).sum(), [p for p in model.parameters() if p.requires_grad])
    return largest.elements


def keep_freed_memory() -> None:
    """Makes glibc's allocator keep what is freed for the next step, which wants the same sizes again.

    Handing tens of MB back to the kernel after every step, and taking them anew page by page, costs a third of a
    training step on a CPU, and half of the time of a long document. Elsewhere than on glibc this does nothing.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        trim_threshold, mmap_max = -1, -4  # from malloc.h
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(mmap_max, 0)


class ProcessMemory:
    """Memory of this process in bytes: resident on a CPU, allocated by PyTorch on a GPU.

    ``method`` says how the peak is read: ``cuda``; ``VmHWM``, which Linux can reset; or ``ru_maxrss``, the
    peak since the process began, which then includes compilation.
    """

    def __init__(self, device: torch.device) -> None:
        self.method = "cuda" if device.type == "cuda" else "VmHWM"
        try:
            self.reset_peak()
            self.now()
        except OSError:  # not Linux, or a container that forbids it
            self.method = "ru_maxrss"

    def _status(self, key: str) -> int:
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key + ":"))
        return int(line.split()[1]) * 1024

    def now(self) -> int:
        """Bytes in use once garbage and free heap are given back."""
        gc.collect()
        if self.method == "cuda":
            return torch.cuda.memory_allocated()
        if self.method == "ru_maxrss":
            return self.peak()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc alone has it
            trim(0)
        return self._status("VmRSS")

    def reset_peak(self) -> None:
        if self.method == "cuda":
            torch.cuda.reset_peak_memory_stats()
        elif self.method == "VmHWM":
            CLEAR_REFS.write_text("5")  # see proc_pid_clear_refs(5)

    def peak(self) -> int:
        """The most bytes in use since ``reset_peak``."""
        if self.method == "cuda":
            return torch.cuda.max_memory_allocated()
        if self.method == "VmHWM":
            return self._status("VmHWM")
        import resource  # Unix alone has it

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def crossover(lengths: Sequence[int], ratios: Sequence[float]) -> float | None:
    """The smallest length from which ``ratios`` stay above 1, interpolated on log-log axes.

    ``lengths`` ascend. None if the last ratio is not above 1; the first length, meaning "there or before", if
    all are.
    """
    slower = [i for i, ratio in enumerate(ratios) if ratio <= 1]
    if not slower:
        return float(lengths[0])
    last = slower[-1]
    if last == len(lengths) - 1:
        return None
    low, high = math.log(ratios[last]), math.log(ratios[last + 1])
    step = math.log(lengths[last + 1] / lengths[last])
    return lengths[last] * math.exp(step * -low / (high - low))
