"""Encoder, pooling and classifier; they import torch alone."""

from longdoc.models.classifier import Classifier
from longdoc.models.encoder import Encoder

__all__ = ["Classifier", "Encoder"]
