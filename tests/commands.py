"""Runs the project's commands as a user does: in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PROJECT = Path(__file__).resolve().parents[1]

# A model and a task so small that a run takes seconds, most of them imports.
TINY = (
    "encoder=tiny", "encoder.width=16", "task.vocab_size=300", "task.max_length=32", "task.batch_tokens=64",
    "trainer.compile=false", "trainer.precision=32-true", "trainer.val_check_interval=100",
    "trainer.log_every_n_steps=1",
)  # fmt: skip

# On tiny matrices a second thread mostly waits, and on a busy machine it waits long.
SETTINGS = {"OMP_NUM_THREADS": "1"}


def run(script: str, *arguments: str, cwd: Path, background: bool = False, **environment: str) -> Any:
    """A finished process with its output as text; in the background, the process itself."""
    command = [sys.executable, str(PROJECT / script), *arguments]
    options: dict[str, Any] = {
        "cwd": cwd, "stdin": subprocess.DEVNULL, "text": True, "env": os.environ | SETTINGS | environment,
    }  # fmt: skip
    if background:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    return subprocess.run(command, capture_output=True, timeout=300, **options)


def train(*overrides: str, data: Path, cwd: Path, **environment: str) -> Path:
    """Trains a tiny model on ``data`` to the end; returns the run's folder."""
    before = set(cwd.glob("outputs/books/*"))
    done = run("train.py", *TINY, f"task.data={data}", f"task.cache={data}/cache", *overrides, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = set(cwd.glob("outputs/books/*")) - before
    return folder


def record(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text())


def write_books(folder: Path) -> Path:
    """Three authors with a word of their own each: 20 books to train on, 3 and 6 to evaluate."""
    folder.mkdir(parents=True, exist_ok=True)
    words = {"austen": "pride", "melville": "whale", "shelley": "monster"}
    for split, count in {"train": 20, "validation": 3, "test": 6}.items():
        labels = [list(words)[i % 3] for i in range(count)]
        texts = [f"It was the {words[label]} of chapter {i}. " * (3 + i % 4) for i, label in enumerate(labels)]
        pq.write_table(pa.table({"text": texts, "label": labels}), folder / f"{split}.parquet")
    return folder
