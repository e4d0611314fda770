"""``python -m tests.golden PATH…`` at the root: run golden files, or all that lie in a folder.

Exit code 0 when all passed, 1 when a case failed, 2 for a path that can't be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.golden.runner import UnreadableError, files, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the paths in order and print what came of each; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    failed = unreadable = False
    for path in parser.parse_args(arguments).paths:
        try:
            found = files(path)
        except UnreadableError as error:
            found, unreadable = [], True
            print(error, file=sys.stderr)
        for file in found:
            try:
                result = run(file)
            except UnreadableError as error:
                unreadable = True
                print(error, file=sys.stderr)
                continue
            failed |= bool(result.failed)
            print(*result.lines(), sep="\n", flush=True)
    return 2 if unreadable else int(failed)


if __name__ == "__main__":
    sys.exit(main())
