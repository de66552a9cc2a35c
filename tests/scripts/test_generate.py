"""scripts/generate.py, from a checkpoint that train.py wrote."""

from pathlib import Path

import pytest
from commands import TINY, run, write_books

SCRIPT = "scripts/generate.py"


@pytest.fixture(scope="module", name="train")
def _train(tmp_path_factory):
    """train(overrides...) -> the checkpoint."""
    data = write_books(tmp_path_factory.mktemp("books"))

    def train(*overrides: str) -> Path:
        folder = tmp_path_factory.mktemp("work")
        options = (f"task.data={data}", f"task.cache={data}/cache", "trainer.max_steps=3", "logger=csv")
        done = run("train.py", *overrides, *TINY, *options, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        (checkpoint,) = folder.glob("outputs/*/*/checkpoints/best.ckpt")
        return checkpoint

    return train


def test_text_handed_on_is_the_text_in_one_go(train, tmp_path):
    checkpoint = str(train("task=next_token", "decay=selective"))
    (tmp_path / "prompt.txt").write_text("It was the pride of chapter 3.", encoding="utf-8")
    whole = run(SCRIPT, checkpoint, "--prompt-file", "prompt.txt", "--tokens", "60", "--seed", "3", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    assert "60 tokens behind " in whole.stderr
    assert " a second" in whole.stderr
    parts = [
        run(SCRIPT, checkpoint, *options, "--save-state", "state", cwd=tmp_path)
        for options in (
            ("--prompt", "It was the pride", "--tokens", "0", "--seed", "3"),  # reads alone
            ("--load-state", "state", "--prompt", " of chapter 3.", "--tokens", "25"),
            ("--load-state", "state", "--tokens", "35"),
        )
    ]
    assert [part.returncode for part in parts] == [0, 0, 0], [part.stderr for part in parts]
    assert "".join(part.stdout for part in parts) == whole.stdout != ""

    wrong = [
        ((), "there is no text to go on from"),
        (("--load-state", "prompt.txt"), "prompt.txt is not a state of generate.py"),
    ]
    for options, message in wrong:
        done = run(SCRIPT, checkpoint, *options, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("generate.py: ")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_checkpoint_with_labels_of_documents_is_said(train, tmp_path):
    done = run(SCRIPT, str(train("attention.causal=true")), "--prompt", "It", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("generate.py: a checkpoint of task=books cannot write; train one with task=next_token\n")
