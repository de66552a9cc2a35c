"""Classification of documents too long for softmax attention.

``longdoc.load`` reads a trained classifier; it is imported when it is asked for, so that the encoder alone stays light.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longdoc.export import load as load

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "load":
        from longdoc.export import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
