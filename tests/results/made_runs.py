"""Folders of made runs, with the metrics.csv that a training writes."""

import json
import math
from pathlib import Path
from typing import Any

from results.records import made

from longdoc.results import write_record


def metrics_csv(steps: int, every: int, final: float, speed: float) -> str:
    """A training's metrics.csv: a loss at every 10th step, noisy without chance, a validation at each ``every``."""
    lines = ["epoch,step,train/loss,train/seconds,train/tokens,train/tokens_per_second,val/accuracy,val/loss"]
    for step in range(9, steps, 10):
        fall = math.exp(-3 * step / steps)
        noise = 0.15 * math.sin(step * 12.9898) * math.sin(step * 4.1414)
        lines.append(f"0,{step},{1 + fall + noise:.6f},{step * 16_384 / speed:.3f},{step * 16_384},{speed},,")
        if (step + 1) % every == 0 or step + 10 >= steps:
            accuracy = final * (1 - fall) + 0.02 * noise
            lines.append(f"0,{step},,,,,{accuracy:.6f},{1.2 + fall:.6f}")
    return "\n".join(lines) + "\n"


def write_run(folder: Path, steps: int = 1200, every: int = 100, **record: Any) -> dict[str, Any]:
    """A finished run unless ``status`` says otherwise, with its curves; returns its record."""
    whole = made(**({"accuracy": 0.5, "speed": 1000.0} | record))
    write_record(folder, whole)
    (folder / "metrics.csv").write_text(
        metrics_csv(steps, every, whole["metrics"].get("test/accuracy") or 0.4, whole["tokens_per_second"])
    )
    return whole


def write_many(folder: Path, steps: int = 5000, every: int = 50) -> int:
    """50 runs: 5 variants at 3 lengths with 3 seeds, and 5 that are failed, running, interrupted or odd."""
    count = 0
    for length in (1024, 4096, 16_384):
        for v, (name, decay) in enumerate(
            (("softmax", None), ("elu", None), ("favor", None), ("hedgehog", None), ("elu", "selective"))
        ):
            for seed in (1, 2, 3):
                right = round(2000 * (0.42 + 0.03 * v - 0.00001 * length / (v + 1) + 0.008 * math.sin(7.0 * seed + v)))
                speed = 3e8 / length / 2 if name == "softmax" else 2.4e5 - 3e4 * v
                options: dict[str, Any] = {"attention": "softmax"} if name == "softmax" else {"feature_map": name}
                bins = [
                    {
                        "from": low,
                        "to": high,
                        "documents": 500,
                        "accuracy": right / 2000 + 0.05 - 0.03 * i + 0.004 * v,
                        "read": 1.0,
                    }
                    for i, (low, high) in enumerate(((1, 256), (257, 512), (513, 768), (769, 1024)))
                ]
                write_run(
                    folder / f"run{count}", steps, every, **options, decay=decay, seed=seed, accuracy=right / 2000,
                    speed=speed,
                    max_length=length, run_id=f"2026-11-30_10-00-{count:02}", by_length=bins,
                    peak_memory_mb=600 + 40 * v + length * (0.2 if name == "softmax" else 0.03),
                )  # fmt: skip
                count += 1
    for status, error in (
        ("failed", "the training loss is nan at step 812; the checkpoints stay"),
        ("running", None),
        ("interrupted", None),
    ):
        write_run(
            folder / f"run{count}",
            steps // 2,
            every,
            seed=4,
            status=status,
            error=error,
            max_length=1024,
            metrics={},
            run_id=f"open-{status}",
        )
        count += 1
    write_run(folder / f"run{count}", steps, every, feature_map="relu", accuracy=None, max_length=1024, run_id="twice")
    config = made(feature_map="relu", seed=2)["config"] | {"pooling": "last"}  # a row of its own
    write_run(
        folder / f"run{count + 1}", steps, every, feature_map="relu", seed=2, config=config, config_hash="last",
        max_length=1024, run_id="twice",
    )  # fmt: skip
    (folder / "old").mkdir()
    (folder / "old" / "results.json").write_text(json.dumps(made() | {"schema_version": 0}))
    return count + 2
