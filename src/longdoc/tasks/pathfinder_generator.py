"""The generator of Pathfinder images: are the two discs the ends of one dashed contour?

Two contours of the same number of dashes, *paddles*, start ``seed_distance`` apart near the middle and grow in turn;
shorter ones, *distractors*, fill the space. Discs, *markers*, mark the start of one contour and, in positives, its own
end, in negatives the end of the other. Contours and distractors know nothing of the label.

The rules are those of the original (see pathfinder_drawing), apart from these, each to save time or a cue:

- Directions are the 16 to 64 in which cells lie around a pivot, so that paddles are copied from a table, not drawn.
- A direction is drawn among those that fit, where the original draws three times and gives up.
- Each start is half the seed distance from a point of the middle, where the original puts one of them at that point,
  so that the two contours can change places; and neither may run into the other's latest paddle.
- Of many pairs of contours those are kept that make the places of the two markers, to each other and to the middle,
  the same in distribution for both labels. Without this a pair's distance alone tells the label of 5 to 40 % more
  images than chance. Markers do not touch.
- All paddles have the contrast of contours, where distractors of the original miss one factor, the paddle's, and so are
  4/3 as bright at 32 x 32.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.parallel import blocks
from longdoc.tasks.pathfinder_drawing import Floats, Gray, Ints, Parameters, Shapes, parameters

_POOL = 1024  # pairs of contours, for each margin, that a block is chosen from; part of what the data depends on
_BATCH = 1024  # pairs begun together, of which most run into something
_DISTRACTOR_TRIALS = 5  # of each distractor, as in the original; then it is left out
_SEED_TRIALS = 32  # places tried for the first paddle of a distractor
_KERNEL_WIDTH = 0.3  # window sides, over which places of markers count as near
_BLOCKED = 255  # what cells outside hold


class Images(NamedTuple):
    """n images of side s."""

    images: Gray
    """Gray levels, uint8, (n, s, s); contours and markers are bright."""
    labels: Gray
    """1 where the markers are on one contour, uint8, (n,)."""


class Scenes(NamedTuple):
    """What n images show; places are cells of ``shapes``."""

    shapes: Shapes
    heads: Ints
    """(n, paddles): those of the first contour, of the second, of distractors, each from its start on."""
    directions: Ints
    """(n, paddles), -1 where a distractor found no place."""
    markers: Ints
    """(n, 2): at a start, at an end."""
    labels: Gray
    """(n,)"""


class _Boards:
    """(boards, cells): the number, from 1 on, of the paddle in whose zone a cell lies, 0 where it is free."""

    def __init__(self, p: Parameters, shapes: Shapes, number: int) -> None:
        blank = np.full((shapes.width, shapes.width), _BLOCKED, np.uint8)
        inside = slice(shapes.border + p.padding, -shapes.border - p.padding)
        blank[inside, inside] = 0
        self.shapes, self.cells = shapes, np.repeat(blank.reshape(1, -1), number, axis=0)

    def fits(self, rows: Ints, heads: Ints, directions: Ints, before: int = 0) -> NDArray[np.bool_]:
        """Where a paddle touches no zone but that of the paddle numbered ``before``."""
        places = (rows * self.cells.shape[1] + heads)[:, None] + self.shapes.outline[directions]
        zone = self.cells.reshape(-1).take(places)
        return ((zone == 0) | (zone == before)).all(axis=1)

    def put(self, rows: Ints, heads: Ints, directions: Ints, number: int) -> None:
        """A cell in two zones stays with the earlier paddle, whose neighbour but one may not have it."""
        places = (rows * self.cells.shape[1] + heads)[:, None] + self.shapes.zone[directions]
        cells = self.cells.reshape(-1)  # a view
        zone = cells.take(places)
        cells[places] = np.where(zone == 0, number, zone)

    def extend(
        self, rng: np.random.Generator, rows: Ints, heads: Ints, directions: Ints, before: int
    ) -> tuple[Ints, Ints]:
        """Heads and directions (rows,) of the next paddles, drawn among those that fit; -1 where none does."""
        pivots = heads + self.shapes.advance[directions]
        # In the order of exponential noise over weight, the first that fits is drawn by weight among all that do.
        with np.errstate(divide="ignore"):
            times = rng.standard_exponential((len(rows), self.shapes.next.shape[1])) / self.shapes.weight[directions]
        order = np.take_along_axis(self.shapes.next[directions], np.argsort(times, axis=1), axis=1)
        chosen = np.full(len(rows), -1)
        waiting = np.arange(len(rows))
        for trial in order.T:
            tried = trial[waiting]
            fits = self.fits(rows[waiting], pivots[waiting] + self.shapes.head[tried], tried, before)
            chosen[waiting[fits]] = tried[fits]
            waiting = waiting[~fits]
        return pivots + self.shapes.head[chosen], chosen


def generate(
    sizes: Mapping[str, int],
    *,
    seed: int,
    size: int = 32,
    difficulty: str = "curv_contour_length_14",
    processes: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Images]:
    """Draws different images, half of each split positive (one less if its size is odd).

    Args:
        sizes: rows wanted for each split name. LRA's are 160,000 / 20,000 / 20,000.
        seed: non-negative; with all above ``processes`` it alone decides the result.
        size: side of the images, 32 or 128.
        difficulty: ``curv_baseline``, ``curv_contour_length_9`` or ``curv_contour_length_14``.
        processes: worker processes; 1 is this process alone. As for all spawned processes, a script that asks for
            more must do so under ``if __name__ == "__main__"``.
        progress: called in this process as ``progress(images done, images wanted)`` now and then.

    Raises:
        ValueError: an argument is out of range.
    """
    p = parameters(size, difficulty)
    for name, rows in sizes.items():
        if rows < 0:
            raise ValueError(f"sizes[{name!r}] must be at least 0, got {rows}")
    if seed < 0 or processes < 1:
        raise ValueError(f"seed must be at least 0 and processes at least 1, got {seed} and {processes}")
    wanted = [sum(rows - rows // 2 for rows in sizes.values()), sum(rows // 2 for rows in sizes.values())]
    found: tuple[list[Gray], list[Gray]] = ([], [])
    seen: set[bytes] = set()
    with closing(blocks(partial(_block, seed, p), processes)) as stream:
        while any(len(images) < number for images, number in zip(found, wanted, strict=True)):
            for image, label in zip(*next(stream), strict=True):
                digest = blake2b(image.tobytes(), digest_size=16).digest()
                if digest not in seen and len(found[label]) < wanted[label]:
                    seen.add(digest)
                    found[label].append(image)
            if progress is not None:
                progress(len(seen), sum(wanted))

    splits = {}
    negatives, positives = map(iter, found)
    for number, (name, rows) in enumerate(sizes.items()):
        labels = np.arange(rows, dtype=np.uint8) % 2
        np.random.default_rng([seed, number]).shuffle(labels)
        images = np.empty((rows, size, size), np.uint8)
        for row, label in enumerate(labels):
            images[row] = next(positives if label else negatives)
        splits[name] = Images(images, labels)
    return splits


def _block(seed: int, p: Parameters, number: int) -> Images:
    """Block ``number``."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    parts = []
    for margin in p.paddle_margins:
        scene = scenes(rng, p, margin, _POOL)
        parts.append((draw(scene, p), scene.labels))
    order = rng.permutation(sum(len(labels) for _, labels in parts))
    return Images(*(np.concatenate(part)[order] for part in zip(*parts, strict=True)))


