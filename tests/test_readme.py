"""README's commands compose, and its recipe for a feature map works as it is written."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from commands import PROJECT, TINY, record, run, write_books
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from longdoc.results.readme import BLOCK, filled

README, RESULTS = ((PROJECT / path).read_text() for path in ("README.md", "data/results/README.md"))
RECIPE = README.split("## Adding a feature map")[1].split("\n## ")[0]
COMMANDS = re.findall(r"^    python train\.py(.*?)(?:#.*)?$", README.replace(RECIPE, "") + RESULTS, re.MULTILINE)

SUFFIX = {"python": "py", "yaml": "yaml"}

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)


@pytest.mark.parametrize("folder", [".", "data/results"])
def test_the_tables_are_as_their_records_say(folder):
    """Or else: python scripts/readme_results.py."""
    text = (PROJECT / folder / "README.md").read_text()
    assert filled(text, PROJECT, folder) == text
    assert BLOCK.search(text)


def test_a_stale_table_is_found_and_written_anew(tmp_path):
    (tmp_path / "data").symlink_to(PROJECT / "data")
    stale = README.replace("<!-- /results -->", "a number that nobody has measured\n\n<!-- /results -->", 1)
    (tmp_path / "README.md").write_text(stale)
    script = tmp_path / "scripts" / "readme_results.py"
    script.parent.mkdir()
    script.write_text((PROJECT / "scripts" / "readme_results.py").read_text())
    command = [sys.executable, str(script)]
    done = subprocess.run([*command, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1, "README.md is not as its records say: python scripts/readme_results.py\n",
    )  # fmt: skip
    assert (tmp_path / "README.md").read_text() == stale
    assert subprocess.run(command).returncode == 0
    assert (tmp_path / "README.md").read_text() == README
    assert subprocess.run([*command, "--check"]).returncode == 0


def test_nothing_is_left_to_fill_in():
    assert re.findall(r"^\s*[A-Z]+(?:_[A-Z]+)*\s*$", README, re.MULTILINE) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_training_command_composes(command):
    overrides = [re.sub(r"=([\w./-]+),.*", r"=\1", word) for word in shlex.split(command) if word != "-m"]
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        config = compose("train", overrides)
    assert OmegaConf.to_container(config, resolve=True)["task"]["_target_"].startswith("longdoc.tasks.")


LINKS = [
    *re.findall(r"\]\((\S+?)\)", README),
    *(f"data/results/{path}" for path in re.findall(r"\]\((\S+?)\)", RESULTS)),
]


@pytest.mark.parametrize("path", LINKS + re.findall(r"`((?:src|conf)/\S+\.\w+)`", README))
def test_every_link_leads_somewhere(path):
    path, _, part = path.partition("#")
    if "square" not in path:  # what the recipe adds
        assert (PROJECT / path).exists()
    if part:  # as a heading is called in links to it
        headings = re.findall(r"^#+ (.+)$", (PROJECT / path).read_text(), re.MULTILINE)
        assert part in [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize(
    "group",
    ["task", "attention", "feature_map", "decay", "encoder", "variant", "debug", "protocol", "scheduler", "baseline"],
)
def test_the_words_of_a_group_are_explained(group):
    text = (PROJECT / "conf" / "README.md").read_text()
    for path in (PROJECT / "conf" / group).glob("*.yaml"):
        assert f"`{path.stem}`" in text


def test_the_recipe_for_a_feature_map_followed_to_the_letter(tmp_path):
    """It trains, is saved, and scores the same in a new process, which builds it only if it is told to."""
    for language in ("python", "yaml"):
        (text,) = re.findall(rf"```{language}\n(.*?)```", RECIPE, re.DOTALL)
        (path,) = re.findall(rf"`(my_maps/\S+\.{SUFFIX[language]})`", RECIPE)
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    data = write_books(tmp_path / "books")
    (command,) = re.findall(r"^    python train\.py (.*)$", RECIPE, re.MULTILINE)
    more = [*TINY, f"task.data={data}", f"task.cache={data}/cache", "trainer.max_steps=2", "logger=csv"]
    done = run("train.py", *shlex.split(command), *more, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("outputs/books/*")
    result = record(folder)
    assert (result["feature_map"], result["config"]["trust"]) == ("square", ["my_maps"])

    (command,) = re.findall(r"^    python scripts/evaluate\.py (.*)$", RECIPE, re.MULTILINE)
    words = [str(folder / "checkpoints" / "best.ckpt") if word.endswith(".ckpt") else word for word in command.split()]
    done = run("scripts/evaluate.py", *words, "--output", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (scored,) = json.loads((tmp_path / "out.json").read_text())
    assert scored["error"] is None
    for name, value in scored["metrics"].items():
        assert value == pytest.approx(result["metrics"][name], abs=1e-6)

    refused = run("scripts/evaluate.py", words[-1], "--output", "out.json", cwd=tmp_path)
    assert refused.returncode == 1
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert row["error"] == (
        "_target_: my_maps.square.Square is not built: only classes of longdoc are; if the module my_maps is your own, "
        'allow it: trust=my_maps for train.py, --trust my_maps for a script, trusted="my_maps" for load()'
    )
    resumed = run("train.py", f"resume={folder}", "trainer.max_steps=3", cwd=tmp_path)
    assert resumed.returncode == 1
    assert "allow it: trust=my_maps for train.py" in resumed.stderr.splitlines()[-1]
    resumed = run("train.py", f"resume={folder}", "trainer.max_steps=3", "trust=my_maps", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert record(folder)["steps"] == 3
