"""Lay generated Pathfinder images out to be looked at:  python scripts/contact_sheet.py sheet.png [--size 128]

The upper rows are positives, whose markers lie on one contour; the lower ones are negatives.
data/results/pathfinder.png is that of --zoom 4.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from longdoc.tasks.pathfinder_drawing import CONTOUR_LENGTHS, Gray
from longdoc.tasks.pathfinder_generator import generate

GAP = 4  # pixels between images, before they are enlarged
SHADE = 90  # of gaps, so that the black edges of images show


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("output", type=Path, help="a PNG file")
    add("--size", type=int, default=32, help="of the images, 32 or 128 (default: %(default)s)")
    add("--difficulty", choices=CONTOUR_LENGTHS, default="curv_contour_length_14", help="(default: %(default)s)")
    add("--rows", type=int, default=2, help="of positives, and as many of negatives (default: %(default)s)")
    add("--columns", type=int, default=6, help="(default: %(default)s)")
    add("--zoom", type=int, default=3, help="times each pixel (default: %(default)s)")
    add("--seed", type=int, default=0, help="(default: %(default)s)")
    return parser.parse_args()


def sheet(images: Gray, columns: int, zoom: int) -> Gray:
    """(n, s, s) -> one picture, row by row; a wider gap is in the middle, where negatives begin."""
    framed = np.pad(images, ((0, 0), (GAP, 0), (GAP, 0)), constant_values=SHADE)
    side = framed.shape[1]
    rows = framed.reshape(-1, columns, side, side).transpose(0, 2, 1, 3).reshape(-1, side, columns * side)
    middle = np.full((2 * GAP, columns * side), SHADE, np.uint8)
    half = len(rows) // 2
    page = np.concatenate([*rows[:half], middle, *rows[half:]])
    page = np.pad(page, ((0, GAP), (0, GAP)), constant_values=SHADE)
    return page.repeat(zoom, axis=0).repeat(zoom, axis=1)


def main() -> None:
    options = arguments()
    number = options.rows * options.columns
    if number < 1 or options.zoom < 1:
        raise ValueError("--rows, --columns and --zoom must be at least 1")
    images, labels = generate(
        {"sheet": 2 * number}, seed=options.seed, size=options.size, difficulty=options.difficulty
    )["sheet"]
    order = np.argsort(1 - labels.astype(int), kind="stable")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(sheet(images[order], options.columns, options.zoom)).save(options.output)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"contact_sheet.py: {error}")