def scenes(rng: np.random.Generator, p: Parameters, margin: int, number: int) -> Scenes:
    """Scenes chosen from ``number`` pairs of contours, half of them positive, or one less."""
    shapes = Shapes(p, margin)
    heads, directions, boards = _contours(rng, p, shapes, number)
    starts = heads[:, :, 0] + shapes.tail[directions[:, :, 0]]
    ends = heads[:, :, -1]

    row, contour = np.arange(number), rng.integers(0, 2, number)
    start, own, other = starts[row, contour], ends[row, contour], ends[row, 1 - contour]
    places = shapes.points(np.stack([start, own, other])) - (p.window_size - 1) / 2
    apart = np.linalg.norm(places[1:] - places[0], axis=2)  # (2, number)
    kept = np.flatnonzero((apart > 2 * p.marker_radius + 1).all(axis=0))
    # All that two places in a disc can differ in: how far each is from the middle, and both from one another.
    away = np.linalg.norm(places, axis=2)
    as_positive, as_negative = (
        np.stack([np.minimum(away[0], away[end]), np.maximum(away[0], away[end]), apart[end - 1]], axis=1)[kept]
        for end in (1, 2)
    )
    kept = kept[_alike(as_positive / p.window_size, as_negative / p.window_size)]

    labels = rng.permutation(np.arange(len(kept), dtype=np.uint8) % 2)
    markers = np.stack([start[kept], np.where(labels == 1, own[kept], other[kept])], axis=1)
    boards.cells = boards.cells[kept]
    more_heads, more_directions = _distractors(rng, p, boards)
    return Scenes(
        shapes,
        np.concatenate([heads[kept].reshape(len(kept), -1), more_heads], axis=1),
        np.concatenate([directions[kept].reshape(len(kept), -1), more_directions], axis=1),
        markers,
        labels,
    )


