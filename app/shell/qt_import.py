"""Imports PySide6 in half the time.

It carries the Python part of its bindings as text within a library, and at each start compiles it,
with the module that writes stubs for type checkers and its patterns. Here the compiled code is
kept, and that module is left until somebody asks for it.
"""

from __future__ import annotations

import builtins
import marshal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram.files import stored

if TYPE_CHECKING:
    from types import CodeType

_FOLDER = "shibokensupport/"
"""Where the texts are in the library."""
_STUBS = f"{_FOLDER}signature/lib/pyi_generator.py"
_LATER = f"from {__name__} import stubs_attribute as __getattr__"
"""What stands for the module that writes stubs."""
_left: list[tuple[bytes, Callable[..., CodeType]]] = []
"""The text of that module, and how to compile it."""


def load() -> None:
    """Import PySide6, as ``import`` does; raises ImportError."""
    usual = builtins.compile
    builtins.compile = partial(_compile, usual)
    try:
        import_module("PySide6.QtCore")
    finally:
        builtins.compile = usual


def _compile(usual: Callable[..., Any], source: Any, filename: Any, *mode: Any, **more: Any) -> Any:
    """What ``compile`` gives; other threads may compile texts of their own meanwhile."""
    ours = isinstance(source, bytes) and str(filename).startswith(_FOLDER)
    if not ours or mode != ("exec",) or more:
        return usual(source, filename, *mode, **more)
    if filename == _STUBS:
        _left.append((source, usual))
        return usual(_LATER, filename, "exec")
    return _kept(usual, source, filename)


def _kept(usual: Callable[..., CodeType], source: bytes, filename: str) -> CodeType:
    """The code of a text: from an earlier start, or compiled now and kept."""
    name = stored.key(["code", MAGIC_NUMBER.hex(), filename, source.decode()])
    content = stored.load(name)
    if content is not None:
        found: CodeType = marshal.loads(content)
        return found
    # As in the module that asks for it, annotations are not evaluated.
    made = usual(source, filename, "exec", flags=annotations.compiler_flag, dont_inherit=True)
    stored.keep(name, marshal.dumps(made))
    return made


def stubs_attribute(name: str) -> Any:
    """An attribute of the module that writes stubs, which is run for the first one."""
    module = vars(sys.modules[_STUBS.removesuffix(".py").replace("/", ".")])
    if _left and not name.startswith("__"):
        source, usual = _left.pop()
        exec(_kept(usual, source, _STUBS), module)
        del module["__getattr__"]
    if name in module:
        return module[name]
    raise AttributeError(f"module {_STUBS!r} has no attribute {name!r}")
