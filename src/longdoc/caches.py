"""Keeps the caches of libraries in the project instead of the home folder.

To be imported before them, since they read the environment when they are imported.
"""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

for name in ("WANDB_CACHE_DIR", "WANDB_DATA_DIR", "MPLCONFIGDIR"):
    os.environ.setdefault(name, str(PROJECT / "data" / "cache" / "libraries"))
os.environ.setdefault("WANDB_SILENT", "true")
os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # of its own errors, to its makers
