"""The line of the user's own program that runs now."""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import linecache
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gradwire import runtime
from gradwire.runtime.interchange.importing.torch.places import NOWHERE, ProgramLine, place_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

_OTHERS = (
    str(Path(torch.__file__).parent),
    str(Path(runtime.__file__).parent),
    str(contextlib.__file__),
    str(copy.__file__),
    str(functools.__file__),
    "<frozen",
)
"""Where files begin that are not the user's."""
_OURS = _OTHERS[1]
_DISTRIBUTIONS = str(Path(torch.__file__).parent / "distributions")
_PLUMBING = re.compile(r"[\\/]keras[\\/]src[\\/]")
"""Where packages lie whose own lines say nothing about a model."""
_is_user: dict[CodeType, bool] = {}
"""Whether code belongs to the user, of what was asked for."""


def _frames() -> Iterator[FrameType]:
    """What runs now, from the function that asks on."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _callers() -> Iterator[FrameType]:
    """The frames that are neither torch's nor Gradwire's, nor the first one of all."""
    for frame in _frames():
        if frame.f_back is not None and not frame.f_code.co_filename.startswith(_OTHERS):
            yield frame


def _lines() -> Iterator[tuple[CodeType, int]]:
    """The lines that run now in frames that belong neither to torch, nor to Keras, nor to Gradwire,
    the innermost first.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code not in _is_user:
            file = code.co_filename
            _is_user[code] = not (file.startswith(_OTHERS) or _PLUMBING.search(file))
        if _is_user[code]:
            yield code, frame.f_lineno
        frame = frame.f_back


def user_line() -> tuple[str, int]:
    """The file and number of the user's innermost line; ``("", 0)`` where there is none."""
    for code, number in _lines():
        return code.co_filename, number
    return "", 0


def user_lines() -> tuple[tuple[CodeType, int], ...]:
    """All lines of the user's that run now, the innermost first: of each function, the line."""
    return tuple(_lines())


def user_name(value: object) -> str:
    """The variable, or the attribute of ``self``, in which the user's code that is calling now has
    a value; empty where it is in none.
    """
    return next((name for name, x in user_variables() if x is value), "")


def user_variables() -> Iterator[tuple[str, object]]:
    """The variables, and the attributes of ``self``, that the user's code has which is calling now,
    from the innermost function on.
    """
    for frame in _callers():
        known = frame.f_locals
        for names in (known, getattr(known.get("self"), "__dict__", {}), frame.f_globals):
            yield from [(str(name), x) for name, x in names.items()]


def user_place() -> ProgramLine:
    """That line as a place, with what it says."""
    file, number = user_line()
    return place_of(file, number, linecache.getline(file, number)) if number else NOWHERE


def is_dropped() -> bool:
    """Whether the user's own code, which is calling now, throws the result away."""
    for frame in _callers():
        steps = dis.get_instructions(frame.f_code)
        return next(step for step in steps if step.offset > frame.f_lasti).opname == "POP_TOP"
    return False


def called_in(functions: Sequence[str], file: str = "") -> str:
    """The innermost of these functions, perhaps of a certain file, that is running; empty for
    none.
    """
    for frame in _frames():
        code = frame.f_code
        if frame.f_back and code.co_name in functions and file in ("", code.co_filename):
            return code.co_name
    return ""


def is_called_by_user() -> bool:
    """Whether what runs now was called by the user's own program, not by torch for it."""
    outside = (x for x in _frames() if not (x.f_back and x.f_code.co_filename.startswith(_OURS)))
    return not next(outside).f_code.co_filename.startswith(_OTHERS)


def region() -> str:
    """The context manager that sets the mode of gradient now: ``no_grad``; empty for none. It is
    ``sample`` in that method of a distribution.
    """
    found = ""
    for frame in _frames():
        code = frame.f_code
        if Path(code.co_filename).name == "grad_mode.py" and "self" in frame.f_locals:
            found = type(frame.f_locals["self"]).__name__  # the outermost is what the user wrote
        elif found and not code.co_filename.startswith(_OURS):
            is_drawing = code.co_filename.startswith(_DISTRIBUTIONS)
            return "sample" if is_drawing and code.co_name == "sample" else found
    return found
