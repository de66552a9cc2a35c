"""The Pathfinder generator: its geometry against the rules, its labels, and that nothing trivial tells them."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from longdoc.tasks.pathfinder_cues import cue_accuracies, marker_places
from longdoc.tasks.pathfinder_drawing import CONTOUR_LENGTHS, Shapes, parameters
from longdoc.tasks.pathfinder_generator import Images, _alike, draw, generate, scenes

SIZES = {"train": 301, "validation": 50, "test": 49}
EASY = {"seed": 3, "difficulty": "curv_baseline"}
CASES = [(32, "curv_contour_length_14", 1), (32, "curv_baseline", 1), (128, "curv_baseline", 2)]


@pytest.fixture(name="splits", scope="module")
def _splits() -> dict[str, Images]:
    return generate(SIZES, **EASY)


@pytest.fixture(name="drawn", scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def _drawn(request):
    size, difficulty, margin = request.param
    p = parameters(size, difficulty)
    return p, margin, scenes(np.random.default_rng(0), p, margin, 400)


def segments(p, scene):
    """Heads and unit vectors towards them, (n, paddles, 2), and which paddles there are."""
    heads = scene.shapes.points(scene.heads)
    origin = scene.shapes.flat(np.full(2, scene.shapes.border))
    ahead = scene.shapes.points(scene.shapes.head + origin).astype(float)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    return heads, ahead[scene.directions], scene.directions >= 0


def test_parameters_are_the_published_ones():
    p = parameters(32, "curv_contour_length_14")
    assert (p.contour_length, p.distractor_length, p.distractors, p.seed_distance) == (14, 4, 5, 7)
    assert (p.paddle_length, p.paddle_thickness, p.paddle_margins, p.marker_radius) == (2, 0.5, (1,), 1.5)
    assert (p.continuity, p.padding, p.antialias_scale, p.contrast) == (1.0, 1, 2, 1.5)
    p = parameters(128, "curv_baseline")
    assert (p.contour_length, p.distractor_length, p.distractors, p.seed_distance) == (6, 2, 17, 20)
    assert (p.paddle_length, p.paddle_thickness, p.paddle_margins, p.marker_radius) == (5, 1.5, (2, 3), 3)
    assert (p.continuity, p.contrast) == (1.8, 0.9)
    assert list(CONTOUR_LENGTHS.values()) == [6, 9, 14]


def test_markers_are_the_ends_of_one_contour_in_positives_alone(drawn):
    p, _, scene = drawn
    heads, ahead, _ = segments(p, scene)
    length = p.contour_length
    ends = heads[:, [length - 1, 2 * length - 1]]
    starts = heads[:, [0, length]] - np.rint(p.paddle_length * ahead[:, [0, length]])
    markers = scene.shapes.points(scene.markers)
    at_start = (markers[:, :1] == starts).all(axis=2)
    at_end = (markers[:, 1:] == ends).all(axis=2)
    assert (at_start.sum(axis=1) == 1).all()
    assert (at_end.sum(axis=1) == 1).all()
    assert ((at_start == at_end).all(axis=1) == (scene.labels == 1)).all()
    assert abs(int((scene.labels == 1).sum()) * 2 - len(scene.labels)) <= 1
    apart = np.linalg.norm(starts[:, 0] - starts[:, 1], axis=1)
    assert np.abs(apart - p.seed_distance).max() <= 1.5  # both ends are rounded


def test_paddles_follow_one_another_at_the_gap_and_turn_no_further_than_continuity_allows(drawn):
    p, margin, scene = drawn
    heads, ahead, there = segments(p, scene)
    columns = np.arange(heads.shape[1])
    first = (columns % p.contour_length == 0) & (columns < 2 * p.contour_length)
    first |= ((columns - 2 * p.contour_length) % p.distractor_length == 0) & (columns >= 2 * p.contour_length)
    follows = there[:, 1:] & ~first[1:]
    tails = heads - p.paddle_length * ahead
    gap = np.linalg.norm(tails[:, 1:] - heads[:, :-1], axis=2)[follows]
    cosine = (ahead[:, 1:] * ahead[:, :-1]).sum(axis=2)[follows]
    turn = np.arccos(np.clip(cosine, -1, 1))
    assert turn.max() < np.pi / 2 / p.continuity + 1e-6
    # From a head over the pivot to the next tail: 2 margins when straight, and rounding at three places.
    straight = turn < 0.2
    assert np.abs(gap[straight] - 2 * margin).max() <= 1.5
    assert gap.max() <= 2 * margin + 1.5
    assert (there[:, : 2 * p.contour_length]).all()
    assert there[:, 2 * p.contour_length :].mean() > 0.6  # a distractor without a place is left out


def test_zones_of_paddles_meet_only_between_neighbours_and_keep_off_the_padding(drawn):
    p, margin, scene = drawn
    heads, ahead, there = segments(p, scene)
    cells = np.stack(np.mgrid[: p.window_size, : p.window_size], -1).astype(float)
    for image in range(5):
        zones = []
        for paddle in np.flatnonzero(there[image]):
            away = cells - heads[image, paddle]
            along = np.clip(-(away @ ahead[image, paddle]), 0, p.paddle_length)
            distance = np.linalg.norm(away + along[..., None] * ahead[image, paddle], axis=2)
            zones.append(distance <= margin + p.paddle_thickness / 2)
        inner = np.zeros((p.window_size, p.window_size), bool)
        inner[p.padding : -p.padding, p.padding : -p.padding] = True
        for i, zone in enumerate(zones):
            assert not (zone & ~inner).any()
            for other in zones[i + 2 :]:
                assert not (zone & other).any()


def test_images_show_the_markers_and_the_paddles(drawn):
    p, _, scene = drawn
    images = draw(scene, p)
    assert (images.dtype, images.shape[1:]) == (np.uint8, (p.window_size,) * 2)
    found = np.sort(marker_places(images), axis=1)
    markers = np.sort(scene.shapes.points(scene.markers), axis=1)
    assert np.abs(found - markers).max() <= 1
    heads, ahead, there = segments(p, scene)
    row, paddle = np.nonzero(there)
    y, x = np.rint(heads - p.paddle_length / 2 * ahead)[row, paddle].astype(int).T
    assert images[row, y, x].min() > 60
    # Nothing is drawn further off than the filter reaches.
    ink = images[0] > 0
    middles = np.concatenate([(heads - p.paddle_length / 2 * ahead)[0, there[0]], markers[0]])
    cells = np.argwhere(ink)
    nearest = np.linalg.norm(cells[:, None] - middles, axis=2).min(axis=1)
    assert nearest.max() < p.paddle_length / 2 + p.marker_radius + 3


def test_half_of_each_split_is_positive(splits):
    assert {name: (len(s.labels), int(s.labels.sum())) for name, s in splits.items()} == {
        "train": (301, 150),
        "validation": (50, 25),
        "test": (49, 24),
    }
    assert 0.2 < np.corrcoef(np.arange(301) % 2, splits["train"].labels)[0, 1] + 0.5 < 0.8  # and not by turns


def test_images_are_distinct_over_all_splits(splits):
    every = [image.tobytes() for split in splits.values() for image in split.images]
    assert len(set(every)) == len(every) == 400


def digest(splits) -> str:
    return hashlib.sha256(b"".join(part.tobytes() for split in splits.values() for part in split)).hexdigest()


def test_another_process_with_workers_draws_the_same(splits):
    code = (
        "import hashlib\n"
        "from longdoc.tasks.pathfinder_generator import generate\n"
        f"splits = generate({SIZES}, **{EASY}, processes=2)\n"
        "print(hashlib.sha256(b''.join(part.tobytes() for split in splits.values() for part in split)).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(splits)
    assert digest(generate(SIZES, **(EASY | {"seed": 4}))) != digest(splits)


def test_progress_ends_with_all_images():
    calls = []
    generate({"a": 900, "b": 101}, **EASY, progress=lambda done, total: calls.append((done, total)))
    assert len(calls) > 1
    assert calls == sorted(calls)
    assert calls[-1] == (1001, 1001)


def test_empty_splits():
    splits = generate({"train": 0, "test": 1}, **EASY)
    assert splits["train"].images.shape == (0, 32, 32)
    assert splits["test"].labels.tolist() == [0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"size": 64}, "task.size=64 is not one of 32, 128"),
        ({"difficulty": "hard"}, "task.difficulty=hard is not one of curv_baseline, curv_contour_length_9, "),
        ({"sizes": {"train": -1}}, r"sizes\['train'\] must be at least 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"processes": 0}, "processes at least 1"),
    ],
)
def test_arguments_out_of_range_are_named(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        generate(**({"sizes": {"train": 1}} | EASY | options))


def test_alike_makes_two_distributions_one():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 0.1, (600, 3)), rng.normal(0.54, 0.1, (600, 3))
    kept = _alike(first, second)
    assert len(kept) > 200
    error = 0.1 / np.sqrt(len(kept))
    assert np.abs(first.mean(0) - second.mean(0)).min() > 3 * error
    assert np.abs(first[kept].mean(0) - second[kept].mean(0)).max() < error
    assert np.abs(first[kept].std(0) - second[kept].std(0)).max() < error


def test_outlines_meet_whatever_zones_meet():
    """Two zones share a cell exactly if the outline of either and the other do, in any directions and places."""
    shapes = Shapes(parameters(128, "curv_baseline"), 3)
    origin = shapes.width * (shapes.width // 2) + shapes.width // 2
    rng = np.random.default_rng(0)
    for _ in range(3000):
        a, b = rng.integers(0, len(shapes.head), 2)
        y, x = rng.integers(-14, 15, 2)
        other = set((origin + shapes.zone[b] + y * shapes.width + x).tolist())
        meet = not other.isdisjoint((origin + shapes.zone[a]).tolist())
        assert meet != other.isdisjoint((origin + shapes.outline[a]).tolist())


def test_nothing_trivial_tells_the_label():
    """scripts/pathfinder_cues.py at a size that a test can afford: four standard errors, 4 points."""
    images = generate({"all": 2500}, **EASY)["all"]
    for name, accuracy in cue_accuracies(images):
        assert abs(accuracy - 0.5) < 4 * 0.5 / np.sqrt(2500), name


def test_the_check_finds_cues_that_are_there(splits):
    images, labels = splits["train"].images.copy(), splits["train"].labels
    images[labels == 1, 20:24, :8] = 120
    found = dict(cue_accuracies(Images(images, labels)))
    assert min(found[name] for name in ("pixels", "gray_levels", "projections", "blurred")) > 0.9
