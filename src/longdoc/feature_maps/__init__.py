"""Feature maps phi: each turns softmax's exp(q·k) into a product phi(q)·phi(k)."""

from longdoc.feature_maps.base import FeatureMap
from longdoc.feature_maps.elu import Elu
from longdoc.feature_maps.favor import Favor
from longdoc.feature_maps.relu import Relu

__all__ = ["Elu", "Favor", "FeatureMap", "Relu"]
