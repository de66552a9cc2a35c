"""Texts to token ids and back: bytes, byte-level BPE trained here, and any file of the ``tokenizers`` library."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from rich.console import Console
from tokenizers import decoders, models, pre_tokenizers, trainers

from longdoc.tasks.byte_ids import VOCABULARY, from_ids, to_ids
from longdoc.tasks.cache import cached, resolve

PAD = "[PAD]"
FILE = "tokenizer.json"
PIECE = 2**14  # characters encoded as one text
TRAINED = 2**10  # the same in training, where each merge rewrites every piece it is in
BATCH = 2**21  # bytes encoded at once; a token takes some 200 bytes until its id is read off
SHOWN = 2**20  # tokens between two words on how far the encoding is
# Where a piece may end: behind a word and before a space, where every tokenizer separates; else before white space.
ENDS = [re.compile(pattern, re.DOTALL) for pattern in (r".*[^\W_](?= )", r".*\S(?=[ \n\t\r])")]


class Tokenizer:
    """Texts to ids below ``vocab_size`` and back. Id 0 is padding, which no text has.

    state: plain values from which ``from_state`` makes the same tokenizer; they travel in the checkpoint.
    """

    vocab_size: int
    state: dict[str, Any]

    def stream(self, texts: Iterable[str]) -> Iterator[NDArray[Any]]:
        """The ids (N,) of each text in the smallest type that holds them, few texts in memory at a time."""
        raise NotImplementedError

    def head(self, text: str, limit: int) -> NDArray[Any]:
        """The first ``limit`` ids of a text, at a cost that does not grow with what is behind them."""
        raise NotImplementedError

    def decode(self, ids: NDArray[Any] | Sequence[int]) -> str:
        """The text of some ids; bytes that are no UTF-8, as of a cut character, become U+FFFD."""
        raise NotImplementedError

    def encode(self, texts: Iterable[str]) -> list[NDArray[Any]]:
        """The ids (N,) of each text."""
        return list(self.stream(texts))


class Bytes(Tokenizer):
    """The bytes of UTF-8, id = byte + 1. Bytes that were read as surrogate escapes are themselves again."""

    vocab_size = VOCABULARY
    state: dict[str, Any] = {"kind": "bytes"}  # noqa: RUF012

    def stream(self, texts: Iterable[str]) -> Iterator[NDArray[Any]]:
        for text in texts:
            yield to_ids(_escaped(text))

    def head(self, text: str, limit: int) -> NDArray[Any]:
        return to_ids(_escaped(text[:limit]))[:limit]  # a character has a byte at least

    def decode(self, ids: NDArray[Any] | Sequence[int]) -> str:
        return from_ids(np.asarray(ids)).decode(errors="replace")


class Subwords(Tokenizer):
    """A tokenizer of the ``tokenizers`` library, given as its JSON, which names texts by words and their parts.

    shift: what is added to its ids: 0 for one trained here, whose 0 is padding, 1 for others. Their special tokens,
    truncation and padding do not matter: none is added, and one that stands in a text is text.

    A text is encoded in pieces of at most 16,384 characters, in threads of the library. Pieces end between words; only
    runs longer than that without a space are cut, which keeps time and memory linear. Byte-level BPE and WordPiece give
    the ids of the whole text; a tokenizer that begins each text with a mark of its own repeats it. Lone surrogates
    become U+FFFD.
    """

    def __init__(self, json: str, shift: int = 0) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_str(json)
        self.tokenizer.encode_special_tokens = True
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.shift = shift
        self.vocab_size = max(self.tokenizer.get_vocab().values(), default=0) + 1 + shift
        self.state = {"kind": "subwords", "json": json, "shift": shift}

    def stream(self, texts: Iterable[str]) -> Iterator[NDArray[Any]]:
        dtype = np.min_scalar_type(self.vocab_size - 1)
        parts: list[NDArray[Any]] = []  # of the text at hand
        for batch in _batches(_pieces(map(_sound, texts))):
            found = self.tokenizer.encode_batch_fast([piece for piece, _ in batch], add_special_tokens=False)
            for (_, last), encoding in zip(batch, found, strict=True):
                parts.append(np.array(encoding.ids, dtype) + dtype.type(self.shift))
                if last:
                    yield parts[0] if len(parts) == 1 else np.concatenate(parts)
                    parts = []

    def head(self, text: str, limit: int) -> NDArray[Any]:
        parts: list[NDArray[Any]] = []
        for piece, _ in _pieces([text]):
            parts += self.stream([piece])
            if sum(map(len, parts)) >= limit:
                break
        return np.concatenate(parts)[:limit]

    def decode(self, ids: NDArray[Any] | Sequence[int]) -> str:
        plain = (np.asarray(ids, np.int64) - self.shift).tolist()
        return self.tokenizer.decode(plain, skip_special_tokens=False)


def from_state(state: dict[str, Any] | str) -> Tokenizer:
    """The tokenizer that has this ``state``; the JSON alone, as older checkpoints have it, is one trained here."""
    if isinstance(state, str):
        return Subwords(state)
    return Bytes() if state["kind"] == "bytes" else Subwords(state["json"], state["shift"])


def learn_tokenizer(name: str, size: int, texts: Callable[[], Iterable[str]], cache: Path, data: Any) -> Tokenizer:
    """What ``task.tokenizer`` names: ``bytes``; ``bpe``, trained on ``texts()``; else what ``find_tokenizer`` finds.

    size: entries of bpe. data: what changes with the texts, for those of ``cache`` that were trained before.
    """
    if name == "bytes":
        return Bytes()
    if name != "bpe":
        return find_tokenizer(name)

    def train(folder: Path) -> None:
        with Console().status("training the tokenizer on the training split"):
            (folder / FILE).write_text(train_bpe(texts(), size))

    key = {"tokenizer": "byte-level bpe", "version": 1, "size": size, "data": data}
    return Subwords((cached(cache, key, train) / FILE).read_text())


def train_bpe(texts: Iterable[str], size: int) -> str:
    """The JSON of byte-level BPE of at most ``size`` entries; padding and the 256 bytes are always among them."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((piece for piece, _ in _pieces(map(_sound, texts), TRAINED)), trainer)
    return tokenizer.to_str(pretty=True)


