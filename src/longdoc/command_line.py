"""What the command line alone may say, and what it would say in vain."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from longdoc.build import allow
from longdoc.results.record import FILE_NAME


def trust(value: Any, arguments: Sequence[str]) -> list[str]:
    """The modules of a config's ``trust``, checked; ``arguments`` are the process's own, such as trust=my_maps.

    Raises ValueError unless they say just that: a yaml, or a sweep in a yaml, must not choose what is trusted.
    """
    typed = OmegaConf.from_dotlist([word for word in arguments if word.startswith("trust=")])
    if (value or []) != (OmegaConf.to_container(typed).get("trust") or []):  # type: ignore[union-attr]
        raise ValueError(f"trust={value} is not from the command line, where alone it can be set: trust=my_maps")
    return list(allow(value or []))


def check_is_read(attention: Mapping[str, Any], choices: Mapping[str, Any], overrides: Iterable[str]) -> None:
    """Raises ValueError for a feature map or decay that is asked of an attention without one.

    A variant is a whole row of a comparison: what stands beside it is for the rows that read it.
    """
    for override in overrides:
        group = override.lstrip("+").partition("=")[0].partition(".")[0]
        if group in ("feature_map", "decay") and group not in attention and choices.get("variant") is None:
            name = choices["attention"]
            raise ValueError(f"{override}: attention={name} has no {group}; leave it out, or choose attention=linear")


def override(key: str, value: str) -> str:
    """``key=value`` as Hydra takes it for just that text, such as a path with blanks; not yet quoted for a shell."""
    if re.fullmatch(r"[\w./:-]+", value, re.ASCII) and "/" in value:  # else perhaps a number, or null
        return f"{key}={value}"
    escaped = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + found[2].replace("'", "\\'"), value)
    return f"{key}='{escaped}'"


def command_line(overrides: Iterable[str], resume: str | None = None) -> str | None:
    """The command of one run, to be pasted into a shell; of a sweep's job that of the job alone.

    Of a resumed run it is the command that began it, with what is changed since; None if its record has none.
    """
    # Of a sweep's job Hydra writes 00\:10 for 00:10.
    words = [re.sub(r"(?<=\d)\\:(?=\d)", ":", word) for word in overrides if not word.startswith("resume=")]
    if resume is None:
        return shlex.join(["python", "train.py", *words])
    try:
        begun = json.loads(Path(resume, FILE_NAME).read_text(encoding="utf-8")).get("command")
    except (OSError, ValueError):
        return None
    return begun and shlex.join([*shlex.split(begun), *words])
