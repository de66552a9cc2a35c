"""The task Pathfinder: gray levels to ids, generated and released images, and what is said of bad files."""

import numpy as np
import pytest
import torch
from PIL import Image

from longdoc.tasks.pathfinder import Pathfinder, split_rows
from longdoc.tasks.pathfinder_files import read_released, write_released
from longdoc.tasks.pathfinder_generator import Images, generate

SIZES = {"train": 30, "validation": 10, "test": 10}
EASY = "curv_baseline"


def make(folder, **options):
    plain = {"sizes": SIZES, "max_length": 1024, "batch_tokens": 4096, "seed": 0, "buckets": 1, "difficulty": EASY}
    data = {"data": str(folder)} if "source" in options else {}
    return Pathfinder(**(plain | {"cache": str(folder / "cache"), "processes": 1} | data | options))


@pytest.fixture(name="images", scope="module")
def _images() -> Images:
    return generate({"all": 50}, seed=0, difficulty=EASY)["all"]


@pytest.fixture(name="released")
def _released(tmp_path, images):
    write_released(tmp_path, images, EASY, rows_per_file=4)
    return tmp_path


def pictures(task, split):
    documents = task.documents(split)
    return np.array([documents.ids(row).reshape(task.size, task.size) - 1 for row in range(len(documents))])


def test_generated_images_are_the_documents_row_by_row(tmp_path):
    task = make(tmp_path, data_seed=5)
    expected = generate(SIZES, seed=5, difficulty=EASY)
    for split in SIZES:
        assert np.array_equal(pictures(task, split), expected[split].images)
        assert task.documents(split).labels.tolist() == expected[split].labels.tolist()
    assert (task.name, task.classes, task.vocab_size) == ("pathfinder", ["negative", "positive"], 257)
    assert task.references()["majority"] == 0.5


def test_every_gray_level_comes_back(tmp_path):
    ramp = np.arange(1024, dtype=np.uint8).reshape(1, 32, 32)  # 0 to 255, four times
    images = np.concatenate([np.roll(ramp, shift, axis=2) for shift in range(20)])
    write_released(tmp_path, Images(images, np.arange(20, dtype=np.uint8) % 2), EASY)
    task = make(tmp_path, source="local")
    found = np.concatenate([pictures(task, split) for split in SIZES])
    assert np.array_equal(found, images)
    ids = task.documents("train").ids(0)
    assert (ids.min(), ids.max(), len(np.unique(ids))) == (1, 256, 256)


def test_path_x_has_a_name_of_its_own(tmp_path):
    task = make(tmp_path, size=128, max_length=16384, batch_tokens=16384, source="local")
    assert task.name == "pathx"


def test_the_released_layout_reads_back_equal(released, images):
    assert (released / "pathfinder32" / EASY / "imgs" / "12" / "sample_1.png").is_file()
    first = (released / "pathfinder32" / EASY / "metadata" / "0.npy").read_text().splitlines()[1]
    assert first == f"imgs/0 sample_1.png 1 {images.labels[1]} 1.0 6 2 2 0.5 1 1"
    found, left_out = read_released(released, 32, EASY)
    assert np.array_equal(found.images, images.images)
    assert np.array_equal(found.labels, images.labels)
    assert left_out == 0


def test_splits_in_order(released, images):
    """In the order of the files' numbers: 10 stands behind 9, not behind 1."""
    task = make(released, source="local")
    assert [len(task.documents(split)) for split in SIZES] == [40, 5, 5]
    assert np.array_equal(np.concatenate([pictures(task, split) for split in SIZES]), images.images)


def test_splits_shuffled_are_those_of_random_split(released, images):
    task = make(released, source="local", split_seed=42)
    parts = torch.utils.data.random_split(range(50), [40, 5, 5], generator=torch.Generator().manual_seed(42))
    for split, part in zip(SIZES, parts, strict=True):
        assert np.array_equal(pictures(task, split), images.images[list(part)])
        assert task.documents(split).labels.tolist() == images.labels[list(part)].tolist()
    assert [len(part) for part in split_rows(19, None)] == [17, 1, 1]


def test_changed_files_are_read_anew(released):
    task = make(released, source="local")
    before = task.encode("train")
    path = released / "pathfinder32" / EASY / "imgs" / "0" / "sample_0.png"
    Image.fromarray(np.zeros((32, 32), np.uint8)).save(path)
    assert make(released, source="local").encode("train") != before
    assert pictures(make(released, source="local"), "train")[0].max() == 0


