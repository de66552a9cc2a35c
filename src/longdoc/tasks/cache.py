"""Encoded documents on disk: built once, never half."""

import hashlib
import json
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from filelock import FileLock
from numpy.typing import NDArray

datasets.disable_progress_bars()  # ours say what is being done, and for which split

PROJECT = Path(__file__).resolve().parents[3]
TEXTS = "texts"  # of pairs: the folder of their documents
UNLABELLED = -100  # the label that torch's losses leave out


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


def save_documents(
    place: Path,
    ids: Iterable[NDArray[Any]],
    labels: Sequence[Any] | NDArray[Any] | None,
    vocab_size: int,
    classes: int | None = None,
) -> None:
    """Writes rows (ids, label) as an Arrow data set, ids in the smallest integer type that holds them.

    labels: one a document, or an array (N,) a document with one a token, ``UNLABELLED`` where it has none; None: no
        document has one.
    classes: of multi-label documents, the number of classes C; then labels are (D, C), true for those of a document.
    """
    column = _lists(place, ids, np.min_scalar_type(vocab_size - 1))
    if labels is None:
        labels = np.full(len(column), UNLABELLED) if classes is None else np.zeros((len(column), classes), bool)
    if classes is None and len(labels) and np.ndim(labels[0]):
        largest = max(int(np.max(row, initial=0)) for row in labels)
        label = _lists(place, labels, np.min_scalar_type(min(UNLABELLED, -largest - 1)))
    else:
        label = _label_column(labels, classes)
    _save(place, {"ids": column, "label": label})


def save_pairs(
    place: Path,
    rows: Iterable[tuple[NDArray[Any], NDArray[Any], Any]],
    vocab_size: int,
    classes: int | None = None,
) -> None:
    """Writes pairs of documents: the ids of both and a label, or with ``classes`` a row (C,), read as a stream.

    A document that is in many pairs is stored once: rows (first, second, label) point into the data set ``texts``.
    """
    numbers: dict[bytes, int] = {}
    pairs: list[tuple[int, ...]] = []
    labels: list[Any] = []

    def texts() -> Iterator[NDArray[Any]]:
        for a, b, label in rows:
            digests = [hashlib.blake2b(ids.tobytes(), digest_size=16).digest() for ids in (a, b)]
            for digest, ids in zip(digests, (a, b), strict=True):
                if digest not in numbers:
                    numbers[digest] = len(numbers)
                    yield ids
            pairs.append(tuple(numbers[digest] for digest in digests))
            labels.append(label)

    _save(place / TEXTS, {"ids": _lists(place, texts(), np.min_scalar_type(vocab_size - 1))})
    first, second = map(pa.array, np.array(pairs, np.int64).reshape(-1, 2).T)
    _save(place, {"first": first, "second": second, "label": _label_column(labels, classes)})


def _label_column(labels: Sequence[Any] | NDArray[Any], classes: int | None) -> pa.Array:
    """One number a document, or ``classes`` bits, whose type tells them from the labels of tokens."""
    if classes is None:
        return pa.array(labels, pa.int64())
    flat = np.asarray(labels, bool).reshape(-1, classes).ravel()
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), classes)


def _save(place: Path, columns: dict[str, pa.Array]) -> None:
    fingerprint = datasets.fingerprint.generate_random_fingerprint()  # one of the content would copy it in memory
    datasets.Dataset(datasets.table.InMemoryTable(pa.table(columns)), fingerprint=fingerprint).save_to_disk(place)


def _lists(place: Path, rows: Iterable[Any], dtype: np.dtype[Any]) -> pa.LargeListArray:
    """A column of lists; their values wait in a file beside ``place``: rows that come as a stream fill no memory."""
    lengths = []
    with tempfile.TemporaryFile(dir=place.parent) as file:
        for row in rows:
            lengths.append(len(row))
            file.write(np.asarray(row, dtype=dtype).tobytes())
        file.flush()
        flat = np.memmap(file, dtype, "r") if sum(lengths) else np.empty(0, dtype)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(flat))


class _Lists:
    """A column of lists, memory-mapped: a row is a view, not a copy."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        chunks = column.chunks
        self.flat = [chunk.values.to_numpy() for chunk in chunks]
        self._offsets = [chunk.offsets.to_numpy() for chunk in chunks]
        self._starts = [0, *np.cumsum([len(chunk) for chunk in chunks]).tolist()]
        self.lengths: NDArray[np.int64] = np.concatenate([np.diff(o) for o in self._offsets])

    def __getitem__(self, row: int) -> NDArray[Any]:
        chunk = bisect_right(self._starts, row) - 1
        start, end = self._offsets[chunk][row - self._starts[chunk] :][:2]
        return self.flat[chunk][start:end]


class Documents:
    """The encoded documents of one split, memory-mapped, or its pairs of documents.

    labels (D,) are the documents', of multi-label documents (D, C) bool; where tokens have labels of their own, they
    are ``token_labels[row]`` (N,).
    sides (D, S) are the lengths of a row's documents, S = 2 for pairs, else 1; lengths (D,) those of the longer one.
    ``stored[numbers[row, side]]`` are the ids of a document, which pairs may share.
    """

    def __init__(self, place: Path) -> None:
        self.dataset = datasets.load_from_disk(str(place))
        self.pairs = "first" in self.dataset.column_names
        if self.pairs:
            self.stored = _Lists(datasets.load_from_disk(str(place / TEXTS)).data.column("ids"))
            columns = [self.dataset.data.column(name).to_numpy() for name in ("first", "second")]
        else:
            self.stored = _Lists(self.dataset.data.column("ids"))
            columns = [np.arange(len(self.stored.lengths))]
        self.numbers: NDArray[np.int64] = np.stack(columns, axis=1)
        self.sides = self.stored.lengths[self.numbers]
        self.lengths = self.sides.max(1)
        label = self.dataset.data.column("label")
        self.token_labels = _Lists(label) if pa.types.is_large_list(label.type) else None
        self.labels: NDArray[Any]
        if self.token_labels is not None:
            self.labels = np.empty(0, np.int64)
        elif pa.types.is_fixed_size_list(label.type):
            bits = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in label.chunks]
            self.labels = np.concatenate([np.empty(0, bool), *bits]).reshape(-1, label.type.list_size)
        else:
            self.labels = np.asarray(label.to_numpy())

    def __len__(self) -> int:
        return len(self.lengths)

    def ids(self, row: int, side: int = 0) -> NDArray[Any]:
        """The token ids of a document, or of a pair's first or second, (N,), in the stored type; a view, not a copy."""
        return self.stored[self.numbers[row, side]]

    def content(self) -> str:
        """16 hex digits of a hash of all ids and labels: two splits that share them are the same to every model."""
        parts = [*self.stored.flat, self.stored.lengths, self.numbers, self.labels]
        if self.token_labels is not None:
            parts += [*self.token_labels.flat, self.token_labels.lengths]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()[:16]

    def digest(self, row: int) -> str:
        """A hash of a row's token ids: documents of one are equal."""
        digest = hashlib.sha256()
        for side in range(self.numbers.shape[1]):
            digest.update(np.ascontiguousarray(self.ids(row, side)).data)
            digest.update(b"|")
        return digest.hexdigest()

    def every_label(self, rows: int | None = None) -> NDArray[Any]:
        """The labels of the first ``rows`` documents in a row: the documents', or those that tokens have."""
        if self.token_labels is None:
            return self.labels[:rows]
        number = len(self) if rows is None else rows
        tokens = np.concatenate([self.token_labels[row] for row in range(min(number, len(self)))])
        return tokens[tokens != UNLABELLED]
