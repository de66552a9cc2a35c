"""The one caller of Hydra's instantiate."""

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf

TRUSTED = ("longdoc", "torch.optim", "pytorch_lightning")


def _targets(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield node
        for value in node.values():
            yield from _targets(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _targets(value)
    elif isinstance(node, str) and "${" in node:  # it could turn into a target after the check
        raise ValueError(f"{node!r} is not built: interpolations are resolved before")


def build(config: Mapping[str, Any] | DictConfig, trusted: tuple[str, ...] = TRUSTED) -> Any:
    """Builds the object that ``_target_`` names, and those nested in it; ``_partial_: true`` gives a factory.

    Only objects that live in a ``trusted`` package are built; from a checkpoint that is longdoc alone. The check is
    on the object's own ``__module__``: a prefix of the dotted path can be walked out of (longdoc.x.torch.hub.load).

    Raises ValueError for a target that cannot be found or is not trusted.
    """
    plain = OmegaConf.to_container(config, resolve=True) if isinstance(config, DictConfig) else config
    for node in _targets(plain):
        path = node["_target_"]
        try:
            target = get_object(path)
            home = getattr(target, "__module__", None) or ""
        except Exception as error:
            raise ValueError(f"_target_: {path} cannot be found ({error})") from error
        if not any(home == package or home.startswith(package + ".") for package in trusted):
            raise ValueError(f"_target_: {path} is not built: only objects of {', '.join(trusted)} are")
        names = signature(target).parameters
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in names.values()):
            for key in node:
                if not key.startswith("_") and key not in names:
                    raise ValueError(f"{path} has no option {key}; its options are {', '.join(names)}")
    try:
        return instantiate(plain, _convert_="all")
    except InstantiationException as error:
        # The object's own sentence says more than Hydra's wrapping of it.
        raise (error.__cause__ or error) from None
