"""Checkpoints of tiny, untrained classifiers, as a training writes them."""

from pathlib import Path
from typing import Any

import torch
from commands import PROJECT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf, open_dict

from longdoc.export import PREFIX, VERSION, build_classifier

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)


def write_checkpoint(path: Path, task: str, *words: str, classes: list[str], **state: Any) -> Path:
    """Of bytes, unless ``state`` says otherwise; weights are large enough for documents to differ."""
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        composed = compose("train", [f"task={task}", "encoder.width=16", *words], return_hydra_config=True)
    choices = dict(composed.hydra.runtime.choices)
    with open_dict(composed):
        del composed["hydra"]
    config = OmegaConf.to_container(composed, resolve=True) | {"choices": choices}
    torch.manual_seed(0)
    known = {"classes": classes, "vocab_size": 257, "numbered": False} | state
    model = build_classifier(config, known["vocab_size"], len(classes))
    with torch.no_grad():
        for weight in model.head.parameters():
            weight.mul_(10)
        model.encoder.embedding.weight.mul_(20)
    weights = {PREFIX + name: weight for name, weight in model.state_dict().items()}
    payload = {"version": VERSION, "config": config, "task": known, "multi_label": state.get("multi_label", False)}
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"longdoc": payload, "state_dict": weights, "global_step": 3}, path)
    return path