def _alike(first: Floats, second: Floats) -> Ints:
    """The rows left when some are left out so that ``first`` and ``second`` (n, 3) get the same distribution.

    As long as that lowers the (unnormalised) maximum mean discrepancy between the two (Gretton et al. 2012), the row
    goes that lowers it most. Both belong to one scene, so the scenes left are the same for both labels.
    """
    pairs = _kernel(first, first) + _kernel(second, second) - _kernel(first, second) - _kernel(second, first)
    kept = np.ones(len(first), bool)
    sums, own = pairs.sum(axis=1), pairs.diagonal()
    while kept.any():
        gain = np.where(kept, 2 * sums - own, 0)
        worst = gain.argmax()
        if gain[worst] <= 0:
            break
        kept[worst] = False
        sums -= pairs[worst]
    return np.flatnonzero(kept)


def _kernel(a: Floats, b: Floats) -> Ints:
    """(n, 3), (m, 3) -> (n, m): Laplace's, in integers, whose sums are the same on every machine."""
    return np.rint(2**20 * np.exp(-np.abs(a[:, None] - b).sum(axis=2) / _KERNEL_WIDTH)).astype(np.int64)


def _contours(rng: np.random.Generator, p: Parameters, shapes: Shapes, number: int) -> tuple[Ints, Ints, _Boards]:
    """Heads and directions (number, 2, contour length) of pairs of contours, and the boards they stand on."""
    done: list[tuple[Ints, Ints, Gray]] = []
    while sum(len(heads) for heads, _, _ in done) < number:
        boards = _Boards(p, shapes, _BATCH)
        heads = np.empty((_BATCH, 2, p.contour_length), np.int64)
        directions = np.empty_like(heads)
        middle = rng.uniform(2 * p.seed_distance, p.window_size - 2 * p.seed_distance, (_BATCH, 2))
        angle = rng.uniform(0, 2 * np.pi, _BATCH)
        apart = p.seed_distance / 2 * np.stack([np.sin(angle), np.cos(angle)], axis=1)
        rows = np.arange(_BATCH)
        for step in range(p.contour_length):
            for contour, sign in enumerate((1, -1)):
                paddle = 1 + 2 * step + contour
                if step == 0:
                    chosen = rng.integers(0, len(shapes.head), len(rows))
                    start = np.rint(middle + sign * apart).astype(np.int64)[rows] + shapes.border
                    head = shapes.flat(start) - shapes.tail[chosen]
                    fits = boards.fits(rows, head, chosen)
                else:
                    last = rows, contour, step - 1
                    head, chosen = boards.extend(rng, rows, heads[last], directions[last], paddle - 2)
                    fits = chosen >= 0
                rows, head, chosen = rows[fits], head[fits], chosen[fits]
                heads[rows, contour, step], directions[rows, contour, step] = head, chosen
                boards.put(rows, head, chosen, paddle)
        done.append((heads[rows], directions[rows], boards.cells[rows]))
    heads, directions, boards.cells = (np.concatenate(part)[:number] for part in zip(*done, strict=True))
    return heads, directions, boards


