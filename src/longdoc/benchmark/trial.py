"""One variant under trial: its model, its batch, and a step of training or of the forward pass."""

import shlex
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from torch.nn.functional import cross_entropy

from longdoc.build import build
from longdoc.models import Classifier

CLASSES = 10
MODES = ("train", "forward")

Point = dict[str, Any]  # what is known of one variant at one length


@dataclass(frozen=True)
class Settings:
    """What all trials of a benchmark share; ``conf`` is the project's folder of configs."""

    conf: Path
    variants: list[str]
    lengths: list[int]
    tokens: int
    modes: list[str]
    repeats: int
    max_seconds_per_point: float
    memory: bool
    device: str
    precision: str
    compile: bool
    width: int
    depth: int
    heads: int
    feedforward: int
    vocab: int
    seed: int


class Trial:
    """A variant's model with its optimizer and a batch of (rows, length) ids, the same for every variant."""

    def __init__(self, settings: Settings, variant: str, length: int) -> None:
        self.settings = settings
        self.device = torch.device(settings.device)
        self.model = classifier(settings, variant).to(self.device)
        self.optimizer = build(compose_variant(settings, variant).optimizer)(self.model.parameters())
        self.rows = max(1, settings.tokens // length)
        generator = torch.Generator().manual_seed(settings.seed)
        self.ids = torch.randint(settings.vocab, (self.rows, length), generator=generator).to(self.device)
        self.labels = torch.randint(CLASSES, (self.rows,), generator=generator).to(self.device)
        self.first_seconds = 0.0
        self.seconds: list[float] = []
        if settings.compile:
            # In place, so that parameter names stay; static, since every shape is compiled for itself.
            self.model.compile(dynamic=False)

    def forward(self) -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.precision == "bf16"):
            return self.model(self.ids)

    def step(self, mode: str) -> float:
        """Seconds of one step: forward, backward and update, or forward alone."""
        self.model.train(mode == "train")
        start = time.perf_counter()
        if mode == "train":
            loss = cross_entropy(self.forward().float(), self.labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        else:
            with torch.no_grad():
                self.forward()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def warm_up(self, mode: str) -> None:
        self.seconds = []
        self.first_seconds = self.step(mode)  # compiles
        if self.first_seconds < self.settings.max_seconds_per_point:
            self.step(mode)

    def wants_more(self) -> bool:
        """Whether another step is due and fits the budget."""
        if not self.seconds:
            return True
        expected = sum(self.seconds) + self.seconds[-1]
        return len(self.seconds) < self.settings.repeats and expected <= self.settings.max_seconds_per_point


def compose_variant(settings: Settings, variant: str) -> DictConfig:
    """The config of ``train.py variant=WORD key=value ...``, with the benchmark's sizes.

    ``variant``: a word of conf/variant, and overrides behind it: "elu attention.causal=true".
    """
    word, *overrides = shlex.split(variant)
    sizes = [f"encoder.{name}={getattr(settings, name)}" for name in ("width", "depth", "heads", "feedforward")]
    plain = ["encoder=small", "encoder.positions=none", f"task.max_length={max(settings.lengths)}"]
    with initialize_config_dir(str(settings.conf), version_base="1.3"):
        return compose("train", [f"variant={word}", *plain, *sizes, *overrides])


def classifier(settings: Settings, variant: str) -> Classifier:
    """The project's classifier, from the same files as in training."""
    config = compose_variant(settings, variant)
    torch.manual_seed(settings.seed)
    encoder = build(config.encoder)(vocab_size=settings.vocab, max_length=max(settings.lengths))
    return Classifier(encoder, "mean", CLASSES)


def limit_compilation(settings: Settings) -> AbstractContextManager[None]:
    """Allows one graph for each variant and mode of a length; falling back to eager beyond is an error."""
    limit = max(8, len(settings.variants) * len(MODES))
    return torch._dynamo.config.patch(recompile_limit=limit, fail_on_recompile_limit_hit=True)