def find_tokenizer(name: str) -> Subwords:
    """That of a file of the ``tokenizers`` library, of a folder with ``tokenizer.json``, or of the Hugging Face hub.

    Raises FileNotFoundError if it cannot be had, ValueError if it is no such file.
    """
    path = resolve(name)
    path = path / FILE if path.is_dir() else path
    if path.is_file():
        try:
            return Subwords(path.read_text(encoding="utf-8"), shift=1)
        except Exception as error:  # the library raises no other kind
            raise ValueError(f"task.tokenizer={name}: {path} is no file of the tokenizers library: {error}") from error
    try:
        return Subwords(tokenizers.Tokenizer.from_pretrained(name).to_str(), shift=1)
    except Exception as error:  # of the network, the hub and the library, of every kind
        why = " ".join(str(error).split())
        raise FileNotFoundError(
            f"task.tokenizer={name} is neither bytes nor bpe, {path} is not there, and the hub gave none ({why})"
        ) from error


def progress(ids: Iterable[NDArray[Any]], split: str) -> Iterator[NDArray[Any]]:
    """Hands on the documents of a split, saying how many there were."""
    with Console().status(f"encoding the {split} split") as status:
        tokens, said = 0, 0
        for number, row in enumerate(ids, 1):
            tokens += len(row)
            if tokens - said >= SHOWN or number % 1000 == 0:
                said = tokens
                status.update(f"encoding the {split} split: {number:,} documents, {tokens:,} tokens")
            yield row


def _escaped(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return _sound(text).encode()


def _sound(text: str) -> str:
    """The text with U+FFFD for what is no character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text


def _pieces(texts: Iterable[str], limit: int = PIECE) -> Iterator[tuple[str, bool]]:
    """Pieces of each text, and whether one is its last."""
    for text in texts:
        start = 0
        while len(text) - start > limit:
            end = _end(text, start, start + limit)
            yield text[start:end], False
            start = end
        yield text[start:], True


def _end(text: str, start: int, end: int) -> int:
    """The last place in (start, end] where a piece may end, ``end`` itself if there is none."""
    found = (pattern.match(text, start, end + 1) for pattern in ENDS)
    return next((match.end() for match in found if match), end)


def _batches(pieces: Iterable[tuple[str, bool]]) -> Iterator[list[tuple[str, bool]]]:
    batch: list[tuple[str, bool]] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece[0].encode()) + 64  # of an empty one, too, there are not too many
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
