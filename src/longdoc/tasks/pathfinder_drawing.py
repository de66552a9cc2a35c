"""Parameters of Pathfinder images and the small pictures, paddles and markers, that they are put together from."""

from dataclasses import dataclass
from math import ceil, pi

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Gray = NDArray[np.uint8]

CONTOUR_LENGTHS = {"curv_baseline": 6, "curv_contour_length_9": 9, "curv_contour_length_14": 14}
"""Paddles of a contour, by the released name of the difficulty (LRA's easy, intermediate and hard)."""


@dataclass(frozen=True)
class Parameters:
    """What decides how images look; lengths in pixels.

    Values are those in the docstrings of LRA's lra_benchmarks/data/pathfinder.py and the defaults that these leave of
    the generator by Kim, Linsley et al. (github.com/drewlinsley/pathfinder; "Disentangling neural mechanisms for
    perceptual grouping", ICLR 2020), under their names.
    """

    window_size: int
    contour_length: int
    """Paddles of each of the two contours."""
    distractor_paddles: int
    """Paddles of all distractors together, rounded down to whole distractors."""
    paddle_length: int
    paddle_thickness: float
    paddle_margins: tuple[int, ...]
    """Half the gap between paddles that follow one another; one of them for each image."""
    marker_radius: float
    seed_distance: int
    """Between the starts of the two contours."""
    continuity: float
    """The weight of a turn by d is cos² (continuity · d), and 0 where that angle passes a right one."""
    contrast: float
    """Of snakes times of paddles."""
    padding: int = 1
    antialias_scale: int = 2

    @property
    def distractor_length(self) -> int:
        return self.contour_length // 3

    @property
    def distractors(self) -> int:
        return self.distractor_paddles // self.distractor_length


def parameters(size: int, difficulty: str) -> Parameters:
    """LRA's parameters of a size, 32 or 128, and a released difficulty.

    Raises:
        ValueError: there is no such size or difficulty.
    """
    if difficulty not in CONTOUR_LENGTHS:
        raise ValueError(f"task.difficulty={difficulty} is not one of {', '.join(CONTOUR_LENGTHS)}")
    length = CONTOUR_LENGTHS[difficulty]
    if size == 32:
        return Parameters(32, length, 20, 2, 0.5, (1,), 1.5, 7, 1.0, 2 * 0.75)
    if size == 128:
        return Parameters(128, length, 35, 5, 1.5, (2, 3), 3, 20, 1.8, 0.9)
    raise ValueError(f"task.size={size} is not one of 32, 128")


