"""Temperatures and thresholds, and how they travel in a checkpoint."""

import json
import shutil

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from commands import record, run
from sklearn.metrics import f1_score

from longdoc.calibration import amend, best_thresholds, check_calibration, fit_temperature
from longdoc.export import load
from longdoc.results.comparison import compare
from longdoc.results.table import to_markdown
from longdoc.tasks.base import Task
from longdoc.training.scores import MultiLabelScores, Scores

TOPICS = '''
"""Rows of words, each of which is a topic that the document then has; one is in no test document."""

import numpy as np

from longdoc.tasks.base import Task
from longdoc.tasks.cache import cached, save_documents

ROWS = {"train": 64, "validation": 24, "test": 24}


class Topics(Task):
    name = "topics"
    multi_label = True
    class_weights = np.array([1.0, 2.0, 3.0])

    def learn(self):
        return {"classes": ["art", "law", "war"], "vocab_size": 12}

    def encode(self, split):
        rng = np.random.default_rng(len(split))
        labels = rng.random((ROWS[split], 3)) < [0.6, 0.3, 0.2 * (split != "test")]
        ids = [np.concatenate([1 + np.flatnonzero(row), rng.integers(4, 12, 20)]) for row in labels]
        return cached(self.cache, {"topics": split}, lambda f: save_documents(f / "d", ids, labels, 12, 3)) / "d"
'''
CONFIG = """
# @package _global_
task:
  _target_: my_topics.Topics
  max_length: 32
  batch_tokens: 256
  cache: cache
  seed: ${seed}
pooling: mean
trainer:
  default_time: "00:00:01:00"
  val_check_interval: 10
"""


def overconfident(many):
    """Logits (400, 4), three times as large as those that the labels were drawn from, and the labels."""
    generator = torch.Generator().manual_seed(3)
    logits = 2 * torch.randn(400, 4, generator=generator)
    if many:
        return 3 * logits, (torch.rand(400, 4, generator=generator) < logits.sigmoid()).float()
    return 3 * logits, torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]


def loss(logits, labels, temperature):
    scaled = logits.double() / temperature
    if labels.ndim == 2:
        return F.binary_cross_entropy_with_logits(scaled, labels.double()).item()
    return F.cross_entropy(scaled, labels).item()


@pytest.mark.parametrize("many", [False, True])
def test_the_temperature_has_the_least_loss_of_all_and_a_smaller_calibration_error(many):
    logits, labels = overconfident(many)
    found = fit_temperature(logits, labels)
    assert found == pytest.approx(3, rel=0.15)
    assert all(loss(logits, labels, found) <= loss(logits, labels, t) for t in np.geomspace(0.1, 10, 301))
    errors = []
    for temperature in (1.0, found):
        scores = MultiLabelScores(4) if many else Scores(4)
        batch = {"index": torch.arange(400), "label": labels, "weight": torch.ones(400)}
        scores.update(logits / temperature, batch)
        errors.append(scores.metrics()["ece"])
    assert errors[1] < errors[0] / 3


def test_labels_without_an_error_leave_the_temperature_at_1():
    logits = torch.tensor([[2.0, 1.0], [-1.0, 3.0]])
    assert fit_temperature(logits, torch.tensor([0, 1])) == 1
    assert fit_temperature(logits, (logits > 0).float()) == 1
    assert fit_temperature(logits, torch.tensor([1, 0])) == pytest.approx(10)  # all wrong: as unsure as is allowed


def test_thresholds_have_the_best_f1_of_all_that_split_the_documents_in_two():
    generator = torch.Generator().manual_seed(4)
    probabilities = (torch.rand(60, 5, generator=generator) * 20).round() / 20  # with ties
    labels = torch.rand(60, 5, generator=generator) < probabilities * torch.tensor([1.0, 0.5, 0.2, 0.05, 0.0])
    found = best_thresholds(probabilities, labels)
    assert found[4] == 0.5
    for c in range(4):
        p, y = probabilities[:, c].numpy(), labels[:, c].numpy()
        best = max(f1_score(y, p >= t) for t in np.arange(-0.025, 1, 0.05))
        assert f1_score(y, p >= found[c]) == pytest.approx(best)
        assert best > f1_score(y, p >= 0.5) or c == 0


def test_a_threshold_lies_half_way_between_two_documents():
    assert best_thresholds(torch.tensor([[0.9], [0.3], [0.1]]), torch.tensor([[1], [1], [0]])) == [
        pytest.approx(0.2, abs=1e-6)
    ]


class Tokens(Task):
    name = "tokens"
    token_labels = True


