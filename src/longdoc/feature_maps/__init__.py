"""Feature maps phi: each turns softmax's exp(q·k) into a product phi(q)·phi(k)."""

from longdoc.feature_maps.base import FeatureMap
from longdoc.feature_maps.cosformer import Cosformer
from longdoc.feature_maps.dpfp import Dpfp
from longdoc.feature_maps.efficient import Efficient
from longdoc.feature_maps.elu import Elu
from longdoc.feature_maps.favor import Favor
from longdoc.feature_maps.favor_hyperbolic import FavorHyperbolic
from longdoc.feature_maps.focused import Focused
from longdoc.feature_maps.hedgehog import Hedgehog
from longdoc.feature_maps.oprf import Oprf
from longdoc.feature_maps.performer_relu import PerformerRelu
from longdoc.feature_maps.polarity import Polarity
from longdoc.feature_maps.rebased import Rebased
from longdoc.feature_maps.relu import Relu
from longdoc.feature_maps.squared_relu import SquaredRelu
from longdoc.feature_maps.t2r import T2R
from longdoc.feature_maps.taylor import Taylor
from longdoc.feature_maps.trigonometric import Trigonometric

__all__ = [
    "T2R",
    "Cosformer",
    "Dpfp",
    "Efficient",
    "Elu",
    "Favor",
    "FavorHyperbolic",
    "FeatureMap",
    "Focused",
    "Hedgehog",
    "Oprf",
    "PerformerRelu",
    "Polarity",
    "Rebased",
    "Relu",
    "SquaredRelu",
    "Taylor",
    "Trigonometric",
]
