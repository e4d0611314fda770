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
from typing import TYPE_CHECKING, Any

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
_DISTRIBUTIONS = str(Path(torch.__file__).parent / "distributions")


_is_user: dict[CodeType, bool] = {}
"""Whether code belongs to the user, of what was asked for."""


_PLUMBING = re.compile(r"[\\/]keras[\\/]src[\\/]")
"""Where packages lie whose own lines say nothing about a model."""


def user_line() -> tuple[str, int]:
    """The file and number of the line that runs now, in the innermost frame that belongs neither
    to torch, nor to Keras, nor to Gradwire; ``("", 0)`` where there is none.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        known = _is_user.get(code)
        if known is None:
            file = code.co_filename
            known = _is_user[code] = not (file.startswith(_OTHERS) or _PLUMBING.search(file))
        if known:
            return code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def user_lines() -> tuple[tuple[CodeType, int], ...]:
    """All lines of the user's that run now, the innermost first: of each function, the line."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code not in _is_user:
            file = code.co_filename
            _is_user[code] = not (file.startswith(_OTHERS) or _PLUMBING.search(file))
        if _is_user[code]:
            found.append((code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def user_name(value: Any) -> str:
    """The variable, or the attribute of ``self``, in which the user's code that is calling now has
    a value; empty where it is in none.
    """
    return next((name for name, x in user_variables() if x is value), "")


def user_variables() -> Iterator[tuple[str, Any]]:
    """The variables, and the attributes of ``self``, that the user's code has which is calling now,
    from the innermost function on.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if not frame.f_code.co_filename.startswith(_OTHERS):
            known = frame.f_locals
            for names in (known, getattr(known.get("self"), "__dict__", {}), frame.f_globals):
                yield from [(str(name), x) for name, x in names.items()]
        frame = frame.f_back


def user_place() -> ProgramLine:
    """That line as a place, with what it says."""
    file, number = user_line()
    return place_of(file, number, linecache.getline(file, number)) if number else NOWHERE


def is_dropped() -> bool:
    """Whether the user's own code, which is calling now, throws the result away."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if not frame.f_code.co_filename.startswith(_OTHERS):
            steps = dis.get_instructions(frame.f_code)
            following = (step for step in steps if step.offset > frame.f_lasti)
            return next(following).opname == "POP_TOP"
        frame = frame.f_back
    return False


def called_in(functions: Sequence[str], file: str = "") -> str:
    """The innermost of these functions, perhaps of a certain file, that is running; empty for
    none.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_name in functions and file in ("", frame.f_code.co_filename):
            return frame.f_code.co_name
        frame = frame.f_back
    return ""


def is_called_by_user() -> bool:
    """Whether what runs now was called by the user's own program, not by torch for it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OTHERS[1]):
        frame = frame.f_back
    return not frame.f_code.co_filename.startswith(_OTHERS)


def region() -> str:
    """The context manager that sets the mode of gradient now: ``no_grad``; empty for none. It is
    ``sample`` in that method of a distribution.
    """
    frame, found = sys._getframe(1), ""
    while frame.f_back is not None:
        if Path(frame.f_code.co_filename).name == "grad_mode.py" and "self" in frame.f_locals:
            found = type(frame.f_locals["self"]).__name__  # the outermost is what the user wrote
        elif found and not frame.f_code.co_filename.startswith(_OTHERS[1]):
            is_drawing = frame.f_code.co_filename.startswith(_DISTRIBUTIONS)
            return "sample" if is_drawing and frame.f_code.co_name == "sample" else found
        frame = frame.f_back
    return found
