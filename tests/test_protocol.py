"""Every protocol of conf/ with each of its tasks: read by the classes that it configures, of the published size."""

import pytest
from commands import PROJECT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from longdoc.build import build
from longdoc.export import build_classifier
from longdoc.protocol import check_protocol, listed, prescribed
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
    rows = {name.removeprefix("rows."): n for name, n in listed(FOLDER, protocol, task).items() if "rows." in name}
    assert set(rows) == {"train", "validation", "test"}
    assert config["task"].get("sizes", rows) == rows
    assert departures(prescribed(FOLDER, protocol, task, "gpu"), config | {"rows": rows}) == {}
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
        check(protocol, task)


def test_longdoc_suits_every_task():
    check("longdoc", "books", "encoder=base", "scheduler=linear")
    assert prescribed(FOLDER, "longdoc", "books") == {}


@pytest.mark.parametrize(
    ("protocol", "task", "word", "why"),
    [
        (
            "skyformer",
            "listops",
            "encoder=base",
            "encoder=base: protocol=skyformer sets encoder.width, encoder.depth",
        ),
        (
            "lra-2021",
            "image",
            "scheduler=linear",
            "scheduler=linear: protocol=lra-2021 sets scheduler.start, .*_target_",
        ),
        (
            "s4",
            "text",
            "scheduler=rsqrt",
            "scheduler=rsqrt: protocol=s4 sets scheduler.minimum, which it does not",
        ),
    ],
)
def test_words_that_would_be_overruled_are_refused(protocol, task, word, why):
    with pytest.raises(ValueError, match=f"^{why}"):
        check(protocol, task, word)


def test_an_experiments_word_is_refused_as_the_command_lines_is(tmp_path):
    experiment = "# @package _global_\ndefaults:\n  - override /encoder: base\n"
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(experiment)
    words = (f"hydra.searchpath=[file://{tmp_path}]", "experiment=mine")
    with pytest.raises(ValueError, match=r"^encoder=base: protocol=skyformer sets encoder.width"):
        check("skyformer", "listops", *words)


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("lra-2021", ["scheduler=linear", "trainer=gpu", "encoder.width=32"]),
        ("skyformer", ["scheduler=cosine", "variant=softmax", "encoder=tiny"]),
        ("skyformer", ["scheduler=rsqrt"]),
        ("nystromformer", ["scheduler=rsqrt"]),
        ("s4", ["scheduler=rsqrt", "~scheduler.minimum"]),
        ("s4", ["debug=smoke"]),
    ],
)
def test_other_words_stand(protocol, words):
    build(check(protocol, "listops", *words)["scheduler"])


def check(protocol, task, *words):
    config = composed(f"task={task}", f"protocol={protocol}", *words)
    check_protocol(FOLDER, protocol, config["choices"], config["scheduler"])
    return config


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["task.min_length=20", "task.expression_length=100", "task.data_seed=1", "+task.validation_windows=2",
          "encoder.qk_norm=true", "attention.causal=true", "+optimizer.amsgrad=true", "pooling=max",
          "trainer.precision=16-mixed"],
         {"task.min_length": 20, "task.expression_length": 100, "task.data_seed": 1, "task.validation_windows": 2,
          "encoder.qk_norm": True, "encoder.attention.causal": True, "optimizer.amsgrad": True, "pooling": "max",
          "trainer.precision": "16-mixed"}),
        (["scheduler=rsqrt"], {"scheduler": "rsqrt"}),
        (["scheduler=cosine"], {"scheduler": "cosine", "scheduler.minimum": 0.01}),
        (["debug=overfit"], {"task.train_rows": 4, "scheduler.warmup_steps": 10, "trainer.max_steps": 200,
                             "trainer.val_check_interval": 100}),
        # what a comparison is about, and what changes nothing
        (["variant=softmax"], {}),
        (["variant=elu_hybrid"], {}),
        (["feature_map=favor", "decay=selective", "encoder.convolution=4", "attention.normalizer=none", "trainer=gpu",
          "seed=7", "task.workers=3", "task.cache=elsewhere", "task.processes=2", "task.source=generated",
          "logger=csv"], {}),
    ],
)  # fmt: skip
def test_whatever_decides_a_number_is_a_departure(words, found):
    config = check("skyformer", "listops", *words)
    values = prescribed(FOLDER, "skyformer", "listops", config["choices"]["trainer"])
    rows = {"rows": {"train": 96000, "validation": 2000, "test": 2000}}
    departed = departures(values, config | rows)
    assert {key: run for key, (_, run) in departed.items()} == found
    assert all(value != run for value, run in departed.values())


@pytest.mark.parametrize(
    ("task", "words", "found"),
    [
        ("pathfinder", ["task.size=128", "task.max_length=16384"], {"task.size": 128, "task.max_length": 16384}),
        ("text", ["task.hub=mine/films", "task.source=hub"], {"task.hub": "mine/films"}),
        ("text", ["task.hub=/a/b/films"], {"task.hub": "films"}),
        ("text", ["task.data=/a/films", "task.columns.text=t"], {"task.data": "films"}),
        ("text", ["task.source=local"], {"task.source": "local"}),
        ("retrieval", ["task.data=/a/b/tsv_data"], {}),  # the release, wherever it lies
        ("retrieval", ["task.data=/a/b/mine", "interaction=concat"], {"task.data": "mine", "interaction": "concat"}),
    ],
)
def test_other_data_are_a_departure_by_their_name_alone(task, words, found):
    config = check("skyformer", task, *words)
    values = {key: v for key, v in prescribed(FOLDER, "skyformer", task).items() if not key.startswith("rows.")}
    assert {key: run for key, (_, run) in departures(values, config).items()} == found


def test_what_a_protocol_sets_is_read_from_both_files():
    values = listed(FOLDER, "skyformer", "listops")
    assert (values["encoder"], values["scheduler"], values["encoder.width"]) == ("tiny", "linear", 64)
    assert (values["optimizer.eps"], values["optimizer.lr"], values["task.batch_rows"]) == (1e-6, 1e-4, 32)
    assert values["task.sizes.validation"] == 2000
    assert not any(key.startswith("protocol") for key in values)
    values = listed(FOLDER, "s4", "retrieval")
    assert {key: value for key, value in values.items() if key.startswith("rows")} == {
        "rows.train": 147086, "rows.validation": 18090, "rows.test": 17437,
    }  # fmt: skip


def test_a_trainer_of_the_users_own_needs_no_file_here():
    assert prescribed(FOLDER, "skyformer", "text", "mine") == prescribed(FOLDER, "skyformer", "text")
    assert prescribed(FOLDER, "skyformer", "text", "gpu")["trainer.precision"] == "bf16-mixed"