def test_what_cannot_be_calibrated_is_refused():
    with pytest.raises(ValueError, match=r"^calibration=platt is not one of temperature, or null$"):
        check_calibration(Task(max_length=8, batch_rows=1, seed=0), "platt")
    with pytest.raises(ValueError, match=r"^calibration=temperature: tokens labels tokens; only documents' labels are"):
        check_calibration(Tokens(max_length=8, batch_rows=1, seed=0), "temperature")
    check_calibration(Tokens(max_length=8, batch_rows=1, seed=0), None)


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    """A run of documents with many labels, from the command line."""
    work = tmp_path_factory.mktemp("work")
    (work / "my_topics.py").write_text(TOPICS)
    (work / "conf" / "task").mkdir(parents=True)
    (work / "conf" / "task" / "topics.yaml").write_text(CONFIG)
    done = run(
        "train.py", "--config-dir", "conf", "task=topics", "trust=my_topics", "encoder=tiny", "encoder.width=16",
        "trainer.compile=false", "trainer.precision=32-true", "trainer.max_steps=60", "optimizer.lr=0.01", "logger=csv",
        "calibration=temperature", cwd=work,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in no document of the test split: war" in done.stdout
    return next((work / "outputs" / "topics").iterdir())


def test_a_run_with_many_labels_records_its_metrics_and_its_classes(folder):
    found = record(folder)
    names = ("loss", "accuracy", "f1_micro", "f1_macro", "map", "ece")
    assert {f"{split}/{name}" for split in ("val", "test") for name in names} == set(found["metrics"])
    assert found["metrics"]["test/f1_micro"] > 0.75
    assert found["references"].keys() == {"majority"}
    assert found["per_class"]["class"] == ["art", "law", "war"]
    assert found["per_class"]["support"][2] == 0
    assert found["per_class"]["average_precision"][2] is None
    assert found["temperature"] != 1


def test_a_checkpoint_holds_its_temperature_and_thresholds(folder):
    loaded, found = load(folder / "checkpoints" / "best.ckpt"), record(folder)
    assert loaded.multi_label
    assert loaded.thresholds == found["per_class"]["threshold"]
    assert len(set(loaded.thresholds)) == 3
    assert loaded.model.temperature == found["temperature"]
    ids = torch.randint(1, 12, (4, 20))
    with torch.no_grad():
        calibrated = loaded.model(ids)
        loaded.model.temperature = 1.0
        torch.testing.assert_close(calibrated * found["temperature"], loaded.model(ids))


def test_evaluation_in_a_new_process_has_the_same_numbers_and_a_comparison_shows_them(folder, tmp_path):
    checkpoint, found = folder / "checkpoints" / "best.ckpt", record(folder)
    command = ("scripts/evaluate.py", "--trust", "my_topics", str(checkpoint), "--output", str(tmp_path / "out.json"))
    done = run(*command, cwd=folder.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = json.loads((tmp_path / "out.json").read_text())
    assert "NaN" not in (tmp_path / "out.json").read_text()  # which is no JSON; the class that is absent has no recall
    for key, column in result["per_class"].items():
        assert column == pytest.approx(found["per_class"][key])
    for name, value in result["metrics"].items():
        assert value == pytest.approx(found["metrics"][name], abs=1e-6)
    groups, _ = compare([found])
    table = to_markdown(groups, [])
    cells = dict(zip(*([c.strip() for c in line.split("|")] for line in table.splitlines()[4:7:2]), strict=True))
    assert cells["test acc"] == f"{found['metrics']['test/accuracy']:.3f}"
    assert cells["test F1"] == f"{found['metrics']['test/f1_micro']:.3f}"
    assert "test acc is of whole sets of classes" in table


def test_a_checkpoint_that_says_nothing_of_temperature_and_thresholds_has_none(folder, tmp_path):
    checkpoint = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)
    for key in ("temperature", "thresholds", "multi_label"):
        checkpoint["longdoc"].pop(key, None)
    torch.save(checkpoint, tmp_path / "old.ckpt")
    loaded = load(tmp_path / "old.ckpt")
    assert (loaded.model.temperature, loaded.thresholds, loaded.multi_label) == (1.0, None, False)


def test_what_is_added_to_a_checkpoint_leaves_the_rest_and_no_file_beside_it(folder, tmp_path):
    path = tmp_path / "best.ckpt"
    shutil.copy(folder / "checkpoints" / "best.ckpt", path)
    before = torch.load(path, weights_only=True)
    amend(path, {"thresholds": [0.25, 0.5, 0.75]})
    after = torch.load(path, weights_only=True)
    assert after["longdoc"] == before["longdoc"] | {"thresholds": [0.25, 0.5, 0.75]}
    assert after.keys() == before.keys()
    torch.testing.assert_close(after["state_dict"], before["state_dict"], rtol=0, atol=0)
    assert [file.name for file in tmp_path.iterdir()] == ["best.ckpt"]
