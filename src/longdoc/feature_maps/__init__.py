"""Feature maps phi: each turns softmax's exp(q·k) into a product phi(q)·phi(k)."""

from longdoc.feature_maps.base import FeatureMap
from longdoc.feature_maps.elu import Elu
from longdoc.feature_maps.favor import Favor
from longdoc.feature_maps.favor_hyperbolic import FavorHyperbolic
from longdoc.feature_maps.oprf import Oprf
from longdoc.feature_maps.performer_relu import PerformerRelu
from longdoc.feature_maps.relu import Relu
from longdoc.feature_maps.trigonometric import Trigonometric

__all__ = ["Elu", "Favor", "FavorHyperbolic", "FeatureMap", "Oprf", "PerformerRelu", "Relu", "Trigonometric"]
