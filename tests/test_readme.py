"""README's commands compose, and its recipe for a feature map works as it is written."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from commands import PROJECT, TINY, record, run, write_books
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

README = (PROJECT / "README.md").read_text()
COMMANDS = re.findall(r"^    python train\.py(.*?)(?:#.*)?$", README, re.MULTILINE)

SUFFIX = {"python": "py", "yaml": "yaml"}

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)
OmegaConf.register_new_resolver("longdoc.run_name", lambda *_: "run", replace=True)


def test_nothing_is_left_to_fill_in():
    assert re.findall(r"^\s*[A-Z]+(?:_[A-Z]+)*\s*$", README, re.MULTILINE) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_training_command_composes(command):
    overrides = [re.sub(r"=(\w+),.*", r"=\1", word) for word in shlex.split(command) if word != "-m"]
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        config = compose("train", overrides)
    assert OmegaConf.to_container(config, resolve=True)["task"]["_target_"].startswith("longdoc.tasks.")


@pytest.mark.parametrize("path", re.findall(r"\]\((\S+?)\)", README) + re.findall(r"`((?:src|conf)/\S+\.\w+)`", README))
def test_every_link_leads_somewhere(path):
    if "square" not in path:  # what the recipe adds
        assert (PROJECT / path).exists()


def test_the_recipe_for_a_feature_map_followed_to_the_letter_trains(tmp_path):
    copy = tmp_path / "project"
    for name in ("src", "conf"):
        shutil.copytree(PROJECT / name, copy / name)
    shutil.copy(PROJECT / "train.py", copy)
    recipe = README.split("## Adding a feature map")[1].split("\n## ")[0]
    for language in ("python", "yaml"):
        (text,) = re.findall(rf"```{language}\n(.*?)```", recipe, re.DOTALL)
        (path,) = re.findall(rf"`(\S+/square\.{SUFFIX[language]})`", recipe)
        (copy / path).write_text(text)
    data = write_books(tmp_path / "books")
    done = run(
        str(copy / "train.py"), *TINY, "feature_map=square", f"task.data={data}", "trainer.max_steps=2", "logger=csv",
        cwd=tmp_path, PYTHONPATH=str(copy / "src"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("outputs/books/*")
    assert record(Path(folder))["feature_map"] == "square"
