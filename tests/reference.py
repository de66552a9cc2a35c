"""What tests compare with: slow, obvious oracles that build the (N, N) matrix, and all that conf/ offers.

Shapes: B batch, H heads, N tokens, F feature dim, E value dim; a mask is (B, N) bool, True = real token.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from longdoc.build import build
from longdoc.models import Classifier, Encoder

PROJECT = Path(__file__).resolve().parents[1]
CONF = PROJECT / "conf"

# --------------------------------------------------------------------------------------------- oracles


def turned(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary positions as a product of complex numbers: x (B, H, N, X), positions (N,) or (B, N)."""
    half = x.shape[-1] // 2
    rates = torch.tensor([10_000.0 ** (-i / half) for i in range(half)], dtype=torch.float64)
    angle = positions.double()[..., None] * rates
    if angle.dim() == 3:
        angle = angle[:, None]
    pairs = torch.complex(x[..., :half].double(), x[..., half:].double()) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def linear_weights(q: Tensor, k: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
    """Weights (B, H, N, N) of linear attention from features, float64; a row without any is a plain mean."""
    q, k = q.double(), k.double()
    real = torch.ones(q.shape[0], k.shape[2], dtype=torch.bool) if mask is None else mask
    real = real[:, None, None, :].double()
    scores = torch.einsum("bhif,bhjf->bhij", q, k) * real
    total = scores.sum(-1, keepdim=True)
    if positions is not None:
        scores = torch.einsum("bhif,bhjf->bhij", turned(q, positions), turned(k, positions)) * real
    mean = real / real.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(total == 0, mean, scores / torch.where(total == 0, 1, total))


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, positions: Tensor | None = None
) -> Tensor:
    """Linear attention from features, through its (N, N) weights, float64."""
    return linear_weights(q, k, mask, positions) @ v.double()


def softmax_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, positions: Tensor | None = None
) -> Tensor:
    """Softmax attention from its definition, float64; a document without a real token reads every token."""
    if positions is not None:
        q, k = turned(q, positions), turned(k, positions)
    scores = torch.einsum("bhid,bhjd->bhij", q.double(), k.double()) / q.shape[-1] ** 0.5
    weights = scores.exp()
    if mask is not None:
        real = mask | ~mask.any(-1, keepdim=True)
        weights = weights * real[:, None, None, :]
    return weights / weights.sum(-1, keepdim=True) @ v.double()


# ------------------------------------------------------------------------------------- what conf/ offers


def load(path: str) -> dict[str, Any]:
    """A file of conf/ as it stands, e.g. "feature_map/elu"."""
    return OmegaConf.to_container(OmegaConf.load(CONF / f"{path}.yaml"))


def names(group: str) -> list[str]:
    """The words of a group of conf/."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


FEATURE_MAPS: list[tuple[str, Callable[..., nn.Module]]] = [
    (name, build(load(f"feature_map/{name}"))) for name in names("feature_map")
]
"""Every feature map of conf/: its word and its factory (head_dim, heads)."""


def _mixers() -> Iterator[tuple[str, Callable[[int, int], nn.Module]]]:
    for attention in names("attention"):
        config = load(f"attention/{attention}")
        if "feature_map" in config:
            for name in names("feature_map"):
                yield name, build({**config, "feature_map": load(f"feature_map/{name}")})
        else:
            yield attention, build(config)


MIXERS = list(_mixers())
"""Every way to mix tokens: each attention of conf/, with each feature map where it takes one."""


def each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keyword arguments of ``parametrize`` after its first, so that a test's id is the word."""
    return {"argvalues": [value for _, value in pairs], "ids": [name for name, _ in pairs]}


# ------------------------------------------------------------------------------------------- small things


def classifier(
    mixer: Callable[[int, int], nn.Module],
    positions: str = "none",
    pooling: str = "mean",
    vocab_size: int = 40,
    max_length: int = 12,
    dtype: torch.dtype = torch.float64,
    **encoder: Any,
) -> Classifier:
    """A classifier of 3 classes small enough for a test, with nothing left at 0 or 1 to hide behind."""
    sizes = {"width": 16, "depth": 2, "heads": 2, "feedforward": 16} | encoder
    model = Classifier(
        Encoder(vocab_size, max_length, attention=mixer, positions=positions, **sizes), pooling, classes=3
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model.to(dtype)


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """max|a - b| / max|b|."""
    return ((actual.double() - expected.double()).abs().max() / expected.double().abs().max()).item()


def random_mask(batch: int, tokens: int) -> Tensor:
    """Real tokens at random places, at least one a row."""
    mask = torch.rand(batch, tokens) < 0.6
    mask[:, random.Random(tokens).randrange(tokens)] = True
    return mask


class _Largest(TorchDispatchMode):
    bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_iter(result):
            if isinstance(leaf, Tensor):
                self.bytes = max(self.bytes, leaf.untyped_storage().nbytes())
        return result


@contextmanager
def largest_tensor() -> Iterator[_Largest]:
    """Notes in ``bytes`` the largest storage that an operation within the block returns."""
    with _Largest() as mode:
        yield mode
