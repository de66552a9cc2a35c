"""Arrays of any length that are written one after the other and read in any order, in a file without a name."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Spool:
    """Holds arrays (N,) of one type on disk, in ``folder``, until it is let go; none of them stays in memory."""

    def __init__(self, folder: Path, dtype: np.dtype[Any]) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed when it is let go)
        self._dtype = dtype
        self._ends = [0]

    def append(self, array: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(array, self._dtype).data)
        self._ends.append(self._ends[-1] + len(array))

    def __getitem__(self, number: int) -> NDArray[Any]:
        start, end = self._ends[number : number + 2]
        self._file.seek(start * self._dtype.itemsize)
        return np.frombuffer(self._file.read((end - start) * self._dtype.itemsize), self._dtype)
