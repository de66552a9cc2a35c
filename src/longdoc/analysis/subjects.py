"""What is analysed: softmax and linear attention with each feature map, and the queries and keys they get."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from omegaconf import OmegaConf
from torch import Tensor

from longdoc.attention import LinearAttention, SoftmaxAttention
from longdoc.build import build

SOFTMAX = "softmax"
LONGEST = 4096  # tokens analysed at most: the (N, N) weights of longer documents would fill memory

Row = dict[str, Any]  # what is known of one map
Mixers = Mapping[str, Any]  # modules by the map's name, softmax first


@dataclass(frozen=True)
class Inputs:
    """Queries and keys, normal with standard deviation ``scale``, the same for every map."""

    tokens: int
    head_dim: int
    heads: int
    scale: float
    seed: int

    def queries_and_keys(self, documents: int = 1) -> tuple[Tensor, Tensor]:
        """(B, H, N, D) float64, twice."""
        generator = torch.Generator().manual_seed(self.seed)
        shape = (2, documents, self.heads, self.tokens, self.head_dim)
        q, k = torch.randn(shape, generator=generator, dtype=torch.float64) * self.scale
        return q, k


def map_names(conf: Path) -> list[str]:
    """The words of conf/feature_map."""
    return sorted(path.stem for path in (conf / "feature_map").glob("*.yaml"))


def read(conf: Path, group: str, name: str) -> dict[str, Any]:
    """A file of the project's folder of configs, with the task's values that maps read."""
    whole = OmegaConf.create({"task": {"max_length": LONGEST}, "file": OmegaConf.load(conf / group / f"{name}.yaml")})
    return cast(dict[str, Any], OmegaConf.to_container(whole.file, resolve=True))


def make_mixer(conf: Path, name: str, head_dim: int, heads: int, seed: int) -> Any:
    """Softmax attention, or linear attention with a map of conf/feature_map, in evaluation mode.

    Raises ValueError, naming the map, if it cannot be made for this head dim.
    """
    if name == SOFTMAX:
        return SoftmaxAttention(head_dim, heads).eval()
    torch.manual_seed(seed)  # random maps draw from the global generator
    try:
        factory = build(read(conf, "feature_map", name))
        return LinearAttention(head_dim, heads, factory).eval()
    except ValueError as error:
        raise ValueError(f"{name} cannot be made for a head dim of {head_dim}: {error}") from error


def make_mixers(conf: Path, names: Iterable[str], inputs: Inputs) -> Mixers:
    """Softmax and each named map in float64; constants that follow the data have seen one step of it."""
    mixers = {n: make_mixer(conf, n, inputs.head_dim, inputs.heads, inputs.seed).double() for n in [SOFTMAX, *names]}
    q, k = inputs.queries_and_keys()
    for name in names:
        phi = mixers[name].feature_map.train()
        with torch.no_grad():
            phi.query(q), phi.key(k)
        phi.on_optimizer_step(1)
        phi.eval()
    return mixers


def joined(q: Tensor) -> Tensor:
    """(B, H, N, D) -> (B, N, H·D): what stands for the input that a mixer's decay would read."""
    return q.transpose(1, 2).flatten(2)


@torch.no_grad()
def weights(mixer: Any, q: Tensor, k: Tensor) -> Tensor:
    """The mixer's (B, H, N, N) matrix: its output for values that are the unit vectors, as it is linear in them."""
    values = torch.eye(k.shape[2], dtype=q.dtype).expand(*q.shape[:3], -1)
    return mixer(q, k, values, joined(q))


def is_causal(mixer: Any) -> bool:
    """Whether the mixer's features of a token leave out later ones."""
    return getattr(getattr(mixer, "feature_map", None), "causal", True)
