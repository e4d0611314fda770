"""Where a program has an equation: the file and line of the user, and the modules around it."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire import runtime
from gradwire.runtime.interchange.importing.scopes import ModuleCall, file_name

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Equation, Jaxpr

_TRANSPOSED = "transpose"
_NUMERICAL = frozenset({"nn", "numpy", "ops", "scipy"})
"""Folders of JAX with functions on arrays, as opposed to what transforms programs."""


@cache
def _foreign_folders() -> tuple[str, ...]:
    """Folders whose code the user didn't write: libraries, Python's own, and this package."""
    own = Path(runtime.__file__).resolve().parent
    return (*(sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib")), str(own))


@cache
def is_library(file: str) -> bool:
    """Whether a file belongs to a library."""
    if file.startswith("<frozen"):
        return True
    return "site-packages" in Path(file).parts or file.startswith(_foreign_folders())


def is_of_jax(file: str) -> bool:
    """Whether a file belongs to JAX itself."""
    return "jax" in Path(file).parts and is_library(file)


def _frames(equation: Equation) -> Iterator[tuple[str, str, int]]:
    """File, function and line of the calls that made an equation, innermost first."""
    traceback = getattr(equation.source_info, "traceback", None)
    for frame in getattr(traceback, "frames", ()):
        yield frame.file_name, frame.function_name, frame.line_num


def written(equation: Equation) -> str:
    """``model.py:42``, the innermost line of the user's own code; empty where there is none."""
    for file, _, line in _frames(equation):
        if not is_library(file):
            return f"{file_name(file)}:{line}"
    return ""


def stabilised_function(equation: Equation) -> str:
    """The function of JAX's numerical library that stops gradient here; empty for the user's."""
    found = ""
    for file, function, _ in _frames(equation):
        if not is_library(file):
            break
        if is_of_jax(file) and _NUMERICAL.intersection(Path(file).parts):
            found = function.strip("_")
    return found


def origin(jaxpr: Jaxpr) -> tuple[str, str]:
    """The name of the function that a program was traced from, and its file."""
    info = str(getattr(getattr(jaxpr, "debug_info", None), "func_src_info", "") or "")
    name, _, place = info.partition(" at ")
    return name, place.rpartition(":")[0]


def is_library_function(jaxpr: Jaxpr) -> bool:
    """Whether a called program is a function of a library, such as ``jax.nn.silu``."""
    return is_library(origin(jaxpr)[1])


def modules(equation: Equation) -> list[str]:
    """The names of ``jax.named_scope`` and of modules around an equation, outermost first.

    Those of a backward pass within the program get names of their own.
    """
    found: list[str] = []
    backward = False
    for part in equation.source_info.name_stack.stack:
        if type(part).__name__ == "Scope":
            names = [name.rpartition(".")[2] or name for name in part.name.split("/") if name]
            found += [f"{name} gradient" if backward else name for name in names]
        else:
            backward = backward or part.name == _TRANSPOSED
    return found


class CallCounter:
    """Numbers the calls of modules, in the order of a program.

    A module that is left and entered again is called again.
    """

    def __init__(self) -> None:
        self._open: list[ModuleCall] = []
        self._counts: dict[tuple[ModuleCall, ...], int] = {}

    def enter(self, names: Sequence[str]) -> list[ModuleCall]:
        """The calls for modules around an equation; those that are open go on."""
        same = 0
        while same < min(len(names), len(self._open)) and names[same] == self._open[same].name:
            same += 1
        del self._open[same:]
        for name in names[same:]:
            key = (*self._open, ModuleCall(name, 0))
            self._counts[key] = number = self._counts.get(key, 0) + 1
            self._open.append(ModuleCall(name, number))
        return list(self._open)
