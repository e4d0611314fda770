"""The line of the user's own program that runs now."""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import linecache
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from gradwire import runtime
from gradwire.runtime.interchange.importing.torch.places import NOWHERE, Place, place_of

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


def user_place() -> Place:
    """The innermost frame that belongs neither to torch nor to Gradwire."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OTHERS):
            return place_of(file, frame.f_lineno, linecache.getline(file, frame.f_lineno))
        frame = frame.f_back
    return NOWHERE


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


def called_in(functions: Sequence[str]) -> str:
    """The innermost of these functions that is running; empty for none."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_name in functions:
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
        elif found:
            is_drawing = frame.f_code.co_filename.startswith(_DISTRIBUTIONS)
            return "sample" if is_drawing and frame.f_code.co_name == "sample" else found
        frame = frame.f_back
    return found
