"""Training: the LightningModule, its budget and schedule, callbacks, acceleration."""

from longdoc.training.budget import Budget
from longdoc.training.module import ClassifierModule
from longdoc.training.schedule import WarmupCosine, WarmupLinear, WarmupRsqrt

__all__ = ["Budget", "ClassifierModule", "WarmupCosine", "WarmupLinear", "WarmupRsqrt"]