class Shapes:
    """Paddles of every direction, as lists of cells relative to a paddle's head.

    Images are drawn in a frame of ``border`` cells, so wide that no paddle tried next to one inside leaves it, and are
    flat there: a cell is ``y * width + x``. There are K directions: those in which cells lie on the circle of radius
    paddle length + margin, on which the original looks for heads.
    """

    def __init__(self, p: Parameters, margin: int) -> None:
        reach = p.paddle_length + margin
        self.border = 2 * reach + margin + ceil(p.paddle_thickness)
        self.width = p.window_size + 2 * self.border
        heads = _square(reach + 1)
        heads = heads[np.abs(np.linalg.norm(heads, axis=1) - reach) < 0.5]
        angles = np.arctan2(heads[:, 0], heads[:, 1])
        ahead = np.stack([np.sin(angles), np.cos(angles)], 1)  # (K, 2): y, x

        self.head = self.flat(heads)
        """(K,) from the pivot, around which a paddle turns, to its head."""
        self.advance = self.flat(np.rint((reach + margin) * ahead).astype(np.int64) - heads)
        """(K,) from a paddle's head to the pivot of the next."""
        self.tail = self.flat(-np.rint(p.paddle_length * ahead).astype(np.int64))
        """(K,) from a paddle's head to its other end."""

        turn = np.abs((angles[:, None] - angles + pi) % (2 * pi) - pi) * p.continuity
        possible = turn < pi / 2 - 1e-9
        self.next = self._numbers(possible)
        """(K, T) the directions that may follow one, the last of them repeated to fill the list."""
        self.weight = np.cos(np.take_along_axis(turn, self.next, axis=1)) ** 2
        """(K, T) how often they do; 0 where they are repeated."""
        self.weight[np.arange(self.next.shape[1]) >= possible.sum(axis=1)[:, None]] = 0

        radius = ceil(p.paddle_length + margin + p.paddle_thickness) + 1
        near = _square(radius)
        along = np.clip(near @ -ahead.T, 0, p.paddle_length)  # (cells, K)
        distance = np.linalg.norm(near[:, None] + along[..., None] * ahead, axis=2)
        inside = (distance <= margin + p.paddle_thickness / 2).T
        self.zone = self._lists(near, inside)
        """(K, Z) the cells that no other paddle's zone may hold; the last is repeated to fill the list."""
        self.outline = self._lists(near, inside & ~_all_around(inside))
        """(K, O) those beside cells that are not: one of them is in any zone that this one meets, since all are of a
        size and in one piece."""

        ink = np.array([_paddle(p, direction, radius) for direction in ahead])
        marker = _marker(p, radius)
        self.ink = self._lists(near, ink > 0)
        """(K, S) the cells that a paddle colours."""
        self.ink_gray = ink.reshape(-1)[self._numbers(ink > 0) + np.arange(len(ink))[:, None] * len(near)]
        """(K, S) and how."""
        self.marker = self.flat(near[marker > 0])
        self.marker_gray = marker[marker > 0]

    def flat(self, cells: Ints) -> Ints:
        """(..., 2) y and x -> (...)."""
        return cells[..., 0] * self.width + cells[..., 1]

    def points(self, cells: Ints) -> Ints:
        """Flat cells (...) -> (..., 2) y and x in the image."""
        return np.stack([cells // self.width, cells % self.width], -1) - self.border

    def _lists(self, near: Ints, chosen: NDArray[np.bool_]) -> Ints:
        return self.flat(near)[self._numbers(chosen)]

    @staticmethod
    def _numbers(chosen: NDArray[np.bool_]) -> Ints:
        """(K, cells) -> (K, most chosen), each row filled up with its last."""
        numbers = [np.flatnonzero(row) for row in chosen]
        most = max(map(len, numbers))
        return np.array([np.pad(row, (0, most - len(row)), mode="edge") for row in numbers])


def _square(radius: int) -> Ints:
    """((2 radius + 1)², 2) y and x of the cells around one."""
    return np.mgrid[-radius : radius + 1, -radius : radius + 1].reshape(2, -1).T


def _all_around(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(K, cells of a square) -> the same: where all four neighbours are chosen; nothing is at the edge."""
    side = int(np.sqrt(chosen.shape[1]))
    squares = chosen.reshape(-1, side, side)
    moved = [np.roll(squares, step, axis) for axis in (1, 2) for step in (-1, 1)]
    return np.logical_and.reduce(moved).reshape(chosen.shape)


def _fine(p: Parameters, radius: int) -> tuple[Floats, Floats, Floats]:
    """Coordinates y (F, 1), x (1, F) of a grid finer by the antialias scale, and the filter (cells, F) back from it."""
    places = np.arange(-radius * p.antialias_scale, radius * p.antialias_scale + 1) / p.antialias_scale
    apart = places - np.arange(-radius, radius + 1)[:, None]
    lanczos = np.where(np.abs(apart) < 3, np.sinc(apart) * np.sinc(apart / 3), 0)
    return places[:, None], places[None], lanczos / lanczos.sum(axis=1, keepdims=True)


def _shrink(drawing: NDArray[np.bool_], lanczos: Floats, contrast: float) -> Gray:
    coverage = np.clip(lanczos @ drawing @ lanczos.T, 0, 1)
    return np.rint(255 * np.minimum(coverage * contrast, 1)).astype(np.uint8).reshape(-1)


def _paddle(p: Parameters, ahead: Floats, radius: int) -> Gray:
    """(cells,) a bar that ends at the middle, coming from behind."""
    y, x, lanczos = _fine(p, radius)
    along, across = -(y * ahead[0] + x * ahead[1]), y * ahead[1] - x * ahead[0]
    slack = 1e-9  # cells that lie on the outline belong to the bar
    inside = (along >= -slack) & (along <= p.paddle_length + slack) & (np.abs(across) <= p.paddle_thickness / 2 + slack)
    return _shrink(inside, lanczos, p.contrast)


def _marker(p: Parameters, radius: int) -> Gray:
    """(cells,) a disc."""
    y, x, lanczos = _fine(p, radius)
    return _shrink(y**2 + x**2 <= p.marker_radius**2, lanczos, 1)