def _distractors(rng: np.random.Generator, p: Parameters, boards: _Boards) -> tuple[Ints, Ints]:
    """Heads and directions (boards, paddles) of what else is put on the boards; -1 where there was no place."""
    length = p.distractor_length
    heads = np.full((len(boards.cells), p.distractors * length), -1)
    directions = heads.copy()
    for distractor in range(p.distractors):
        columns = slice(distractor * length, (distractor + 1) * length)
        first = 1 + 2 * p.contour_length + distractor * length
        waiting = np.arange(len(heads))
        for _ in range(_DISTRACTOR_TRIALS):
            tried = _Boards(p, boards.shapes, 0)
            tried.cells = boards.cells[waiting]
            rows, snake = _snake(rng, p, tried, first)
            heads[waiting[rows], columns], directions[waiting[rows], columns] = snake
            boards.cells[waiting[rows]] = tried.cells[rows]
            waiting = np.delete(waiting, rows)
    return heads, directions


def _snake(rng: np.random.Generator, p: Parameters, boards: _Boards, first: int) -> tuple[Ints, Ints]:
    """One distractor a board: the rows where it found a place, and its heads and directions (2, rows, length)."""
    shapes, number = boards.shapes, len(boards.cells)
    snake = np.full((2, number, p.distractor_length), -1)
    heads, directions = snake
    waiting = np.arange(number)
    for _ in range(_SEED_TRIALS):
        place = shapes.flat(rng.integers(0, p.window_size, (len(waiting), 2)) + shapes.border)
        chosen = rng.integers(0, len(shapes.head), len(waiting))
        fits = boards.fits(waiting, place, chosen)
        heads[waiting[fits], 0], directions[waiting[fits], 0] = place[fits], chosen[fits]
        waiting = waiting[~fits]
    rows = np.flatnonzero(directions[:, 0] >= 0)
    boards.put(rows, heads[rows, 0], directions[rows, 0], first)
    for step in range(1, p.distractor_length):
        last = rows, step - 1
        head, chosen = boards.extend(rng, rows, heads[last], directions[last], first + step - 1)
        fits = chosen >= 0
        rows, head, chosen = rows[fits], head[fits], chosen[fits]
        heads[rows, step], directions[rows, step] = head, chosen
        boards.put(rows, head, chosen, first + step)
    return rows, snake[:, rows]


def draw(scene: Scenes, p: Parameters) -> Gray:
    """The images, (n, s, s)."""
    shapes, number = scene.shapes, len(scene.labels)
    canvas = np.zeros((number, shapes.width**2), np.uint8)
    for heads, directions in zip(scene.heads.T, scene.directions.T, strict=True):
        rows = np.flatnonzero(directions >= 0)
        places = rows[:, None], heads[rows, None] + shapes.ink[directions[rows]]
        canvas[places] = np.maximum(canvas[places], shapes.ink_gray[directions[rows]])
    for markers in scene.markers.T:
        places = np.arange(number)[:, None], markers[:, None] + shapes.marker
        canvas[places] = np.maximum(canvas[places], shapes.marker_gray)
    inside = slice(shapes.border, shapes.border + p.window_size)
    return canvas.reshape(number, shapes.width, shapes.width)[:, inside, inside].copy()
