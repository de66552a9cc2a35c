"""Every protocol of conf/ with each of its tasks: read by the classes that it configures, of the published size."""

import pytest
from commands import PROJECT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from longdoc.build import build
from longdoc.export import build_classifier
from longdoc.protocol import check_protocol, prescribed
from longdoc.results.departures import departures

FOLDER = PROJECT / "conf" / "protocol"
TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "pathx")
HERE = [task for task in TASKS if (PROJECT / "conf" / "task" / f"{task}.yaml").is_file()]
PROTOCOLS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
VOCABULARY = {"listops": (16, 10), "image": (257, 10)}  # symbols with padding, classes; else bytes, two

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)


def composed(*overrides):
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        config = compose("train", list(overrides), return_hydra_config=True)
    choices = dict(config.hydra.runtime.choices)
    OmegaConf.set_struct(config, False)
    config.pop("hydra")
    return OmegaConf.to_container(config, resolve=True) | {"choices": choices}


def test_the_protocols_have_the_six_tasks():
    assert PROTOCOLS == ["lra-2021", "nystromformer", "s4", "skyformer"]
    for protocol in PROTOCOLS:
        assert {path.stem for path in (FOLDER / protocol).glob("*.yaml")} == set(TASKS)
    assert {path.stem for path in (PROJECT / "conf" / "experiment" / "lra").glob("*.yaml")} == set(TASKS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("task", HERE)
def test_a_run_by_it_is_complete_and_departs_in_nothing(task, protocol):
    config = composed(f"experiment=lra/{task}", f"protocol={protocol}", "trainer=gpu")
    assert config["protocol"]["name"] == protocol
    assert config["protocol"]["source"].startswith(("Tay", "Xiong", "Chen", "Gu"))
    values = prescribed(FOLDER, protocol, task)
    assert departures({key: value for key, value in values.items() if not key.startswith("rows.")}, config) == {}
    trainer = config["trainer"]
    assert (trainer["accelerator"], trainer["precision"], trainer["compile"]) == ("gpu", "bf16-mixed", True)
    assert config["task"]["workers"] == trainer["workers"] == 4
    assert trainer["max_steps"] >= 5000
    assert build(config["task"]).batch_size.rows == config["task"]["batch_rows"]  # refuses what it cannot read
    schedule, warmup = build(config["scheduler"]), config["scheduler"]["warmup_steps"]
    peak = warmup**-0.5 if config["scheduler"]["_target_"].endswith("Rsqrt") else 1
    assert schedule(warmup, 0.0) == pytest.approx(peak, rel=1e-3)
    model = build_classifier(config, *VOCABULARY.get(task, (257, 2)))
    assert not model.encoder.causal
    optimizer = build(config["optimizer"])(model.parameters())
    assert optimizer.defaults["eps"] == config["optimizer"]["eps"]


def beside_embeddings(model):
    tables = (model.encoder.embedding, model.encoder.positions)
    return sum(p.numel() for p in model.parameters()) - sum(p.numel() for t in tables for p in t.parameters())


@pytest.mark.parametrize("task", HERE)
def test_the_skyformer_models_have_the_published_size(task):
    """Theirs: 2 blocks of 33,472 (4 projections and a feed-forward layer with biases, 2 norms), a norm, and a head
    with 128 hidden: 75,650 with 2 classes, 76,682 with 10, 100,226 of pairs. Ours has a norm before the head, and no
    biases in blocks."""
    classes, vectors = VOCABULARY.get(task, (257, 2))[1], 4 if task == "retrieval" else 1
    theirs = 2 * (4 * (64 * 64 + 64) + (64 * 128 + 128) + (128 * 64 + 64) + 2 * 2 * 64) + 2 * 64
    theirs += vectors * 64 * 128 + 128 + 128 * classes + classes
    model = build_classifier(composed(f"experiment=lra/{task}"), *VOCABULARY.get(task, (257, 2)))
    assert beside_embeddings(model) == theirs - 2 * (4 * 64 + 128 + 64) + 2 * 64


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("task", ["books", "recall"])
def test_a_task_that_it_does_not_have_is_refused(protocol, task):
    with pytest.raises(ValueError, match=(
        f"^task={task}: protocol={protocol} has no settings for it, "
        "only for image, listops, pathfinder, pathx, retrieval, text$"
    )):  # fmt: skip
        check_protocol(FOLDER, protocol, task, [])


def test_longdoc_suits_every_task():
    check_protocol(FOLDER, "longdoc", "books", ["encoder=base", "scheduler=linear"])
    assert prescribed(FOLDER, "longdoc", "books") == {}


def test_words_that_would_be_overruled_are_refused():
    with pytest.raises(
        ValueError, match=r"^encoder=base: protocol=skyformer sets encoder.width, encoder.depth, .* set"
    ):
        check_protocol(FOLDER, "skyformer", "listops", ["encoder=base"])
    with pytest.raises(ValueError, match=r"^scheduler=linear: protocol=lra-2021 sets scheduler.start, .*_target_"):
        check_protocol(FOLDER, "lra-2021", "image", ["scheduler=linear"])
    check_protocol(FOLDER, "lra-2021", "listops", ["scheduler=linear", "trainer=gpu", "encoder.width=32"])
    check_protocol(FOLDER, "skyformer", "image", ["scheduler=cosine", "task=image", "variant=softmax"])


def test_what_a_protocol_sets_is_read_from_both_files():
    values = prescribed(FOLDER, "skyformer", "listops")
    assert (values["encoder"], values["scheduler"], values["encoder.width"]) == ("tiny", "linear", 64)
    assert (values["optimizer.eps"], values["optimizer.lr"], values["task.batch_rows"]) == (1e-6, 1e-4, 32)
    assert values["task.sizes.validation"] == 2000
    assert not any(key.startswith(("protocol", "rows")) for key in values)
    values = prescribed(FOLDER, "s4", "retrieval")
    assert {key: value for key, value in values.items() if key.startswith("rows")} == {
        "rows.train": 147086, "rows.validation": 18090, "rows.test": 17437,
    }  # fmt: skip
