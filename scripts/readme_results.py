"""Write README's tables anew, from the records in data/results.

    python scripts/readme_results.py            # where <!-- results: ARGUMENTS --> and <!-- /results --> enclose them
    python scripts/readme_results.py --check    # exit status 1 if README is not what this would write

The arguments are those of scripts/compare.py. Records that do not say their command, of older runs, have a
commands.txt beside them.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from longdoc.results.readme import filled

PROJECT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    path = PROJECT / "README.md"
    before = path.read_text(encoding="utf-8")
    try:
        after = filled(before, PROJECT)
    except ValueError as error:
        print(f"readme_results.py: {error}", file=sys.stderr)
        return 1
    if before != after and options.check:
        print("README.md is not as its records say: python scripts/readme_results.py", file=sys.stderr)
        return 1
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
