"""Made records with every key a run writes."""

from typing import Any

from longdoc.results import SCHEMA_VERSION, config_hash


def made(
    attention: str = "linear",
    feature_map: str | None = "elu",
    decay: str | None = None,
    seed: int = 1,
    accuracy: float | None = 0.5,
    speed: float = 1000.0,
    lr: float = 1e-3,
    **others: Any,
) -> dict[str, Any]:
    """A finished run; ``others`` replaces whole keys."""
    if attention == "softmax":
        feature_map = None
    inner = {"_target_": attention} | ({"feature_map": {"_target_": feature_map}} if feature_map else {})
    config = {
        "attention": inner,
        "feature_map": {"_target_": feature_map or "elu"},
        "encoder": {"width": 128, "attention": inner},
        "optimizer": {"lr": lr},
        "task": {"max_length": 2000, "seed": seed},
        "seed": seed,
        "resume": None,
    }
    record = {
        "schema_version": SCHEMA_VERSION,
        "run_id": f"{attention}-{feature_map}-{decay}-{seed}-{lr}",
        "wandb_id": None,
        "status": "finished",
        "config_hash": config_hash(config | {"decay": decay}),
        "task": "listops",
        "protocol": "longdoc",
        "attention": attention,
        "feature_map": feature_map,
        "decay": decay,
        "encoder": "small",
        "max_length": 2000,
        "seed": seed,
        "epochs": 1.5,
        "steps": 1200,
        "tokens": 34_500_000,
        "parameters": 1_234_567,
        "flops_per_token": {"forward": 1e6, "at": 2000},
        "tokens_per_second": speed,
        "peak_memory_mb": 1234.4,
        "wall_seconds": 600.0,
        "precision": "32-true",
        "compiled": False,
        "device": "cpu",
        "cpu": "AMD EPYC",
        "threads": 2,
        "selection": {
            "metric": "val/accuracy",
            "value": 0.5,
            "epoch": 1,
            "step": 1000,
            "checkpoint": "a.ckpt",
        },
        "splits": {
            name: {"rows": rows, "empty_rows": 0, "truncated_rows": 0, "truncated_tokens": 0}
            for name, rows in {"train": 96_000, "validation": 2000, "test": 2000}.items()
        },
        "metrics": {"val/accuracy": accuracy, "val/loss": 1.5, "test/accuracy": accuracy, "test/loss": 1.6},
        "references": {"majority": 0.171, "root_operator": 0.35},
        "budget": {"max_time": 600.0, "max_steps": None, "max_epochs": None},
        "versions": {"python": "3.12"},
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "dirty": False,
        "config": config,
    }
    return record | others
