"""Classification of documents too long for softmax attention."""

__version__ = "0.1.0"
