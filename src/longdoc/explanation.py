"""Which passages of a document moved the decision: each is left out in turn (Zeiler and Fergus 2014, section 2.2)."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from longdoc.evaluation import default_device
from longdoc.export import Loaded
from longdoc.models import whole as reading
from longdoc.prediction import SPLIT, encode, score_windows, task_of_texts
from longdoc.tasks.base import Task
from longdoc.tasks.buckets import shown

PASSAGES = 32  # at most about so many in what a model sees at once
SHORTEST = 8  # tokens of a passage, unless the document has fewer


@dataclass(frozen=True)
class Passage:
    """Tokens ``start`` to ``end`` of a document, and its ``text``.

    weight: by how much the class's log-odds would fall without it; below 0 it speaks against the class.
    """

    start: int
    end: int
    text: str
    weight: float


@dataclass(frozen=True)
class Explanation:
    """The passages of a document that were read, in its order, and the class whose log-odds they moved."""

    label: str
    probability: float
    tokens: int
    passages: list[Passage]

    def top(self, count: int) -> list[Passage]:
        """Those that moved the decision most, in either direction, the heaviest first."""
        return sorted(self.passages, key=lambda passage: -abs(passage.weight))[:count]


def explain(
    loaded: Loaded, text: str, max_length: int | None = None, whole: bool = False, device: str | None = None
) -> Explanation:
    """What moved the likeliest class of a text; options as ``predict`` has them.

    It takes the time of some 33 predictions: what the model sees at once is read again without each of its passages.
    Where windows are averaged, so are their weights.

    Raises what ``predict`` raises, and ValueError for pairs.
    """
    task = task_of_texts(loaded, max_length, whole)
    if task.pairs:
        raise ValueError(f"a checkpoint of task={task.name} reads pairs of documents: no passage of one decides alone")
    with tempfile.TemporaryDirectory(prefix="longdoc-") as folder:
        documents = encode(task, [text], Path(folder) / "documents")
        task.hold(SPLIT, documents)
        loader = task.eval_dataloader(SPLIT)
        sampler: Any = loader.batch_sampler
        collate: Any = loader.collate_fn
        ids = np.array(documents.ids(0))
        places = [shown(np.arange(len(ids)), span, collate.ends) for batch in sampler.batches for span in batch]
    place = torch.device(device or default_device())
    loaded.model.to(place)
    edges = _edges(task, ids, max(SHORTEST, -(-max(map(len, places)) // PASSAGES)))
    number = np.searchsorted(edges, np.arange(len(ids)), side="right") - 1  # of each token's passage

    found: list[tuple[NDArray[np.int64], Tensor]] = []  # passages of a window, and logits with all, and without each
    for window in places:
        inside = np.unique(number[window])
        rows = [ids[window], *(ids[window[number[window] != passage]] for passage in inside)]
        found.append((inside, _logits(loaded, task, rows, place)))
    scores = score_windows(loaded, task, torch.stack([logits[0] for _, logits in found]))
    probabilities = scores.probabilities()[1][0]
    best = int(probabilities.argmax())
    weights = np.zeros(len(edges))
    for inside, logits in found:
        odds = _log_odds(logits, best, task.multi_label)
        weights[inside] += (odds[0] - odds[1:]).numpy() / len(found)

    read = np.unique(np.concatenate(places)) if len(ids) else np.empty(0, np.int64)
    passages = []
    for passage in np.unique(number[read]).tolist():
        at = read[number[read] == passage]
        start, end = int(at[0]), int(at[-1]) + 1
        passages.append(Passage(start, end, task.decode(ids[start:end]), float(weights[passage])))
    return Explanation(task.classes[best], float(probabilities[best]), len(ids), passages)


def _edges(task: Task, ids: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Where passages of some ``size`` tokens begin: before a word if there is one within as many tokens."""
    texts = {int(token): task.decode(np.array([token])) for token in np.unique(ids)}
    words = np.array([texts[int(token)][:1].isspace() for token in ids], bool)
    edges, end = [0], size
    while end < len(ids):
        ahead = np.flatnonzero(words[end : end + size])
        end += int(ahead[0]) if len(ahead) else 0
        edges.append(end)
        end += size
    return np.array(edges)


def _logits(loaded: Loaded, task: Task, rows: list[NDArray[Any]], place: torch.device) -> Tensor:
    """Rows of ids, the first the longest -> (rows, C), float64."""
    length = max(1, len(rows[0]))
    size, parts = task.batch_size.rows_of(length), []
    for first in range(0, len(rows), size):
        group = rows[first : first + size]
        lengths = torch.tensor([len(row) for row in group], device=place)
        ids = torch.zeros(len(group), length, dtype=torch.long)
        for i, row in enumerate(group):
            ids[i, : len(row)] = torch.from_numpy(row.astype(np.int64))
        mask = torch.arange(length, device=place) < lengths[:, None]
        with torch.inference_mode():
            parts.append(reading.logits(loaded.model, ids.to(place), mask).double().cpu())
    return torch.cat(parts)


def _log_odds(logits: Tensor, label: int, multi_label: bool) -> Tensor:
    """(W, C) -> (W,), log p - log(1 - p) of a class."""
    if multi_label:
        return logits[:, label]
    others = torch.arange(logits.shape[1]) != label
    return logits[:, label] - logits[:, others].logsumexp(-1)
