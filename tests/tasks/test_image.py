"""CIFAR-10 in gray: its pixels against numpy, its classes, and what is said of images that are none."""

import io
import re
import zlib

import datasets
import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longdoc.tasks.byte_ids import from_ids
from longdoc.tasks.image import Image, to_gray, to_pixels

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
WANTED = "expected a whole PNG or JPEG of 32 x 32 pixels in RGB, or their 3,072 bytes"
OPTIONS = {"hub": "uoft-cs/cifar10", "max_length": 1024, "batch_tokens": 4096, "seed": 0}


def images(rows, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (rows, 32, 32, 3), np.uint8)


def luma(pixels):
    """rgb_to_grayscale of bytes in TensorFlow: to 0..1, weighed, times 255.5 and cut."""
    return np.floor(pixels / 255 @ [0.2989, 0.5870, 0.1140] * 255.5)


def encode(pixels, kind="PNG", mode=None, **options):
    file = io.BytesIO()
    PIL.Image.fromarray(pixels, mode).save(file, kind, **options)
    return file.getvalue()


def write(folder, split, values, labels, names=("image", "label")):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(zip(names, (values, labels), strict=True))), folder / f"{split}.parquet")
    return folder / f"{split}.parquet"


def gray_of(task, split):
    documents = task.documents(split)
    return [np.frombuffer(from_ids(documents.ids(row)), np.uint8).reshape(32, 32) for row in range(len(documents))]


@pytest.fixture(name="make")
def _make(tmp_path):
    return lambda **options: Image(**(OPTIONS | {"cache": str(tmp_path / "cache")} | options))


class TestGray:
    def test_every_third_level_of_all_three_channels(self):
        levels = np.arange(0, 256, 3, dtype=np.uint8)
        colours = np.stack(np.meshgrid(levels, levels, levels), -1)
        assert np.array_equal(to_gray(colours), luma(colours))

    def test_gray_pixels_keep_their_levels(self):
        levels = np.arange(256, dtype=np.uint8)
        assert np.array_equal(to_gray(np.stack([levels] * 3, -1)), levels)

    def test_tensorflow_in_single_precision_agrees(self):
        """Its steps in float32; near whole numbers the rounding errors decide, in 237 of all 2^24 colours."""
        colours = images(200)
        weighed = colours.astype(np.float32) * np.float32(1 / 255) @ np.float32([0.2989, 0.5870, 0.1140])
        assert (to_gray(colours) != (weighed * np.float32(255.5)).astype(np.uint8)).mean() < 1e-4

    def test_primary_colours(self):
        """0.2989, 0.5870 and 0.1140 of 255.5, cut."""
        assert to_gray(255 * np.eye(3, dtype=np.uint8)).tolist() == [76, 149, 29]


