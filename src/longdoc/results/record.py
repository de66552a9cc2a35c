"""The record of one run: written once, read by every comparison."""

import hashlib
import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

Record = dict[str, Any]

SCHEMA_VERSION = 1
FILE_NAME = "results.json"
STATUSES = ("finished", "failed", "running", "interrupted")

# What every record says of itself, and what a finished one must have for its numbers to be compared.
_ALWAYS = (
    *("run_id", "status", "config_hash", "config", "seed"),
    *("task", "protocol", "max_length", "encoder", "attention", "feature_map", "decay"),
)
_FINISHED = (
    *("metrics", "references", "splits", "budget", "parameters", "steps", "tokens"),
    *("tokens_per_second", "peak_memory_mb", "precision", "compiled", "device"),
)
_OBJECTS = ("config", "splits", "metrics", "references", "budget")

# None of them changes what is learned: where a run goes on, where it is reported, what was allowed, and the words
# that chose the groups, whose values stand in the config themselves.
_RUN_KEYS = ("resume", "logger", "hydra", "choices", "trust", "protocol", "sweep")
# Groups that a resolved encoder holds in full; at the top there is also the map that softmax does not use.
_HELD_BY_ENCODER = ("attention", "feature_map", "decay")

# Where a variant stands in a config: two variants differ here by their nature, but not in what they may read.
_VARIANT_KEYS = (
    *("encoder.attention", "attention", "feature_map", "decay", "baseline"),
    *("encoder.convolution", "encoder.hybrid_every", "encoder.hybrid_attention"),
)
_NO_VARIANT_KEYS = ("encoder.attention.causal",)


def plain(value: Any, at: str = "") -> Any:
    """``value`` as JSON can hold it: NaN and infinity are null, tuples lists; ``at`` is where in a record it stands.

    Raises TypeError, naming the key, for a value that is not plain JSON.
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [plain(item, f"{at}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{at or 'record'}: the key {key!r} is not a string")
        return {key: plain(item, f"{at}.{key}" if at else key) for key, item in value.items()}
    raise TypeError(f"{at}: {type(value).__name__} is not plain JSON (str, int, float, bool, None, list, dict)")


def write_record(folder: str | Path, record: Mapping[str, Any]) -> Path:
    """Writes ``record`` to ``folder/results.json`` and returns that path; ``folder`` is made if need be.

    The file appears whole or not at all: no reader sees half a record, and a failure leaves the former one.
    Keys keep their order; ``schema_version`` is added if it is not given. JSON has no NaN or infinity: they
    become null. The keys are not checked here: a long run's numbers are kept even if one of them is missing.

    Raises TypeError, naming the key, for a value that is not plain JSON.
    """
    text = (
        json.dumps(
            plain({"schema_version": SCHEMA_VERSION} | dict(record)), indent=2, ensure_ascii=False, allow_nan=False
        )
        + "\n"
    )
    path = Path(folder) / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            # Of a lone surrogate (an undecodable file name in an error) this makes its JSON escape.
            file.write(text.encode(errors="backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _other_schema(schema: Any) -> str:
    said = f"schema_version is {schema}, this longdoc reads {SCHEMA_VERSION}"
    if not isinstance(schema, int):
        return f"{said}: not a record of longdoc"
    if schema < SCHEMA_VERSION:
        return f"{said}: an older record; compare it with the longdoc of its commit, or train anew"
    return f"{said}: a newer record, which needs a newer longdoc"


def read_record(path: str | Path) -> Record:
    """Reads the record at ``path``, a ``results.json`` or the folder that holds one.

    Raises ValueError, naming the file, for broken JSON, another ``schema_version``, an unknown ``status`` or
    missing keys; OSError if the file cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        path = path / FILE_NAME
    try:
        record = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except ValueError as error:
        raise ValueError(f"{path}: broken JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path}: not a record but a JSON {type(record).__name__}")
    if (schema := record.get("schema_version")) != SCHEMA_VERSION:
        raise ValueError(f"{path}: {_other_schema(schema)}")
    needed = [*_ALWAYS, *(_FINISHED if record.get("status") == "finished" else ())]
    if missing := [key for key in needed if key not in record]:
        raise ValueError(f"{path}: lacks {', '.join(missing)}")
    if record["status"] not in STATUSES:
        raise ValueError(f"{path}: status is {record['status']!r}, not one of {', '.join(STATUSES)}")
    for key in _OBJECTS:
        if key in needed and not isinstance(record[key], dict):
            raise ValueError(f"{path}: {key} is not an object but {record[key]!r}")
    return record


