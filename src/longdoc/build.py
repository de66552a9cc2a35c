"""The one caller of Hydra's instantiate."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NoReturn

from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf

from longdoc.errors import say_options

TRUSTED = ("longdoc", "torch.optim", "pytorch_lightning")
NEVER_TRUSTED = sys.stdlib_module_names | {"torch"}  # from them a config could run anything


def allow(modules: str | Iterable[str]) -> tuple[str, ...]:
    """The user's own modules by their top-level names, for ``build`` to trust beside others.

    They are found where Python finds modules and, last, in the working directory.

    Raises ValueError for what is no top-level name, and for Python's library and torch.
    """
    names = (modules,) if isinstance(modules, str) else tuple(modules)
    for name in names:
        if not str(name).isidentifier():
            raise ValueError(f"trust: {name!r} is no module's top-level name, such as my_maps")
        if name in NEVER_TRUSTED:
            raise ValueError(f"trust: {name} is no module of your own; Python's library and torch are never trusted")
    if names and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # last, so that a file there hides no installed module
    return names


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


def _find(path: Any, trusted: tuple[str, ...]) -> type:
    def refuse(module: str) -> NoReturn:
        hint = ""
        if module.isidentifier() and module not in NEVER_TRUSTED and module not in TRUSTED:
            hint = (
                f"; if the module {module} is your own, allow it: trust={module} for train.py, "
                f'--trust {module} for a script, trusted="{module}" for load()'
            )
        raise ValueError(f"_target_: {path} is not built: only classes of {', '.join(trusted)} are{hint}")

    first = str(path).partition(".")[0]
    if first not in {package.partition(".")[0] for package in trusted}:
        refuse(first)  # before it is imported
    try:
        target = get_object(path)
    except Exception as error:
        raise ValueError(f"_target_: {path} cannot be found ({error})") from error
    home = getattr(target, "__module__", None) or ""
    if not isinstance(target, type) or not any(f"{home}.".startswith(f"{package}.") for package in trusted):
        refuse(home.partition(".")[0])
    return target


def _check_options(target: type, node: Mapping[str, Any]) -> None:
    parameters = signature(target).parameters
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    # What has no default and is not in the config either, such as a head's size, is the caller's to give.
    options = [
        name for name, parameter in parameters.items() if name in node or parameter.default is not Parameter.empty
    ]
    for key in node:
        if not key.startswith("_") and key not in parameters:
            raise ValueError(f"{node['_target_']} has no option {key}; {say_options(options)}")


def build(config: Mapping[str, Any] | DictConfig, trusted: tuple[str, ...] = TRUSTED) -> Any:
    """Builds the object that ``_target_`` names, and those nested in it; ``_partial_: true`` gives a factory.

    Only classes that live in a ``trusted`` package are built; from a checkpoint that is longdoc, and what its reader
    allows. The check is on the class's own ``__module__``: a prefix of the dotted path can be walked out of
    (longdoc.x.torch.hub.load).

    Raises ValueError for a target that cannot be found, is not trusted or has no such option.
    """
    plain = OmegaConf.to_container(config, resolve=True) if isinstance(config, DictConfig) else config
    for node in _targets(plain):
        _check_options(_find(node["_target_"], trusted), node)
    try:
        return instantiate(plain, _convert_="all")
    except InstantiationException as error:
        # The object's own sentence says more than Hydra's wrapping of it.
        raise (error.__cause__ or error) from None
