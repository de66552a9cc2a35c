"""Reads a W&B offline file: records of protobuf in a log of 32 KiB blocks."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2 as pb

BLOCK = 32 * 1024


def records(path: Path) -> Iterator[Any]:
    """Every record; a chunk is crc32 | u16 size | type (1 whole, 2 first, 3 middle, 4 last) | bytes."""
    raw = path.read_bytes()
    assert raw[:4] == b":W&B", f"{path} is no W&B file"
    place, part = 7, b""
    while place + 7 <= len(raw):
        if BLOCK - place % BLOCK < 7:
            place += BLOCK - place % BLOCK
            continue
        _, size, kind = struct.unpack("<IHB", raw[place : place + 7])
        place += 7
        part += raw[place : place + size]
        place += size
        if kind in (1, 4):
            yield pb.Record.FromString(part)
            part = b""


def read(path: Path) -> dict[str, Any]:
    """Run id, group, job type, tags, resume, config, history (rows), summary, exit code and the axes of metrics."""
    run: dict[str, Any] = {"config": {}, "summary": {}, "history": [], "axes": {}, "exit_code": None}

    def values(items: Any) -> dict[str, Any]:
        return {(i.key or ".".join(i.nested_key)): json.loads(i.value_json) for i in items}

    for record in records(path):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run |= {
                "run_id": record.run.run_id, "group": record.run.run_group, "job_type": record.run.job_type,
                "tags": list(record.run.tags), "resume": record.run.resume,
            }  # fmt: skip
            run["config"] |= values(record.run.config.update)
        elif kind == "config":
            run["config"] |= values(record.config.update)
        elif kind == "summary":
            run["summary"] |= values(record.summary.update)
        elif kind == "history":
            run["history"].append(values(record.history.item))
        elif kind == "metric":
            run["axes"][record.metric.name or record.metric.glob_name] = record.metric.step_metric
        elif kind == "exit":
            run["exit_code"] = record.exit.exit_code
    return run
