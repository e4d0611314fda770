"""Programs that train, run as ``python`` would, with everything that they train watched."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.errors import FileError, RunError
from gradwire.runtime import extras

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.watch import Report

CLEAN, FAILED, INTERRUPTED = 0, 1, 130
"""Exit codes that Python gives to a program that has none of its own."""


class Watched(NamedTuple):
    """What a program ended with, and a report of each model that it trained."""

    code: int
    reports: Sequence[Report]


def watched_script(
    script: Path,
    arguments: Sequence[str],
    *,
    guard: bool = False,
    source: bool = False,
    is_quiet: bool = False,
    steps: int | None = None,
    text: str | None = None,
) -> Watched:
    """Run a program, and watch all that it trains with PyTorch; see ``gradwire.watch``.

    What it prints goes to standard error if ``is_quiet``. It ends after so many ``steps`` of one of
    its models; ``text`` is what to run instead of what the file contains. Raises FileError where
    there is no such file, RunError where PyTorch is missing.
    """
    if not script.is_file():
        raise FileError("There is no such file.", path=str(script), expected="a Python program")
    if not extras.installed("torch"):
        raise RunError(
            "Watching a program needs torch, which is not installed.",
            next_step="Install it: pip install torch.",
        )
    from gradwire.runtime.watch.torch.everything import EnoughError, watched_everything

    with watched_everything(guard=guard, source=source, steps=steps) as everything:
        with redirect_stdout(sys.stderr if is_quiet else sys.stdout):
            try:
                code = _run(script, arguments, text)
            except EnoughError:
                code = CLEAN
    return Watched(code, [each.report() for each in everything.watches])


def _run(script: Path, arguments: Sequence[str], text: str | None) -> int:
    """Run a program as ``python`` would; its exit code."""
    before = sys.argv, list(sys.path), sys.modules.get("__main__")
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        if text is None:
            runpy.run_path(str(script), run_name="__main__")
        else:
            sys.modules["__main__"] = main = ModuleType("__main__")
            main.__file__ = str(script)
            exec(compile(text, str(script), "exec"), main.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or CLEAN
        print(end.code, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # whatever the program raises is its own, and shown as Python does
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return FAILED
    finally:
        sys.argv, sys.path[:], main_before = before
        if main_before is not None:
            sys.modules["__main__"] = main_before
    return CLEAN
