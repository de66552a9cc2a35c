"""Encoder, pooling and classifier; they import torch alone."""

from longdoc.models.classifier import Classifier, ids_shape
from longdoc.models.encoder import Encoder
from longdoc.models.stream import Stream

__all__ = ["Classifier", "Encoder", "Stream", "ids_shape"]
