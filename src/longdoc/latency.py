"""What it costs to classify one document, by its length: seconds, and memory in a process of its own."""

import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Group
from rich.table import Table
from rich.text import Text

from longdoc.benchmark.memory import memory_in_child
from longdoc.benchmark.trial import Point
from longdoc.errors import one_sentence
from longdoc.evaluation import default_device
from longdoc.export import Loaded
from longdoc.models import whole
from longdoc.prediction import SPLIT, tokens_of
from longdoc.speed import ProcessMemory
from longdoc.tasks.base import Task
from longdoc.tasks.cache import Documents, save_documents, save_pairs
from longdoc.training.scores import Batch

ROUNDS, ENOUGH = 7, 20.0  # readings, or as many as this many seconds hold


class Reader:
    """Reads one document, or pair, of ``tokens`` random tokens each as an evaluation does: by the same windows.

    read: how many of its tokens that is.
    """

    def __init__(self, loaded: Loaded, task: Task, tokens: int) -> None:
        self.device = torch.device(default_device())
        self.model = loaded.model.to(self.device).eval()
        rng = np.random.default_rng(0)
        ids = rng.integers(1, task.vocab_size, size=(1 + task.pairs, tokens))  # 0 is padding
        classes = len(task.classes) if task.multi_label else None
        with tempfile.TemporaryDirectory(prefix="longdoc-") as folder:
            place = Path(folder) / "document"
            if task.pairs:
                label = 0 if classes is None else np.zeros(classes, bool)
                save_pairs(place, [(*ids, label)], task.vocab_size, classes)
            else:
                save_documents(place, ids, None, task.vocab_size, classes)
            task.hold(SPLIT, Documents(place))
            self.read = int(tokens_of(task, SPLIT)[1].sum())
            self.batches: list[Batch] = [*task.eval_dataloader(SPLIT)]

    @torch.inference_mode()
    def seconds(self) -> float:
        """From ids on the CPU to logits there."""
        start = time.perf_counter()
        for batch in self.batches:
            mask = None if batch["mask"] is None else batch["mask"].to(self.device)
            whole.logits(self.model, batch["ids"].to(self.device), mask).cpu()
        return time.perf_counter() - start


def memory_point(loaded: Loaded, task: Task, tokens: int) -> Point:
    """Peak memory above the idle model while one document is read; to be called in a fresh process."""
    Reader(loaded, task, min(16, tokens)).seconds()  # loads what loads late
    reader = Reader(loaded, task, tokens)
    memory = ProcessMemory(reader.device)
    idle = memory.now()
    memory.reset_peak()
    reader.seconds()
    return {"method": memory.method, "idle_bytes": idle, "peak_bytes": memory.peak()}


def latency(loaded: Loaded, task: Task, lengths: Iterable[int], child: Sequence[str], name: str) -> list[Point]:
    """A point for each length: ``tokens``, those ``read``, median, ``min`` and ``max`` ``seconds`` of so many
    ``rounds``, and ``memory``; or the ``error``, as where positions do not reach.

    child: the command that, with ``name`` and a length behind it, prints the ``memory_point`` of a fresh process.
    """
    points: list[Point] = []
    for tokens in lengths:
        try:
            timed = _timed(Reader(loaded, task, tokens))
            points.append({"tokens": tokens, **timed, "memory": memory_in_child(child, name, tokens), "error": None})
        except (ValueError, IndexError, RuntimeError, MemoryError, OSError) as error:
            points.append({"tokens": tokens, "error": one_sentence(error)})
    return points


def _timed(reader: Reader) -> Point:
    reader.seconds()  # what is slow only once is no latency
    seconds = [reader.seconds()]
    while len(seconds) < ROUNDS and sum(seconds) + seconds[-1] < ENOUGH:
        seconds.append(reader.seconds())
    spread = {"seconds": statistics.median(seconds), "min": min(seconds), "max": max(seconds)}
    return {"read": reader.read, "rounds": len(seconds), **spread}


def latency_table(points: Sequence[Point]) -> Group:
    """A row a length, and below them what was wrong with others."""
    table = Table(box=None, pad_edge=False)
    for name in ("tokens", "read", "ms", "least", "most", "MB while reading"):
        table.add_column(name, justify="right")
    for point in points:
        if not point["error"]:
            times = (f"{1000 * point[key]:,.1f}" for key in ("seconds", "min", "max"))
            memory = (point["memory"]["peak_bytes"] - point["memory"]["idle_bytes"]) / 1e6
            table.add_row(f"{point['tokens']:,}", f"{point['read']:,}", *times, f"{memory:,.1f}")
    return Group(table, *(Text(f"{p['tokens']:,} tokens: {p['error']}", "red") for p in points if p["error"]))
