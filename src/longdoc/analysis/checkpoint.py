"""A trained encoder's own queries, keys and weights on one document, layer by layer."""

import copy
import math
from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from longdoc.analysis.measures import causal, distance_profile, entropy, spearman
from longdoc.analysis.subjects import Row
from longdoc.attention import MultiHeadAttention

QUANTILES = (0.1, 0.5, 0.9)
RANKED_ROWS = 128  # of the queries, whose weights are ranked


@dataclass
class Layer:
    """A mixer and the call it got: queries, keys and values (1, H, N, D), and the rest of its arguments."""

    mixer: nn.Module
    q: Tensor
    k: Tensor
    rest: tuple[Any, ...]
    options: dict[str, Any]

    @torch.no_grad()
    def weights(self) -> Tensor:
        """The (H, N, N) weights, float64: the mixer's output for values that are the unit vectors.

        It is linear in them but for a norm at its end, which only scales a query's weights.
        """
        mixer: Any = copy.deepcopy(self.mixer).double()
        if getattr(mixer, "norm", None) is not None:
            mixer.norm = None
        values = torch.eye(self.k.shape[2], dtype=torch.float64).expand(*self.k.shape[:3], -1)
        return mixer(_double(self.q), _double(self.k), values, *map(_double, self.rest), **_doubles(self.options))[0]


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def _doubles(options: dict[str, Any]) -> dict[str, Any]:
    return {key: _double(value) for key, value in options.items()}


@torch.no_grad()
def capture(encoder: nn.Module, ids: Tensor) -> list[Layer]:
    """Runs the encoder over a document (N,) and returns what each layer's mixer was given."""
    layers: list[Layer] = []

    def note(mixer: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        q, k, _, *rest = args
        layers.append(Layer(mixer, q, k, tuple(rest), options))

    mixers = [module.mixer for module in encoder.modules() if isinstance(module, MultiHeadAttention)]
    hooks = [mixer.register_forward_pre_hook(note, with_kwargs=True) for mixer in mixers]
    try:
        encoder(ids[None])
    finally:
        for hook in hooks:
            hook.remove()
    return layers


def analyse_layer(number: int, layer: Layer) -> Row:
    """Each head's entropy, monotonicity, weight against distance and |q + k|², own and of exact softmax.

    Softmax is exp(q·k / sqrt(D)) of the same q and k over the same tokens, without positions or decay. ``sum_squared``:
    quantiles over pairs of |x + y|² with x, y = q, k times D^-1/4, the exponent of FAVOR's relative variance.
    """
    q, k = layer.q[0].double(), layer.k[0].double()
    n, is_causal = k.shape[1], getattr(layer.mixer, "causal", False)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    own, softmax = layer.weights(), scores.softmax(-1)
    if is_causal:
        softmax = causal(softmax)
    lengths = (q.square().sum(-1)[:, :, None] + k.square().sum(-1)[:, None]) / q.shape[-1] ** 0.5
    sum_squared = (lengths + 2 * scores).flatten(1)
    seen = [i + 1 if is_causal else n for i in range(n)]
    rows = range(n - 1, 0, -max(1, n // RANKED_ROWS))  # the last sees all
    heads = []
    for h in range(len(q)):
        heads.append({
            "head": h,
            "entropy": entropy(own[h]).mean().item(),
            "softmax_entropy": entropy(softmax[h]).mean().item(),
            "spearman": mean(spearman(scores[h, i, : seen[i]], own[h, i, : seen[i]]).item() for i in rows),
            "negative_share": (own[h] < 0).double().mean().item(),
            "sum_squared": [_quantile(sum_squared[h], part) for part in QUANTILES],
        })  # fmt: skip
    return {
        "layer": number,
        "mixer": type(layer.mixer).__name__,
        "causal": is_causal,
        "tokens": n,
        "uniform": mean(math.log(tokens) for tokens in seen),
        "heads": heads,
        "distance": distance_profile(own, is_causal)[0].tolist(),
        "weight": [distance_profile(head, is_causal)[1].tolist() for head in own],
        "softmax_weight": [distance_profile(head, is_causal)[1].tolist() for head in softmax],
    }


def _quantile(values: Tensor, part: float) -> float:
    """torch.quantile takes no more than 16 million values."""
    return values.kthvalue(1 + round(part * (len(values) - 1))).values.item()
