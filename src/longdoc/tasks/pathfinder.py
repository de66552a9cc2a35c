"""Pathfinder and Path-X of the Long Range Arena: are the two discs the ends of one dashed contour?"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import Progress

from longdoc.tasks.base import SPLITS
from longdoc.tasks.cache import cached, save_documents
from longdoc.tasks.generated import Generated, choose_source
from longdoc.tasks.pathfinder_drawing import parameters
from longdoc.tasks.pathfinder_files import folder_of, read_released, rows
from longdoc.tasks.pathfinder_generator import Images, generate

FOLDER = "data/lra_release"
LEVELS = 256


class Pathfinder(Generated):
    """Images of dashed contours (Linsley et al. 2018, Tay et al. 2021), row by row, a token for each pixel.

    The id of gray level g is g + 1. The task's name is pathx for images of 128 x 128.

    source: ``generated`` draws images (see pathfinder_generator); ``local`` reads LRA's release from ``data``;
        null is local where ``data`` is given.
    size: side of the images, 32 or 128.
    difficulty: ``curv_baseline``, ``curv_contour_length_9`` or, in LRA's tables, ``curv_contour_length_14``.
    sizes, data_seed: of generated images, as of every generated task; LRA's sizes are 160,000 / 20,000 / 20,000.
    processes: to generate with, null for one a core; the result is the same.
    data: the folder lra_release (see pathfinder_files).
    split_seed: of released images; null takes the first 80 % for training, the next 10 % for validation and the last
        for test, as LRA; a number shuffles them before, with 42 into the splits of S4.
    leave_out: images of the release, relative to ``data``, that are not read; how many is told and is in ``state``.
    """

    def __init__(
        self,
        source: str | None = None,
        size: int = 32,
        difficulty: str = "curv_contour_length_14",
        processes: int | None = None,
        data: str | None = None,
        split_seed: int | None = None,
        leave_out: Sequence[str] = (),
        **options: Any,
    ) -> None:
        source, data = choose_source(source, data, FOLDER)
        super().__init__(data=data, **options)
        parameters(size, difficulty)  # raises if there are none
        if processes is not None and processes < 1:
            raise ValueError(f"task.processes={processes} must be at least 1")
        if self.max_length < size**2:
            raise ValueError(
                f"task.max_length={self.max_length} would cut images of task.size={size}, whose label needs all of "
                f"their {size**2} pixels"
            )
        self.name = "pathx" if size == 128 else "pathfinder"
        self.source, self.size, self.difficulty = source, size, difficulty
        self.processes = processes or os.cpu_count() or 1
        self.split_seed, self.leave_out = split_seed, sorted(leave_out)
        self.rules |= {"size": size, "difficulty": difficulty}

    def learn(self) -> dict[str, Any]:
        state = {"classes": ["negative", "positive"], "vocab_size": LEVELS + 1}
        if self.source == "local":
            assert self.data is not None
            unwanted = {self.data / name for name in self.leave_out}
            listed = rows(folder_of(self.data, self.size, self.difficulty))
            state["left_out"] = sum(row.image in unwanted for row in listed)
        return state

    def encode(self, split: str) -> Path:
        if self.source == "generated":
            return super().encode(split)
        key = {
            "task": self.name,
            "version": 1,
            "difficulty": self.difficulty,
            "data": self._fingerprint(),
            "split_seed": self.split_seed,
            "leave_out": self.leave_out,
        }
        return cached(self.cache, key, self.read) / split

    def generate(self, folder: Path) -> None:
        with _progress(f"generating {self.name}") as progress:
            splits = generate(**self.rules, processes=self.processes, progress=progress)
        for split, images in splits.items():
            _save(folder / split, images)

    def read(self, folder: Path) -> None:
        """Writes every split of the released images."""
        assert self.data is not None
        with _progress(f"reading {self.name}") as progress:
            images, left_out = read_released(self.data, self.size, self.difficulty, self.leave_out, progress)
        if left_out:
            print(f"{self.name}: {left_out} images named in task.leave_out were left out")
        for split, chosen in zip(SPLITS, split_rows(len(images.labels), self.split_seed), strict=True):
            if not len(chosen):
                raise ValueError(
                    f"{len(images.labels)} images in {self.data} are too few for three splits; 10 would do"
                )
            _save(folder / split, Images(images.images[chosen], images.labels[chosen]))

    def _fingerprint(self) -> str:
        """A hash of the metadata, and of the images' names, sizes and times, as reading them all would take minutes."""
        assert self.data is not None
        digest = hashlib.sha256()
        for row in rows(folder_of(self.data, self.size, self.difficulty)):
            digest.update(row.text.encode() + b"\n")
            if row.image.is_file():
                status = row.image.stat()
                digest.update(f"{row.image} {status.st_size} {status.st_mtime_ns}\n".encode())
        return digest.hexdigest()


def split_rows(number: int, seed: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows of train (80 %), validation and test (10 % each, rounded down), in order or shuffled by torch.

    The shuffled order is that of ``torch.utils.data.random_split``, which S4's loader calls with seed 42.
    """
    order = np.arange(number)
    if seed is not None:
        order = torch.randperm(number, generator=torch.Generator().manual_seed(seed)).numpy()
    tenth = number // 10
    train, validation, test = np.split(order, [number - 2 * tenth, number - tenth])
    return train, validation, test


def _save(place: Path, images: Images) -> None:
    ids = images.images.reshape(len(images.images), -1).astype(np.uint16) + 1
    save_documents(place, ids, images.labels.tolist(), LEVELS + 1)


@contextmanager
def _progress(words: str) -> Iterator[Any]:
    with Progress(transient=True) as progress:
        bar = progress.add_task(words)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
