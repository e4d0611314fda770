"""The compiler: LLVM, as llvmlite brings it. Imported when the first kernel is compiled."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

_OLDEST = (0, 45)
"""The first llvmlite that has the pass manager used here."""

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
_QUICK_PROTOTYPE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
"""Keeps the interpreter's lock: for what takes less time than giving it away."""

LIBRARY = {
    "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "sin": 1, "cos": 1, "tan": 1, "tanh": 1,
    "erf": 1, "atan2": 2, "pow": 2,
}  # fmt: skip
"""Functions of float64 in the C library, those that Python's ``math`` calls: how many operands."""


@cache
def installed() -> bool:
    """Whether an llvmlite that can be used is there; does not import it."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and rarely needed

    try:
        found = version("llvmlite").split(".")
        return (int(found[0]), int(found[1])) >= _OLDEST
    except (PackageNotFoundError, ValueError, IndexError):
        return False


@cache
def _host() -> tuple[str, str, int]:
    """The processor, what it can do, and how many float32 one of its registers holds."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    wide = {name for name, there in features.items() if there}
    lanes = 16 if "avx512f" in wide else 8 if "avx" in wide else 4
    return llvm.get_host_cpu_name(), features.flatten(), lanes


def lanes() -> int:
    """How many float32 one register of this machine holds."""
    return _host()[2]


def function(text: str, name: str) -> tuple[Callable[..., None], Any]:
    """A function ``(pointer, int64, int64, int64)`` of a module in LLVM's language, and what must
    be kept for as long as it is called.
    """
    import llvmlite.binding as llvm

    target = _target(2)
    module = llvm.parse_assembly(text)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    passes = llvm.create_pass_builder(target, tuning)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return _PROTOTYPE(engine.get_function_address(name)), engine


def straight_function(text: str, name: str) -> tuple[Callable[..., None], Any]:
    """A function ``(pointer)`` without loops, as ``function`` gives it; not optimised.

    Optimising thousands of operations takes ten times as long, and they take no less time then.
    The text may call ``@library.exp`` and all of ``LIBRARY``.
    """
    import llvmlite.binding as llvm

    _add_library()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), _target(0))
    engine.finalize_object()
    return _QUICK_PROTOTYPE(engine.get_function_address(name)), engine


def _target(level: int) -> Any:
    """This machine as LLVM knows it; an engine frees the one that it compiled for."""
    import llvmlite.binding as llvm

    name, features, _ = _host()
    triple = llvm.Target.from_default_triple()
    return triple.create_target_machine(cpu=name, features=features, opt=level)


@cache
def _add_library() -> None:
    import llvmlite.binding as llvm

    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    for name in LIBRARY:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        llvm.add_symbol(f"library.{name}", address)
