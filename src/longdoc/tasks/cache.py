"""Encoded documents on disk: built once, never half."""

import hashlib
import json
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from filelock import FileLock
from numpy.typing import NDArray

datasets.disable_progress_bars()  # ours say what is being done, and for which split

PROJECT = Path(__file__).resolve().parents[3]


def resolve(path: str | Path) -> Path:
    """An absolute path as it stands; else below the working directory if it is there, else below the project's."""
    here = Path.cwd() / path
    return here if here.exists() else PROJECT / path


def file_sha256(path: Path) -> str:
    """The content's hash, so that a changed file under an old name is a new key."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cached(folder: Path, key: dict[str, Any], build: Callable[[Path], object]) -> Path:
    """The folder that ``build`` filled for ``key``, built now if it is not there.

    The name is a hash of the plain JSON ``key``, which must hold all that decides the content. The build happens
    under a lock, beside its place, and is renamed when it is whole: two jobs at once build once, and a killed
    one leaves nothing that a later one would take for good.
    """
    text = json.dumps(key, sort_keys=True)
    place = folder / hashlib.sha256(text.encode()).hexdigest()[:20]
    if place.exists():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_suffix(".lock")):
        if not place.exists():
            aside = place.with_suffix(".partial")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            build(aside)
            (aside / "key.json").write_text(text)
            aside.rename(place)
    return place


def save_documents(place: Path, ids: Iterable[NDArray[Any]], labels: list[int], vocab_size: int) -> None:
    """Writes rows (ids, label) as an Arrow data set, ids in the smallest integer type that holds them."""
    dtype = np.min_scalar_type(vocab_size - 1)
    rows = [np.asarray(row, dtype=dtype) for row in ids]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = np.concatenate([np.empty(0, dtype), *rows])
    column = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat))
    table = pa.table({"ids": column, "label": pa.array(labels, pa.int64())})
    datasets.Dataset(datasets.table.InMemoryTable(table)).save_to_disk(place)


class Documents:
    """The encoded documents of one split, memory-mapped: ``ids(row)`` is a view, not a copy."""

    def __init__(self, place: Path) -> None:
        self.dataset = datasets.load_from_disk(str(place))
        columns = self.dataset.data.column("ids").chunks
        self._flat = [chunk.values.to_numpy() for chunk in columns]
        self._offsets = [chunk.offsets.to_numpy() for chunk in columns]
        self._starts = [0, *np.cumsum([len(chunk) for chunk in columns]).tolist()]
        self.lengths: NDArray[np.int64] = np.concatenate([np.diff(o) for o in self._offsets])
        self.labels: NDArray[np.int64] = np.asarray(self.dataset.data.column("label").to_numpy())

    def __len__(self) -> int:
        return len(self.lengths)

    def ids(self, row: int) -> NDArray[Any]:
        """The token ids of a document, (N,), in the type they are stored in."""
        chunk = bisect_right(self._starts, row) - 1
        start, end = self._offsets[chunk][row - self._starts[chunk] :][:2]
        return self._flat[chunk][start:end]
