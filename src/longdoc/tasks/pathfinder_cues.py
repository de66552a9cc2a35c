"""What of a Pathfinder label can be read off an image without following a contour."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from longdoc.tasks.pathfinder_drawing import Floats, Gray
from longdoc.tasks.pathfinder_generator import Images

FOLDS = 4
COARSE = 8  # cells along a side of the blurred image
DISTANCES = 48  # bins over the window's diagonal


def cue_accuracies(images: Images) -> Iterator[tuple[str, float]]:
    """For each kind of features, the accuracy, 0..1, of logistic regression on images that it has not seen.

    pixels; gray_levels: how many pixels have each, and their sum; projections: row and column sums; blurred: means over
    8 x 8 cells; markers: how far they are apart, in bins, and where they and their middle lie.
    """
    pictures = images.images.astype(np.float32) / 255
    number, size, _ = pictures.shape
    cell = size // COARSE
    features = {
        "pixels": pictures.reshape(number, -1),
        "gray_levels": _gray_levels(images.images),
        "projections": np.concatenate([pictures.sum(axis=1), pictures.sum(axis=2)], axis=1),
        "blurred": pictures.reshape(number, COARSE, cell, COARSE, cell).mean(axis=(2, 4)).reshape(number, -1),
        "markers": _markers(images.images),
    }
    for name, values in features.items():
        model = make_pipeline(StandardScaler(), LogisticRegression(C=1e-2, max_iter=50))
        yield name, float(cross_val_score(model, values, images.labels, cv=FOLDS).mean())


def _gray_levels(images: Gray) -> Floats:
    counts = np.array([np.bincount(image.reshape(-1), minlength=256) for image in images])
    return np.concatenate([counts, counts @ np.arange(256)[:, None]], axis=1)


def marker_places(images: Gray) -> Floats:
    """(n, 2, 2) y and x of the middles of the two brightest squares of 3 x 3 at 32 x 32, 5 x 5 at 128 x 128."""
    number, size, _ = images.shape
    side = 3 if size == 32 else 5
    half = side // 2
    padded = np.pad(images, ((0, 0), (half, half), (half, half)))
    light = np.zeros((number, size, size), np.uint16)  # 25 pixels of 255 fit
    for y in range(side):
        for x in range(side):
            light += padded[:, y : y + size, x : x + size]  # one by one: all at once would be 25 times the images
    places = []
    for _ in range(2):
        place = np.stack(np.unravel_index(light.reshape(number, -1).argmax(axis=1), (size, size)), axis=1)
        places.append(place)
        near = np.abs(np.arange(size) - place[..., None]) < side  # (n, 2, s)
        light[near[:, 0, :, None] & near[:, 1, None]] = 0
    return np.stack(places, axis=1).astype(np.float64)


def _markers(images: Gray) -> Floats:
    size = images.shape[1]
    places = marker_places(images) / size - 0.5
    apart = np.linalg.norm(places[:, 0] - places[:, 1], axis=1)
    bins: NDArray[np.int64] = (apart / np.sqrt(2) * DISTANCES).astype(np.int64)
    away = np.sort(np.linalg.norm(places, axis=2), axis=1)
    middle = np.linalg.norm(places.mean(axis=1), axis=1)
    numbers = np.column_stack([apart, apart**2, away, middle])
    return np.column_stack([np.eye(DISTANCES)[bins], places.reshape(len(places), -1), numbers])
