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

from longdoc.attention.ops import NORMALIZERS
from longdoc.build import build
from longdoc.models import Classifier, Encoder

PROJECT = Path(__file__).resolve().parents[1]
CONF = PROJECT / "conf"

# --------------------------------------------------------------------------------------------- oracles


def turned(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary positions as a product of complex numbers: x (B, H, N, X), positions (N,) or (B, N)."""
    half, rest = x.shape[-1] // 2, x[..., x.shape[-1] // 2 * 2 :]
    rates = torch.tensor([10_000.0 ** (-i / half) for i in range(half)], dtype=torch.float64)
    angle = positions.double()[..., None] * rates
    if angle.dim() == 3:
        angle = angle[:, None]
    pairs = torch.complex(x[..., :half].double(), x[..., half : 2 * half].double()) * torch.polar(
        torch.ones_like(angle), angle
    )
    return torch.cat([pairs.real, pairs.imag, rest.double()], dim=-1)


def decay_weights(log_decay: Tensor, tokens: int) -> Tensor:
    """exp(-|c_i - c_j|), c the cumulative sum of log_decay (H,), (B, H, N) or (B, H, N, F) -> (B, H, N, N, F | 1)."""
    log_decay = log_decay.double()
    if log_decay.dim() == 1:
        log_decay = log_decay[None, :, None].expand(1, -1, tokens)
    if log_decay.dim() == 3:
        log_decay = log_decay[..., None]
    c = log_decay.cumsum(2)
    between = c[:, :, :, None] - c[:, :, None]
    earlier = torch.ones(tokens, tokens).tril().bool()[..., None]
    return torch.where(earlier, between, -between).exp()


def linear_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    log_decay: Tensor | None = None,
    causal: bool = False,
    normalizer: str = "sum",
) -> Tensor:
    """Weights (B, H, N, N) of linear attention from features, float64; a row without any is a plain mean.

    positions: of rotary positions, which turn the numerator.
    """
    q, k = q.double(), k.double()
    real = torch.ones(q.shape[0], k.shape[2], dtype=torch.bool) if mask is None else mask
    real = real[:, None, None, :].double()
    if causal:
        real = real * torch.ones(q.shape[2], k.shape[2]).double().tril()
    decay = torch.ones(1).double() if log_decay is None else decay_weights(log_decay, q.shape[2])

    def scores(q: Tensor, k: Tensor) -> Tensor:
        return (q[:, :, :, None] * k[:, :, None] * decay).sum(-1) * real

    total = scores(q, k).sum(-1, keepdim=True)
    weights = scores(q, k) if positions is None else scores(turned(q, positions), turned(k, positions))
    if normalizer == "none":
        return weights
    count = real.sum(-1, keepdim=True).clamp(min=1)
    average = weights / torch.where(total == 0, 1, total)
    if normalizer == "magnitude":
        average = (1 + total / count) * average - total / count * real / count
    return torch.where(total == 0, real / count, average)


def linear_attention(q: Tensor, k: Tensor, v: Tensor, *conditions: Any, **more: Any) -> Tensor:
    """Linear attention from features, through its (N, N) weights, float64; conditions as of linear_weights."""
    return linear_weights(q, k, *conditions, **more) @ v.double()


def softmax_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
) -> Tensor:
    """Softmax attention from its definition, float64; a document without a real token reads every token.

    causal: no token reads later ones. window: none reads further than so many tokens; padding then reads itself.
    """
    if positions is not None:
        q, k = turned(q, positions), turned(k, positions)
    scores = torch.einsum("bhid,bhjd->bhij", q.double(), k.double()) / q.shape[-1] ** 0.5
    weights = scores.exp()
    tokens = torch.arange(q.shape[2])
    distance = tokens[:, None] - tokens
    allowed = torch.ones(q.shape[0], 1, len(tokens), len(tokens), dtype=torch.bool)
    if mask is not None and (causal or window):
        allowed = allowed & (mask[:, None, None, :] | (distance == 0))
    elif mask is not None:
        allowed = allowed & (mask | ~mask.any(-1, keepdim=True))[:, None, None, :]
    if causal:
        allowed = allowed & (distance >= 0)
    if window is not None:
        allowed = allowed & (distance.abs() <= window)
    weights = weights * allowed
    return weights / weights.sum(-1, keepdim=True) @ v.double()


# ------------------------------------------------------------------------------------- what conf/ offers


def load(path: str) -> dict[str, Any]:
    """A file of conf/, e.g. "feature_map/elu", with the task's values that maps read."""
    node = OmegaConf.load(CONF / f"{path}.yaml")
    if path.startswith("feature_map/"):
        node = OmegaConf.create({"task": {"max_length": 2**17}, "node": node}).node
        OmegaConf.resolve(node)
    return OmegaConf.to_container(node)


def names(group: str) -> list[str]:
    """The words of a group of conf/."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


Factory = Callable[..., nn.Module]

FEATURE_MAPS: list[tuple[str, Factory]] = [(name, build(load(f"feature_map/{name}"))) for name in names("feature_map")]
"""Every feature map of conf/: its word and its factory (head_dim, heads)."""

AVERAGING = [(name, factory) for name, factory in FEATURE_MAPS if factory(8, 2).nonnegative]
"""Those whose weights are averages; by nature of the others, outputs leave the range of the values."""

DECAYS: list[tuple[str, Factory]] = [(name, build(load(f"decay/{name}"))) for name in names("decay")]
"""Every decay of conf/: its word and its factory (head_dim, heads, feature_dim)."""


def linear(feature_map: str = "elu", decay: str = "none", **options: Any) -> Factory:
    """A factory of linear attention from words of conf/."""
    parts = {"feature_map": load(f"feature_map/{feature_map}"), "decay": load(f"decay/{decay}")}
    return build(load("attention/linear") | parts | options)


def _mixers() -> Iterator[tuple[str, Factory]]:
    for name in names("feature_map"):
        yield name, linear(name)
    for name in names("decay"):
        if name != "none":
            yield f"elu-{name}", linear(decay=name)
    for normalizer in NORMALIZERS:
        if normalizer != "sum":
            yield f"elu-{normalizer}", linear(normalizer=normalizer)
    yield "elu-fixed-causal", linear(decay="fixed", causal=True)
    for name in names("attention"):
        if name != "linear":
            yield name, build(load(f"attention/{name}"))
            yield f"{name}-causal", build(load(f"attention/{name}") | {"causal": True})


MIXERS = list(_mixers())
"""Every way to mix tokens: linear attention with each feature map, decay and normalizer, and each other attention."""


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
    head: str = "linear",
    interaction: str | None = None,
    **encoder: Any,
) -> Classifier:
    """A classifier of 3 classes small enough for a test, with nothing left at 0 or 1 to hide behind."""
    sizes = {"width": 16, "depth": 2, "heads": 2, "feedforward": 16} | encoder
    made = Encoder(vocab_size, max_length, attention=mixer, positions=positions, **sizes)
    model = Classifier(made, pooling, 3, head, interaction)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model.to(dtype)


def with_gradients(function: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor]:
    """The value, and the gradients of a fixed random projection of it."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    out = function(*inputs)
    direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(3)).to(out.dtype)
    return [out.detach(), *torch.autograd.grad((out * direction).sum(), inputs, materialize_grads=True)]


def assert_agree(actual: list[Tensor], expected: list[Tensor], tolerance: float = 1e-10) -> None:
    """Each as near its counterpart as the tolerance says, relatively or absolutely."""
    for a, b in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


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
