"""How a command ends: exit codes, and errors told on standard error.

0   clean
1   the diagram has problems
2   bad usage, or a file that can't be read
3   the run failed, or the editor can't start
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from blocks.errors import (
    BlockError,
    DiagramError,
    FeedError,
    FileError,
    GradwireError,
    NotRunnableError,
    TraceError,
)
from runtime.publish.problems import Problem

CLEAN, PROBLEMS, USAGE, FAILED = range(4)


class UsageError(GradwireError):
    """What was typed can't be meant."""


_CODES: tuple[tuple[type[GradwireError], int], ...] = (
    (UsageError, USAGE),
    (FileError, USAGE),
    (FeedError, USAGE),
    (BlockError, PROBLEMS),
    (DiagramError, PROBLEMS),
    (NotRunnableError, PROBLEMS),
    (TraceError, PROBLEMS),
)


def exit_code(error: GradwireError) -> int:
    """The exit code of a command that ends with this error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def tell(problems: Iterable[Problem]) -> None:
    """Write the problems to standard error."""
    for problem in problems:
        print(problem.text(), file=sys.stderr)


def emit(report: object) -> None:
    """Write JSON to standard output; other than ASCII only where the stream can carry it."""
    import json

    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(report, indent=2, ensure_ascii=not unicode, allow_nan=False))