def spoil(folder, what):
    """Breaks rows 1 and 3 (or all from there on) in one way, and returns the path that must be named."""
    image = folder / "imgs" / "0" / "sample_1.png"
    metadata = folder / "metadata" / "0.npy"
    lines = metadata.read_text().splitlines()
    if what == "truncated":
        image.write_bytes(image.read_bytes()[:-40])
    elif what == "an end short":
        image.write_bytes(image.read_bytes()[:-12])
    elif what == "deep":
        Image.fromarray(np.full((32, 32), 23, np.uint16)).save(image)
    elif what == "empty":
        image.write_bytes(b"")
    elif what == "no picture":
        image.write_bytes(b"not a picture")
    elif what == "gone":
        image.unlink()
    elif what == "twice":
        metadata.write_text("\n".join([lines[0], *lines[:1], *lines[2:]]) + "\n")
    elif what == "large":
        Image.fromarray(np.zeros((16, 48), np.uint8)).save(image)
    else:
        lines[1] = {"fields": "imgs/0 sample_1.png 1", "label": "imgs/0 sample_1.png 1 2 1.0"}[what]
        metadata.write_text("\n".join(lines) + "\n")
    (folder / "imgs" / "0" / "sample_3.png").write_bytes(b"")
    return metadata


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("truncated", "sample_1.png is no whole PNG; take it from lra_release.gz"),
        ("an end short", "sample_1.png is no whole PNG"),
        ("deep", "sample_1.png is a PNG of mode I;16; it must have 8 bits a channel"),
        ("no picture", "sample_1.png is no whole PNG"),
        ("empty", "sample_1.png is empty; it must be a PNG"),
        ("gone", "sample_1.png is missing"),
        ("twice", r"line 2: .*imgs/0/sample_0\.png was there before, in .*metadata/0\.npy, line 1"),
        ("large", "sample_1.png is 48 x 16 pixels large; it must be 32 x 32"),
        ("fields", "'imgs/0 sample_1.png 1' has 3 fields; it needs at least folder, file, number and label"),
        ("label", "the label '2' must be 0 or 1"),
    ],
)
def test_bad_rows_are_counted_and_the_first_is_named(released, what, complaint):
    metadata = spoil(released / "pathfinder32" / EASY, what)
    with pytest.raises(ValueError, match=complaint) as caught:
        make(released, source="local").encode("train")
    assert str(caught.value).startswith(f"2 of 50 rows cannot be read; the first: {metadata}, line 2: ")
    assert not list((released / "cache").glob("*/train"))


def test_images_named_are_left_out_and_counted(released, images, capsys):
    name = f"pathfinder32/{EASY}/imgs/0/sample_1.png"
    (released / name).write_bytes(b"")
    task = make(released, source="local", leave_out=[name, "pathfinder32/elsewhere/imgs/0/sample_0.png"])
    found = np.concatenate([pictures(task, split) for split in SIZES])
    assert np.array_equal(found, np.delete(images.images, 1, axis=0))
    assert task.state["left_out"] == 1
    assert "1 images named in task.leave_out were left out" in capsys.readouterr().out


def test_a_missing_release_says_where_it_was_looked_for_and_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"pathfinder32/curv_baseline/metadata is missing: .*lra_release.gz"):
        make(tmp_path, source="local").prepare_data()
    (tmp_path / "pathfinder32" / EASY / "metadata").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=r"metadata has no .npy files"):
        make(tmp_path, source="local").prepare_data()


def test_metadata_of_another_layout_is_named(released):
    """The original generator saves numpy arrays under the same names."""
    path = released / "pathfinder32" / EASY / "metadata" / "3.npy"
    np.save(path, np.array([["imgs/3", "sample_0.png", "0", "1"]]))
    with pytest.raises(
        ValueError, match=r"metadata/3.npy holds no text; in LRA's release it has a line for each image"
    ):
        make(released, source="local").prepare_data()
    path.rename(path.with_name("three.npy"))
    with pytest.raises(ValueError, match=r"three.npy must be named by a number"):
        make(released, source="local").prepare_data()


def test_too_few_images_for_three_splits(tmp_path, images):
    write_released(tmp_path, Images(images.images[:9], images.labels[:9]), EASY)
    with pytest.raises(ValueError, match=r"9 images in .* are too few for three splits"):
        make(tmp_path, source="local").prepare_data()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"source": "hub"}, "task.source=hub is not one of generated, local"),
        ({"size": 64}, "task.size=64 is not one of 32, 128"),
        ({"difficulty": "hard"}, "task.difficulty=hard is not one of"),
        ({"max_length": 1023}, "task.max_length=1023 would cut images of task.size=32, .* their 1024 pixels"),
        ({"processes": 0}, "task.processes=0 must be at least 1"),
    ],
)
def test_options_out_of_range_are_named(tmp_path, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        make(tmp_path, **options)
