"""Bytes as token ids: byte + 1, since 0 is padding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

VOCABULARY = 257


def to_ids(text: bytes) -> NDArray[np.uint16]:
    """byte + 1."""
    return np.frombuffer(text, np.uint8).astype(np.uint16) + np.uint16(1)


def from_ids(ids: NDArray[Any]) -> bytes:
    """The bytes that ``to_ids`` made ids of."""
    return (ids - 1).astype(np.uint8).tobytes()
