"""Write the tables of README.md and data/results/README.md anew, from the records in data/results.

    python scripts/readme_results.py            # where <!-- results: ARGUMENTS --> and <!-- /results --> enclose them
    python scripts/readme_results.py --check    # exit status 1 if one is not what this would write

The arguments are those of scripts/compare.py. Records that do not say their command, of older runs, have a
commands.txt beside them.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from longdoc.results.readme import filled

PROJECT = Path(__file__).resolve().parents[1]
FILES = ("README.md", "data/results/README.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    before = {file: (PROJECT / file).read_text(encoding="utf-8") for file in FILES}
    try:
        after = {file: filled(text, PROJECT, str(Path(file).parent)) for file, text in before.items()}
    except ValueError as error:
        print(f"readme_results.py: {error}", file=sys.stderr)
        return 1
    for file in (file for file in FILES if before[file] != after[file]):
        if options.check:
            print(f"{file} is not as its records say: python scripts/readme_results.py", file=sys.stderr)
            return 1
        (PROJECT / file).write_text(after[file], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
