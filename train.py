"""Train a classifier of long documents:  python train.py [task=listops] [feature_map=favor] [key=value ...]

compose -> run: task -> classifier -> trainer -> fit -> test the best checkpoint -> results.json
"""

import os
import signal
import sys
from typing import Any

import longdoc.caches  # noqa: F401  # isort: skip

import hydra
from omegaconf import DictConfig

from longdoc import sweep
from longdoc.errors import one_sentence
from longdoc.job import job
from longdoc.run import console


@hydra.main(config_path="conf", config_name="train", version_base="1.3")
def main(cfg: DictConfig) -> float:
    """One run; job stands in a module, from which launchers import it in other processes."""
    return job(cfg)


def command() -> int | str:
    """Runs the command line; returns the exit status, or the sentence of a failure."""
    jobs: list[dict[str, Any]] = []
    sentence = ""
    try:
        with sweep.journal(jobs):
            main()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:
        sentence = one_sentence(error)
    finally:
        for line in sweep.summary(jobs) if jobs else ():
            console.print(line)
    if failed := [done["sentence"] for done in jobs if done["outcome"] == "failed"]:
        sentence = failed[0] if len(jobs) == 1 else f"{len(failed)} of {len(jobs)} jobs failed, the first: {failed[0]}"
    return f"train.py: {sentence}" if sentence else 0


if __name__ == "__main__":
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # so that Hydra raises its errors instead of printing them
    # In a sweep also while other processes train: without it these would be left alone.
    signal.signal(signal.SIGTERM, lambda signum, _: sys.exit(128 + signum))
    sys.exit(command())
