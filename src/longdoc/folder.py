"""A classifier as a folder, which the Hugging Face hub takes as it is: config.json, model.safetensors, README.md."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from huggingface_hub import ModelCardData, snapshot_download
from safetensors.torch import load_file, save_file
from torch import Tensor

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
PLACES = ("path", "test", "data", "hub", "tokenizer", "cache")  # of a task: what may name a place on this machine
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")

TEXT = """---
{data}
---

# A classifier of long documents

Task `{task}`: {of} {count} classes, by an encoder with {attention} attention of {parameters:,} parameters, which sees
{max_length:,} tokens at once. Trained for {step:,} steps with longdoc {version};
`config.json` holds all settings.

Classes: {classes}

{metrics}```python
import longdoc

classifier = longdoc.load("path/to/this/folder")  # or its id on the hub
for found in classifier.predict(["The text of a document."]):
    print(found.label, found.probabilities, found.tokens_read, found.truncated)
```
"""


def write_folder(folder: Path, payload: Mapping[str, Any], weights: Mapping[str, Tensor], card: str) -> None:
    """Writes what ``read_folder`` reads, and a card; each file is whole or as it was."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as aside:
        part = Path(aside)
        save_file({name: weight.detach().cpu().clone() for name, weight in weights.items()}, part / WEIGHTS)
        (part / CARD).write_text(card, encoding="utf-8")
        (part / CONFIG).write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        for name in (WEIGHTS, CARD, CONFIG):
            os.replace(part / name, folder / name)


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What a checkpoint says of itself, and its weights; raises ValueError if one of the files is none of longdoc's."""
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder} holds no {name}: it is no saved classifier; a run's checkpoints are in checkpoints/"
            )
    try:
        payload = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        payload["version"], payload["config"], payload["task"], payload["step"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / CONFIG} is none of longdoc ({type(error).__name__}: {error})") from error
    try:
        return payload, load_file(folder / WEIGHTS)
    except Exception as error:  # the library's own is none of Python's
        raise ValueError(f"{folder / WEIGHTS} is no safetensors file ({error})") from error


def download(name: str, revision: str | None) -> Path:
    """The folder of a classifier on the hub, from its cache where it is there; raises OSError if it cannot be had."""
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=[CONFIG, WEIGHTS]))
    except Exception as error:  # of the network and the hub, of every kind
        raise FileNotFoundError(f"{name} is not there, and the hub gave none ({one_line(error)})") from error


def portable(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's config for other machines: of a place that is an absolute path the last name alone."""
    task = {name: _last_name(value) if name in PLACES else value for name, value in config["task"].items()}
    return {**config, "task": task} | ({"resume": _last_name(config["resume"])} if "resume" in config else {})


def _last_name(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = PurePath(value.removeprefix("hf:"))
    return path.name if path.is_absolute() else value


def model_card(payload: Mapping[str, Any], parameters: int, texts: bool, version: str) -> str:
    """The card of a classifier of ``texts`` or other documents, in Markdown with the hub's metadata in front."""
    config, classes = payload["config"], payload["task"]["classes"]
    attention = config["attention"]["_target_"].rpartition(".")[2].removesuffix("Attention").lower()
    rows = "".join(f"| {key} | {value:.4f} |\n" for key, value in payload["metrics"].items())
    data = ModelCardData(
        library_name="longdoc",
        tags=["longdoc", "long-documents"],
        pipeline_tag="text-classification" if texts else None,
    )
    return TEXT.format(
        data=data.to_yaml(),
        task=config["choices"]["task"],
        count=len(classes),
        attention=attention,
        parameters=parameters,
        max_length=config["task"]["max_length"],
        step=payload["step"],
        version=version,
        of="any of" if payload["multi_label"] else "one of",
        classes=", ".join(f"`{label}`" for label in classes),
        metrics=f"| metric | value |\n| --- | ---: |\n{rows}\n" if rows else "",
    )


def one_line(error: BaseException) -> str:
    """What a library's error says, without its line ends."""
    return " ".join(str(error).split())
