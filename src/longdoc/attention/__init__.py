"""Attention: how tokens mix. Pure functions in ``ops``, modules over them here."""

from longdoc.attention.linear import LinearAttention
from longdoc.attention.multihead import MultiHeadAttention
from longdoc.attention.softmax import SoftmaxAttention

__all__ = ["LinearAttention", "MultiHeadAttention", "SoftmaxAttention"]
