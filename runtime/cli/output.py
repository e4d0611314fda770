"""The output of commands: exit codes, JSON, and problems on standard error.

0   clean
1   the diagram has problems
2   bad usage, or a file that can't be read or has parameters that no block can have
3   the run failed, the diagram is too large to run, or the editor can't start
130 interrupted (Ctrl-C)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from json import JSONEncoder

from gradwire.blocks.errors import (
    BlockError,
    DiagramError,
    FeedError,
    FileError,
    GradwireError,
    LimitError,
    NotRunnableError,
    ParameterError,
    TraceError,
    shortened,
)
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.problems import Problem

CLEAN, PROBLEMS, USAGE, FAILED = range(4)
INTERRUPTED = 130


_POWERFUL = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class UsageError(GradwireError):
    """What was typed makes no sense."""


_CODES: tuple[tuple[type[GradwireError], int], ...] = (
    (UsageError, USAGE),
    (FileError, USAGE),
    (FeedError, USAGE),
    (ParameterError, USAGE),
    (LimitError, FAILED),
    (BlockError, PROBLEMS),
    (DiagramError, PROBLEMS),
    (NotRunnableError, PROBLEMS),
    (TraceError, PROBLEMS),
)


def exit_code(error: GradwireError) -> int:
    """The exit code of a command that ends with this error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def problems_code(problems: Iterable[Problem]) -> int:
    """The exit code of a command that ends because of these problems; CLEAN without an error."""
    codes = {problem.diagnostic.code for problem in problems if problem.is_error}
    if "wrong-parameters" in codes:
        return USAGE
    if "too-large" in codes:
        return FAILED
    return PROBLEMS if codes else CLEAN


def print_problems(problems: Iterable[Problem]) -> None:
    """Write errors and warnings to standard error; remarks are left out."""
    for problem in problems:
        if problem.diagnostic.severity != "info":
            print(problem.text(), file=sys.stderr)


def say(*sentences: str) -> None:
    """Write sentences to standard error, a line each."""
    for sentence in sentences:
        print(visible(f"gradwire: {shortened(sentence)}"), file=sys.stderr)


def print_json(report: object) -> None:
    """Write JSON to standard output, in ASCII unless the stream is UTF-8."""
    print(_encoder(indent=2).encode(report))


def json_text(report: object) -> str:
    """The same for a file, in ASCII."""
    return f"{_Encoder(indent=2, allow_nan=False).encode(report)}\n"


def print_json_by_line(report: Mapping[str, object]) -> None:
    """Likewise for a report about a whole diagram: a line for each wire, port and variable.

    Indented, a report on 50,000 wires would be mostly spaces.
    """
    encode, write, comma = _encoder().encode, sys.stdout.write, "{"
    for key, about in report.items():
        write(f"{comma}\n  {encode(key)}: ")
        comma = ","
        if isinstance(about, Mapping) and about:
            lines = (f"{encode(name)}: {encode(item)}" for name, item in about.items())
            _write_lines("{", lines, "}")
        elif isinstance(about, Sequence) and about and not isinstance(about, str):
            _write_lines("[", map(encode, about), "]")
        else:
            write(encode(about))
    write("\n}\n")


def _write_lines(opening: str, lines: Iterable[str], closing: str) -> None:
    between = f"{opening}\n    "
    for line in lines:
        sys.stdout.write(f"{between}{line}")
        between = ",\n    "
    sys.stdout.write(f"\n  {closing}")


class _Encoder(JSONEncoder):
    """JSON with an escape for every character that a terminal obeys or an encoding refuses."""

    def encode(self, o: object) -> str:
        """The text as a whole."""
        return _POWERFUL.sub(_escaped, super().encode(o))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _encoder(indent: int | None = None) -> JSONEncoder:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return _Encoder(indent=indent, ensure_ascii=not unicode, allow_nan=False)
