"""Attention: how tokens mix. Pure functions in ``ops`` and ``chunked``, modules over them here."""

from longdoc.attention.decay import ChannelDecay, FixedDecay, NoDecay, SelectiveDecay
from longdoc.attention.linear import LinearAttention
from longdoc.attention.multihead import MultiHeadAttention
from longdoc.attention.softmax import SoftmaxAttention, WindowAttention

__all__ = [
    "ChannelDecay",
    "FixedDecay",
    "LinearAttention",
    "MultiHeadAttention",
    "NoDecay",
    "SelectiveDecay",
    "SoftmaxAttention",
    "WindowAttention",
]
