"""Encoder, pooling and classifier; they import torch alone."""

from longdoc.models.classifier import Classifier, ids_shape
from longdoc.models.encoder import Encoder
from longdoc.models.stream import Stream
from longdoc.models.whole import classify

__all__ = ["Classifier", "Encoder", "Stream", "classify", "ids_shape"]