class TestLocal:
    @pytest.mark.parametrize(
        "stored",
        [encode, lambda pixels: {"bytes": encode(pixels), "path": None}, lambda pixels: pixels.tobytes()],
        ids=["PNG", "PNG as datasets keeps it", "raw"],
    )
    def test_lossless_images_come_back_as_their_gray_levels(self, make, tmp_path, stored):
        pixels = {split: images(rows, rows) for split, rows in (("train", 20), ("validation", 5), ("test", 7))}
        for split, of_split in pixels.items():
            write(tmp_path, split, [stored(image) for image in of_split], [row % 3 for row in range(len(of_split))])
        task = make(data=str(tmp_path))
        for split, of_split in pixels.items():
            assert np.array_equal(gray_of(task, split), luma(of_split))
            assert task.documents(split).labels.tolist() == [row % 3 for row in range(len(of_split))]
        assert (task.classes, task.vocab_size) == (["0", "1", "2"], 257)
        ids = next(iter(task.train_dataloader()))["ids"]
        assert ids.shape == (4, 1024)
        assert ids.min() >= 1

    def test_a_file_of_as_many_bytes_as_raw_pixels_is_a_file(self):
        pixels = images(1)[0]
        short = encode(pixels // 4)
        padded = short[:33] + _chunk(b"tEXt", b"k\0" + b"v" * (3072 - len(short) - 14)) + short[33:]
        assert len(padded) == 3072
        assert np.array_equal(to_pixels(padded), pixels // 4)

    def test_jpeg_is_read_and_lossy(self):
        ramp = np.broadcast_to(np.arange(0, 256, 8, dtype=np.uint8)[None, :, None], (32, 32, 3))
        found = to_pixels(encode(ramp, "JPEG", quality=90))
        assert np.abs(found.astype(int) - ramp).max() < 12

    def test_jpegs_are_counted_told_and_recorded(self, make, tmp_path, capsys):
        pixels = images(20)
        kinds = ["JPEG" if row % 4 else "PNG" for row in range(20)]
        files = [encode(image, kind) for image, kind in zip(pixels, kinds, strict=True)]
        write(tmp_path, "train", files, [row // 10 for row in range(20)])
        write(tmp_path, "test", files[::4], [0, 1] * 2 + [0])
        task = make(data=str(tmp_path), train_rows=12)
        capsys.readouterr()
        task.prepare_data()
        validation = task.jpeg("validation").sum()
        told = capsys.readouterr().out
        assert f"{15 - validation} of 18 train images are JPEG, which is lossy" in told
        assert "test images" not in told
        counts = {split: counts["jpeg_rows"] for split, counts in task.describe().items()}
        assert counts == {"train": task.jpeg("train")[:12].sum(), "validation": validation, "test": 0}
        lossless = {image.tobytes() for image in luma(pixels).astype(np.uint8)}
        for split in ("train", "validation"):
            changed = [image.tobytes() not in lossless for image in gray_of(task, split)]
            assert changed == task.jpeg(split).tolist()

    def test_columns_can_be_called_otherwise(self, make, tmp_path):
        pixels = images(10)
        for split in ("train", "validation", "test"):
            write(tmp_path, split, [image.tobytes() for image in pixels], NAMES, ("rgb", "class_name"))
        task = make(data=str(tmp_path), columns={"image": "rgb", "label": "class_name"})
        assert np.array_equal(gray_of(task, "test"), luma(pixels))
        assert [task.classes[label] for label in task.documents("test").labels] == NAMES

    def test_a_missing_file_is_named(self, make, tmp_path):
        path = re.escape(str(tmp_path / "train"))
        said = rf"^{path}\.\S+ is missing: task.data must name a folder with the tables train and test"
        with pytest.raises(FileNotFoundError, match=said):
            make(data=str(tmp_path)).documents("train")


@pytest.fixture(name="hub", scope="module")
def _hub(tmp_path_factory):
    """A folder in the layout of uoft-cs/cifar10: plain_text/{train,test}-00000-of-00001.parquet of img and label."""
    folder = tmp_path_factory.mktemp("cifar10") / "plain_text"
    folder.mkdir()
    features = datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)})
    for split, rows in (("train", 200), ("test", 20)):
        of_split = [PIL.Image.fromarray(image) for image in images(rows, rows)]
        table = datasets.Dataset.from_dict(
            {"img": of_split, "label": [row * 7 % 10 for row in range(rows)]}, features=features
        )
        table.to_parquet(folder / f"{split}-00000-of-00001.parquet")
    return str(folder)


class TestHub:
    """``load_dataset`` on parquet files of the schema that uoft-cs/cifar10 has."""

    def test_images_and_classes(self, make, hub):
        task = make(hub=hub)
        assert (task.source, task.classes) == ("hub", NAMES)
        test = task.documents("test")
        assert np.array_equal(gray_of(task, "test"), luma(images(20, 20)))
        assert test.labels.tolist() == [row * 7 % 10 for row in range(20)]

    def test_a_tenth_of_each_class_is_taken_out_of_train_to_validate(self, make, hub):
        task = make(hub=hub)
        train, validation = gray_of(task, "train"), gray_of(task, "validation")
        assert (len(train), len(validation)) == (180, 20)
        assert np.bincount(task.documents("validation").labels).tolist() == [2] * 10
        every = sorted(image.tobytes() for image in luma(images(200, 200)).astype(np.uint8))
        assert sorted(image.tobytes() for image in train + validation) == every

    def test_other_class_names_are_refused(self, make, hub):
        assert Image.hub_labels == {OPTIONS["hub"]: NAMES}
        with pytest.raises(ValueError, match=r"the labels of the column label are airplane, .*, truck, not cat, dog"):
            make(hub=hub, labels=["cat", "dog"]).documents("train")


def _chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def _bad_images():
    pixels = images(1)[0]
    png, jpeg = encode(pixels), encode(pixels, "JPEG")
    gray = pixels[..., 0]
    animated = io.BytesIO()
    frames = [PIL.Image.fromarray(image) for image in images(2)]
    frames[0].save(animated, "GIF", save_all=True, append_images=frames[1:])
    moving_png = io.BytesIO()
    frames[0].save(moving_png, "PNG", save_all=True, append_images=frames[1:])
    return {
        "a PNG cut in half": (png[: len(png) // 2], "the PNG is cut off"),
        "a PNG without its last byte": (png[:-1], "the PNG is cut off"),
        "a PNG with a changed byte": (png[:100] + bytes([png[100] ^ 255]) + png[101:], "the image cannot be decoded ("),
        "a JPEG cut in half": (jpeg[: len(jpeg) // 2], "the image cannot be decoded ("),
        "the head of a PNG alone": (png[:20], "the PNG is cut off"),
        "other dimensions": (encode(pixels[:, :31]), "the image has 31 x 32 pixels of mode RGB"),
        "gray": (encode(gray), "the image has 32 x 32 pixels of mode L"),
        "gray of 16 bits": (encode(gray.astype(np.uint16)), "the image has 32 x 32 pixels of mode I;16"),
        "alpha": (encode(np.dstack([pixels, gray])), "the image has 32 x 32 pixels of mode RGBA"),
        "a palette": (encode(gray, mode="P"), "the image has 32 x 32 pixels of mode P"),
        "an animation": (moving_png.getvalue(), "the image has 2 frames of 32 x 32 pixels of mode RGB"),
        "GIF": (animated.getvalue(), f"{len(animated.getvalue()):,} bytes that begin with b'GIF8"),
        "text": (b"cat.png", "7 bytes that begin with b'cat.png' are no image"),
        "nothing": (b"", "0 bytes that begin with b'' are no image"),
        "a byte too many": (pixels.tobytes() + b"\0", "3,073 bytes that begin with b'"),
    }


BAD = _bad_images()


@pytest.mark.parametrize("name", list(BAD))
def test_a_bad_image_is_named_and_counted(make, tmp_path, name):
    value, said = BAD[name]
    good = [encode(image) for image in images(4)]
    for split in ("validation", "test"):
        write(tmp_path, split, good, range(4))
    path = write(tmp_path, "train", [*good[:2], value, good[2], None, good[3]], [0, 1, 2, 3, 0, 1])
    with pytest.raises(ValueError, match=r"are refused") as caught:
        make(data=str(tmp_path)).documents("train")
    assert str(caught.value).startswith(f"2 of 6 rows are refused; the first: {path}, row 3: {said}")
    assert str(caught.value).endswith(f": {WANTED}")


def test_a_column_that_holds_no_bytes(make, tmp_path):
    for split in ("train", "validation", "test"):
        write(tmp_path, split, [image.ravel().tolist() for image in images(3)], range(3))
    with pytest.raises(ValueError, match=rf"3 of 3 rows are refused; .* row 1: a list is no image: {WANTED}"):
        make(data=str(tmp_path)).documents("train")


def test_a_label_outside_the_classes_is_refused(make, tmp_path):
    good = [encode(image) for image in images(4)]
    for split, labels in (("train", [0, 1, 2, 0]), ("validation", [0, 1, 2, 0]), ("test", [0, 10, 2, 0])):
        write(tmp_path, split, good, labels)
    said = r"1 of 4 rows are refused; .*test.parquet, row 2: the label '10' is not among the training split's: 0, 1, 2"
    with pytest.raises(ValueError, match=said):
        make(data=str(tmp_path)).documents("test")
