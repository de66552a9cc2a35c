"""What tasks share that draw their own documents from a seed."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.cache import cached, save_documents


class Generated(Task):
    """A subclass defines ``learn`` and ``draw``, or ``generate`` itself, by what stands in ``self.rules``.

    sizes: rows of train, validation and test.
    data_seed: decides the documents, apart from the run's seed, so that runs share them.
    """

    source = "generated"

    def __init__(self, sizes: dict[str, int], data_seed: int = 0, **options: Any) -> None:
        super().__init__(**options)
        if set(sizes) != set(SPLITS) or min(sizes.values()) < 1:
            raise ValueError(f"task.sizes={sizes} must give train, validation and test at least one row each")
        if data_seed < 0:
            raise ValueError(f"task.data_seed={data_seed} must not be negative")
        self.rules: dict[str, Any] = {"sizes": sizes, "seed": data_seed}

    def draw(self, rng: np.random.Generator, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """ids (rows, N) and labels (rows,), or (rows, N) where tokens have them."""
        raise NotImplementedError

    def generate(self, folder: Path) -> None:
        """Writes every split; each has a stream of random numbers of its own."""
        for number, split in enumerate(SPLITS):
            rng = np.random.default_rng([self.rules["seed"], number])
            ids, labels = self.draw(rng, self.rules["sizes"][split])
            save_documents(folder / split, ids, labels, self.vocab_size)

    def encode(self, split: str) -> Path:
        # numpy's major version is part of the key, since its random streams may change with it.
        key = {"task": self.name, "version": 1, "numpy": np.__version__.split(".")[0], **self.rules}
        return cached(self.cache, key, self.generate) / split


def choose_source(source: str | None, data: str | None, folder: str) -> tuple[str, str | None]:
    """The source, generated or local, and the folder of a task that knows both; null is local where ``data`` is given.

    folder: where local files are looked for by default.
    """
    source = source or ("generated" if data is None else "local")
    if source not in ("generated", "local"):
        raise ValueError(f"task.source={source} is not one of generated, local")
    if source == "generated" and data is not None:
        raise ValueError(f"task.source=generated reads nothing from task.data={data}; leave one of the two out")
    return source, data or (folder if source == "local" else None)
