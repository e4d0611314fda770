"""The line of the user's own program that runs now."""

from __future__ import annotations

import contextlib
import copy
import functools
import linecache
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gradwire import runtime
from gradwire.runtime.interchange.importing.torch.places import NOWHERE, Place, place_of

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


def user_place() -> Place:
    """That line as a place, with what it says."""
    file, number = user_line()
    return place_of(file, number, linecache.getline(file, number)) if number else NOWHERE


def region() -> str:
    """The context manager that sets the mode of gradient now: ``no_grad``; empty for none."""
    frame, found = sys._getframe(1), ""
    while frame.f_back is not None:
        if Path(frame.f_code.co_filename).name == "grad_mode.py" and "self" in frame.f_locals:
            found = type(frame.f_locals["self"]).__name__  # the outermost is what the user wrote
        elif found:
            return found
        frame = frame.f_back
    return found
