"""Errors as one sentence."""

from collections.abc import Iterable

from hydra.errors import HydraException, MissingConfigException
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException


def say_options(names: Iterable[str]) -> str:
    """``it has no options``, or which."""
    return f"its options are {', '.join(names)}" if names else "it has no options"


def one_sentence(error: BaseException) -> str:
    """What was wrong and what would be right, on one line; of Hydra's errors with the valid names."""
    if isinstance(error, MissingConfigException) and error.options is not None and error.missing_cfg_file:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return f"{group}={name} does not exist; choose one of {', '.join(error.options)}"
    cause = error.__cause__ if isinstance(error, HydraException) and error.__cause__ else error
    if isinstance(cause, InterpolationResolutionError):  # what a resolver of ours says, in OmegaConf's wrapping
        return str(cause).splitlines()[0].partition("resolving interpolation: ")[2] or str(cause)
    if isinstance(cause, OmegaConfBaseException) and cause.parent_node is not None:
        key, parent = cause.full_key or cause.key, cause.parent_node
        names = sorted(str(name) for name in parent if not str(name).startswith("_"))
        if "_target_" in parent:
            return f"{key} does not exist: {parent['_target_']} has no such option; {say_options(names)}"
        return f"{key} does not exist; the valid names there are {', '.join(names)}"
    text = " ".join(str(cause).split())
    return text if isinstance(cause, ValueError | OSError | ArithmeticError) else f"{type(cause).__name__}: {text}"
