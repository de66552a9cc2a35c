"""CIFAR-10 in gray, pixel after pixel (LRA's image)."""

import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from longdoc.tasks.base import SPLITS
from longdoc.tasks.byte_ids import VOCABULARY, to_ids
from longdoc.tasks.cache import cached
from longdoc.tasks.labelled import Labelled
from longdoc.tasks.rows import Refused

SIDE = 32
RAW = SIDE * SIDE * 3  # bytes of an image that is not encoded
FORMATS = {"PNG": b"\x89PNG\r\n\x1a\n", "JPEG": b"\xff\xd8\xff"}  # and how they begin
PNG_END = b"IEND\xaeB`\x82"  # the last chunk's name and its checksum


class Image(Labelled):
    """Images of 32 x 32 pixels as 1,024 tokens, row after row, id = gray level + 1 (see ``to_gray``).

    The column ``image`` holds files in PNG or JPEG, as bytes or as ``datasets`` keeps them, or the 3,072 bytes of the
    pixels (row, column, channel) themselves. JPEG is lossy: its pixels are not those of CIFAR-10 that others report on.
    """

    name = "image"
    value = "image"
    hub_columns: ClassVar = {"image": "img"}
    vocab = VOCABULARY
    folder = "data/cifar10"
    hub_labels: ClassVar = {
        "uoft-cs/cifar10": ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"],
    }
    how = (
        "a folder with the tables train and test, and validation if there is one, of the columns image and label "
        "(task.columns names others)"
    )

    def ids_of(self, value: Any) -> NDArray[np.uint16]:
        return to_ids(to_gray(to_pixels(value)).tobytes())

    def prepare_data(self) -> None:
        super().prepare_data()
        for split in SPLITS:
            if count := int(self.jpeg(split).sum()):
                print(f"{count:,} of {len(self.documents(split)):,} {split} images are JPEG, which is lossy")

    def describe(self) -> dict[str, dict[str, int]]:
        """Also how many rows are JPEG."""
        report = super().describe()
        for split, counts in report.items():
            counts["jpeg_rows"] = int(self.jpeg(split)[: counts["rows"]].sum())
        return report

    def jpeg(self, split: str) -> NDArray[np.bool_]:
        """Which rows (D,) of a split are JPEG."""
        key = {"rows": "jpeg", "version": 1, "split": self.encode(split).parent.name}
        return np.load(cached(self.cache, key, lambda folder: self._find_jpeg(split, folder)) / "jpeg.npy")

    def _find_jpeg(self, split: str, folder: Path) -> None:
        table = self.table(split)
        rows = table.rows([self.columns["image"]], Refused(table.where))
        found = np.array([value.startswith(FORMATS["JPEG"]) for (value,) in rows])
        np.save(folder / "jpeg.npy", found[self.chosen(split, self.class_numbers(split))])


def to_gray(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Red, green and blue (..., 3) -> gray levels (...), floor(255.5 (0.2989 R + 0.5870 G + 0.1140 B) / 255).

    That is ``tf.image.rgb_to_grayscale`` of bytes, which LRA calls (lra_benchmarks/image/input_pipeline.py): it takes
    them to 0..1, weighs them, multiplies by 255.5 and cuts off the fraction (tensorflow/python/ops/image_ops_impl.py).
    Here the sum is exact, in integers; in TensorFlow's float32 some 240 of the 2^24 colours come out one level off.
    A gray pixel keeps its level.
    """
    red, green, blue = (pixels[..., channel].astype(np.uint32) for channel in range(3))
    luma = 2989 * red + 5870 * green + 1140 * blue  # in 1/10,000
    return (luma * 511 // 5_100_000).astype(np.uint8)


def to_pixels(value: Any) -> NDArray[np.uint8]:
    """A value of the column ``image`` -> (32, 32, 3); raises ValueError, saying why, for what is no such image."""
    if not isinstance(value, bytes):
        raise ValueError(f"a {type(value).__name__} is no image: {_wanted()}")
    encoded = value.startswith(tuple(FORMATS.values()))
    if len(value) == RAW and not encoded:
        return np.frombuffer(value, np.uint8).reshape(SIDE, SIDE, 3)
    if not encoded:
        raise ValueError(f"{len(value):,} bytes that begin with {value[:8]!r} are no image: {_wanted()}")
    if value.startswith(FORMATS["PNG"]) and PNG_END not in value:  # Pillow is content once it has the pixels
        raise ValueError(f"the PNG is cut off: {_wanted()}")
    try:
        with PIL.Image.open(io.BytesIO(value), formats=list(FORMATS)) as image:
            frames = getattr(image, "n_frames", 1)  # one of an animation would be as good as another
            several = f"{frames} frames of " if frames > 1 else ""
            found = f"{several}{image.width} x {image.height} pixels of mode {image.mode}"
            if (image.size, image.mode, frames) == ((SIDE, SIDE), "RGB", 1):
                return np.array(image)
    except Exception as error:  # a damaged file raises errors of many kinds
        raise ValueError(f"the image cannot be decoded ({error}): {_wanted()}") from error
    raise ValueError(f"the image has {found}: {_wanted()}")


def _wanted() -> str:
    return f"expected a whole PNG or JPEG of {SIDE} x {SIDE} pixels in RGB, or their {RAW:,} bytes"
