"""Does anything trivial tell Pathfinder's label?  python scripts/pathfinder_cues.py [--size 128] [--images 20000]

Prints the accuracy of logistic regression on pixels, gray levels, projections, a blurred image and the markers' places,
with its standard error beside chance, 0.5.
"""

import argparse
import os
import sys

from longdoc.tasks.pathfinder_cues import cue_accuracies
from longdoc.tasks.pathfinder_drawing import CONTOUR_LENGTHS
from longdoc.tasks.pathfinder_generator import generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--size", type=int, default=32, help="of the images, 32 or 128 (default: %(default)s)")
    add("--difficulty", choices=CONTOUR_LENGTHS, default="curv_contour_length_14", help="(default: %(default)s)")
    add("--images", type=int, default=20_000, help="(default: %(default)s)")
    add("--seed", type=int, default=0, help="(default: %(default)s)")
    add("--processes", type=int, default=os.cpu_count() or 1, help="to generate with (default: one a core)")
    options = parser.parse_args()
    images = generate(
        {"images": options.images},
        seed=options.seed,
        size=options.size,
        difficulty=options.difficulty,
        processes=options.processes,
    )["images"]
    error = 0.5 / options.images**0.5
    for name, accuracy in cue_accuracies(images):
        print(f"{options.size} {options.difficulty} {name}: {accuracy:.4f} +- {error:.4f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"pathfinder_cues.py: {error}")
