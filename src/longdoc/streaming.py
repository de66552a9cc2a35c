"""Classifying a text while it comes, in memory that does not grow with it."""

import re
from collections.abc import Iterator
from typing import TextIO

import numpy as np
import torch

from longdoc.export import Loaded
from longdoc.models import Stream
from longdoc.prediction import Prediction, decisions, score_windows, task_of_texts

PIECE = 4096  # tokens read at once
BLOCK = 2**14  # characters asked for at once
LONGEST = 2**16  # characters held back at most, waiting for the end of a word
# Words are tokenised with the white space before them: a text cut there has the tokens of the whole.
CUT = re.compile(r".*\S(?=\s)", re.DOTALL)


def running(loaded: Loaded, file: TextIO, every: int) -> Iterator[Prediction]:
    """What a causal classifier says after each ``every`` tokens of a text, and at its end.

    Bytes are the text's whatever the pieces; subwords, too, if no word is longer than 65,536 characters.

    Raises ValueError for a classifier that is not causal, reads pairs, or labels tokens, and bytes that are no text.
    """
    if every < 1:
        raise ValueError(f"--every {every} must be at least 1")
    task, stream = task_of_texts(loaded), Stream(loaded.model)
    read, said = 0, -1

    def now() -> Prediction:
        ((label, probabilities),) = decisions(task, score_windows(loaded, task, stream.logits()))
        return Prediction(label, probabilities, read, read, False)

    for text in cut(file):
        ids = torch.from_numpy(task.encode_texts([text])[0].astype(np.int64))[None]
        while ids.shape[1]:
            piece, ids = ids.split([size := min(PIECE, every - read % every, ids.shape[1]), ids.shape[1] - size], dim=1)
            stream.read(piece)
            read += size
            if read % every == 0:
                said = read
                yield now()
    if read != said:
        yield now() if read else loaded.predict("")[0]


def cut(file: TextIO) -> Iterator[str]:
    """A text in pieces that end before white space, holding little of it at a time."""
    rest = ""
    while new := file.read(BLOCK):
        rest += new
        if found := CUT.match(rest):
            yield found.group()
            rest = rest[found.end() :]
        elif len(rest) > LONGEST:
            yield rest
            rest = ""
    if rest:
        yield rest
