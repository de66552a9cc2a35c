"""Small ListOps splits for several tests."""

from collections.abc import Iterator

import numpy as np

from longdoc.tasks.listops_generator import generate
from longdoc.tasks.listops_language import Rows

SMALL = {"max_depth": 6, "min_length": 20, "max_length": 200}


def each_row(rows: Rows) -> Iterator[np.ndarray]:
    for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        yield rows.ids[start:end]


def small_splits() -> dict[str, Rows]:
    """Short expressions: 3,000 to train on, 500 and 500 to evaluate."""
    return generate({"train": 3000, "validation": 500, "test": 500}, seed=7, **SMALL)