def _without_seeds(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_seeds(item) for key, item in value.items() if key != "seed"}
    if isinstance(value, list | tuple):
        return [_without_seeds(item) for item in value]
    return value


def learned(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved config that decides what a run learns, and within which limits."""
    left_out: tuple[str, ...] = _RUN_KEYS
    encoder = config.get("encoder")
    if isinstance(encoder, Mapping) and "attention" in encoder:
        left_out += _HELD_BY_ENCODER
    return {key: value for key, value in config.items() if key not in left_out}


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved config that two runs share if they differ in the seed alone.

    ``seed`` is left out at every depth, because an interpolated ``task.seed`` repeats it.
    """
    return _without_seeds(learned(config))


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of nested mappings by their dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat


def of_variant(key: str) -> bool:
    """Whether the value at a dotted key belongs to what a comparison is about: how tokens mix."""
    return key not in _NO_VARIANT_KEYS and any(f"{key}.".startswith(f"{held}.") for held in _VARIANT_KEYS)


def config_hash(config: Mapping[str, Any]) -> str:
    """Names what runs repeat: 12 hex digits of the SHA-256 of the ``settings`` as canonical JSON."""
    canonical = json.dumps(settings(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def mixing(config: Mapping[str, Any]) -> dict[str, str | None]:
    """How a run's tokens mix, in words: ``attention``, and of linear attention ``feature_map`` and ``decay``; of a
    baseline none of them."""
    if "attention" not in config:  # a baseline
        return {"attention": None, "feature_map": None, "decay": None}
    choices, linear = config["choices"], "feature_map" in config["attention"]
    return {
        "attention": choices["attention"],
        "feature_map": choices["feature_map"] if linear else None,
        "decay": choices.get("decay") if linear else None,
    }


def of_config(config: Mapping[str, Any]) -> Record:
    """What a run's config alone says in its record."""
    choices = config["choices"]
    baseline = choices["baseline"] if "baseline" in config else None
    return {
        "config_hash": config_hash(config),
        "task": choices["task"],
        "protocol": config["protocol"]["name"],
        **mixing(config),
        **({"baseline": baseline} if baseline else {}),
        "encoder": None if baseline else choices["encoder"],
        "max_length": None if baseline else config["task"]["max_length"],
        "seed": config["seed"],
        "config": config,
    }


def git_state(folder: str | Path) -> tuple[str | None, bool | None]:
    """The commit checked out in ``folder`` and whether files differ from it; (None, None) without one."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},  # a run must not hold up the user's own git
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def versions() -> dict[str, str | None]:
    """The versions of Python and of the packages that numbers depend on; None for one not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name, package in {
        "torch": "torch",
        "lightning": "pytorch-lightning",
        "datasets": "datasets",
        "hydra": "hydra-core",
        "wandb": "wandb",
        "torchmetrics": "torchmetrics",
        "tokenizers": "tokenizers",
        "scikit-learn": "scikit-learn",
        "sentence-transformers": "sentence-transformers",
        "longdoc": "longdoc",
    }.items():
        try:
            found[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def machine(threads: int) -> dict[str, Any]:
    """``{"cpu": name, "threads": threads}``; the caller, who has torch, gives ``torch.get_num_threads()``."""
    cpu = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                cpu = value.strip()
                break
    except OSError:
        pass
    return {"cpu": cpu, "threads": threads}
