"""Pathfinder images on disk as Long Range Arena releases them, PNGs beside lists in text.

    <folder>/pathfinder32/curv_contour_length_14/metadata/0.npy     a line of text for each image (no numpy file)
    <folder>/pathfinder32/curv_contour_length_14/imgs/0/sample_0.png

A line is ``imgs/0 sample_0.png 0 1 ...``: folder, file, number, label, and parameters of the generator.
"""

from collections.abc import Callable, Collection
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from longdoc.tasks.image import PNG_END
from longdoc.tasks.pathfinder_drawing import Gray, parameters
from longdoc.tasks.pathfinder_generator import Images

SOURCE = "lra_release.gz, linked at https://github.com/google-research/long-range-arena"
MODES = ("L", "RGB", "RGBA", "P", "1")  # Pillow's, from which gray is had without a loss of bits


class Row(NamedTuple):
    """A line of metadata."""

    metadata: Path
    line: int
    """From 1 on."""
    text: str
    image: Path
    label: str


def folder_of(data: Path, size: int, difficulty: str) -> Path:
    """Where the images of a size and difficulty lie.

    Raises:
        FileNotFoundError: they do not.
    """
    folder = data / f"pathfinder{size}" / difficulty
    if not (folder / "metadata").is_dir():
        raise FileNotFoundError(
            f"{folder / 'metadata'} is missing: task.data={data} must be the folder lra_release of {SOURCE}, with "
            f"pathfinder{size}/{difficulty}/metadata/*.npy and imgs/; or make images with task.source=generated"
        )
    return folder


def rows(folder: Path) -> list[Row]:
    """The lines of all metadata, files in the order of their numbers.

    Raises:
        FileNotFoundError: there are no such files.
        ValueError: a file is not named by a number, or holds no text.
    """
    paths = list((folder / "metadata").glob("*.npy"))
    if not paths:
        raise FileNotFoundError(f"{folder / 'metadata'} has no .npy files, which list the images; get {SOURCE}")
    for path in paths:
        if not path.stem.isdecimal():
            raise ValueError(f"{path} must be named by a number, as in 0.npy; the order of the images hangs on it")
    found = []
    for path in sorted(paths, key=lambda path: int(path.stem)):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise ValueError(
                f"{path} holds no text; in LRA's release it has a line for each image, such as imgs/0 sample_0.png 0 1"
            ) from None
        for number, line in enumerate(lines, start=1):
            subfolder, file, _, label = (*line.split(), "", "", "", "")[:4]
            found.append(Row(path, number, line, folder / subfolder / file, label))
    return found


def read_released(
    data: Path,
    size: int,
    difficulty: str,
    leave_out: Collection[str] = (),
    progress: Callable[[int, int], object] | None = None,
) -> tuple[Images, int]:
    """All images of a difficulty in the order of their metadata, and how many of ``leave_out`` were among them.

    leave_out: images not to be read, relative to ``data``.

    Raises:
        FileNotFoundError: the folder is missing.
        ValueError: a row or its image is bad; the sentence counts them all and names the first.
    """
    every = rows(folder_of(data, size, difficulty))
    unwanted = {data / name for name in leave_out}
    wanted = [row for row in every if row.image not in unwanted]
    images, labels = np.empty((len(wanted), size, size), np.uint8), np.empty(len(wanted), np.uint8)
    problems = []
    first: dict[Path, Row] = {}
    for number, row in enumerate(wanted):
        try:
            if (before := first.setdefault(row.image, row)) is not row:
                raise ValueError(f"{row.image} was there before, in {before.metadata}, line {before.line}")
            labels[number] = _label(row)
            images[number] = _image(row.image, size)
        except ValueError as error:
            problems.append(f"{row.metadata}, line {row.line}: {error}")
        if progress is not None and (number % 100 == 0 or number + 1 == len(wanted)):
            progress(number + 1, len(wanted))
    if problems:
        raise ValueError(
            f"{len(problems)} of {len(wanted)} rows cannot be read; the first: {problems[0]} (images named in "
            f"task.leave_out are passed over)"
        )
    return Images(images, labels), len(every) - len(wanted)


def _label(row: Row) -> int:
    fields = len(row.text.split())
    if fields < 4:
        raise ValueError(f"{row.text!r} has {fields} fields; it needs at least folder, file, number and label")
    if row.label not in ("0", "1"):
        raise ValueError(f"the label {row.label!r} must be 0 or 1")
    return int(row.label)


def _image(path: Path, size: int) -> Gray:
    if not path.is_file():
        raise ValueError(f"{path} is missing")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; it must be a PNG")
    content = path.read_bytes()
    try:
        with Image.open(BytesIO(content), formats=["PNG"]) as file:
            mode, image = file.mode, np.asarray(file.convert("L"))
    except (OSError, SyntaxError, ValueError, EOFError):  # what Pillow raises for a broken file
        mode = ""
    if not mode or PNG_END not in content:
        raise ValueError(f"{path} is no whole PNG; take it from {SOURCE} again")
    if mode not in MODES:
        raise ValueError(f"{path} is a PNG of mode {mode}; it must have 8 bits a channel")
    if image.shape != (size, size):
        height, width = image.shape
        raise ValueError(f"{path} is {width} x {height} pixels large; it must be {size} x {size}")
    return image


def write_released(data: Path, images: Images, difficulty: str, rows_per_file: int = 1000) -> Path:
    """Writes images as a difficulty of the release and returns its folder."""
    size = images.images.shape[1]
    p = parameters(size, difficulty)
    margins = "|".join(map(str, p.paddle_margins))
    rest = (p.continuity, p.contour_length, p.distractor_length, p.paddle_length, p.paddle_thickness, margins, 1)
    folder = data / f"pathfinder{size}" / difficulty
    (folder / "metadata").mkdir(parents=True)
    for batch, start in enumerate(range(0, len(images.labels), rows_per_file)):
        (folder / "imgs" / str(batch)).mkdir(parents=True)
        part = slice(start, start + rows_per_file)
        with (folder / "metadata" / f"{batch}.npy").open("w", encoding="utf-8") as metadata:
            for number, (image, label) in enumerate(zip(images.images[part], images.labels[part], strict=True)):
                name = f"sample_{number}.png"
                Image.fromarray(image).save(folder / "imgs" / str(batch) / name)
                print(f"imgs/{batch}", name, number, label, *rest, file=metadata)
    return folder
