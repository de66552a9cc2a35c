"""Show a W&B project's runs as a workspace and a report:  python scripts/dashboard.py ENTITY [--project NAME] | --print

Both have the sections quality, efficiency, by length and analysis, and are added to the project of ENTITY, a user or
a team, which takes `wandb login`. --print writes them as JSON instead and asks nobody. It takes the extra `dashboard`:
pip install -e ".[dashboard]".
"""

import argparse
import json
import sys

import longdoc.caches  # noqa: F401  # isort: skip

import wandb

from longdoc.errors import one_sentence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("entity", nargs="?", help="a user or a team of W&B")
    parser.add_argument("--project", default="longdoc")
    parser.add_argument("--print", action="store_true", help="as JSON, without the network")
    options = parser.parse_args()
    if options.entity is None and not options.print:
        parser.error("name the entity whose project it is, or --print")
    try:
        from longdoc import dashboard
    except ModuleNotFoundError as error:
        sys.exit(f"dashboard.py: {error.name} is not installed; it comes with pip install -e '.[dashboard]'")
    if options.print:
        print(json.dumps(dashboard.as_json(options.entity or "", options.project), indent=2))
        return
    try:
        for page in (dashboard.workspace, dashboard.report):
            print(page(options.entity, options.project).save().url)
    except (wandb.Error, OSError, ValueError) as error:
        sys.exit(f"dashboard.py: {one_sentence(error)}")


if __name__ == "__main__":
    main()
