"""The compiler, LLVM through llvmlite, which is imported when the first kernel is compiled."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime import extras
from gradwire.runtime.diagram.files import stored
from gradwire.runtime.version import __version__

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_OLDEST = (0, 45)
"""The first version of llvmlite with the pass manager used here."""

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
_compiling = threading.Lock()
"""LLVM keeps what it parses in one place for all threads: two at once end the process."""

_QUICK_PROTOTYPE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
"""Keeps the interpreter's lock: releasing it takes longer than a function without loops."""

LIBRARY = frozenset({
    "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "erf", "atan2", "pow",
})  # fmt: skip
"""The functions of the C library that Python's ``math`` calls."""


class Kernel(Protocol):
    """Machine code; a frame and an argument are what those who compiled it say."""

    place: int
    """The address of the code, which lives as long as this."""

    def __call__(self, frame: int, argument: int, start: int, stop: int) -> None:
        """Compute what is from start to stop; the frame is an address."""


@cache
def installed() -> bool:
    """Whether a usable version of llvmlite is installed; does not load LLVM."""
    if not extras.installed("llvmlite"):
        return False
    import llvmlite

    try:
        found = llvmlite.__version__.split(".")
        return (int(found[0]), int(found[1])) >= _OLDEST
    except (ValueError, IndexError):
        return False


@cache
def _llvmlite() -> Any:
    """The package, with LLVM. Raises RunError if it is not installed."""
    extras.require("llvmlite", "Machine code")
    import llvmlite.binding

    return llvmlite


class _Host(NamedTuple):
    """The processor: its name and features, the number of float32 that fit into a register, and
    whether these are multiplied and added in one instruction.
    """

    name: str
    features: str
    lanes: int
    fuses: bool


@cache
def _host() -> _Host:
    llvm = _llvmlite().binding
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    present = {name for name, is_present in features.items() if is_present}
    lanes = 16 if "avx512f" in present else 8 if "avx" in present else 4
    fuses = lanes == 16 or "fma" in present
    return _Host(llvm.get_host_cpu_name(), features.flatten(), lanes, fuses)


def lanes() -> int:
    """The number of float32 that fit into a register of this machine."""
    return _host().lanes


def fuses() -> bool:
    """Whether it multiplies and adds vectors in one instruction, where that is known."""
    return _host().fuses


def vector(dtype: str, length: int) -> int:
    """Elements of the longest vector that fits into a register and into a row of this length."""
    found = lanes() * 4 // np.dtype(dtype).itemsize
    while found > length:
        found //= 2
    return found


def frame(names: Sequence[str], **numbers: Array | int) -> NDArray[np.int64]:
    """The numbers in the order of their names; an array stands for its address.

    It must be kept for as long as the frame is used.
    """
    found = (numbers[name] for name in names)
    return np.array([address(x) if isinstance(x, np.ndarray) else x for x in found])


def address(array: Array) -> int:
    """The address of the first element, for as long as the array lives."""
    found: int = array.__array_interface__["data"][0]
    return found


def function(text: str, name: str) -> Kernel:
    """Compile a function ``(pointer, int64, int64, int64)`` of a module in LLVM assembly.

    It is written in vectors, with nothing left to optimise. Code that was compiled in an earlier
    run is read from the user's cache (see ``stored``).
    """
    llvm = _llvmlite().binding
    with _compiling:
        key = stored.key([text, name, *_versions(), *map(str, _host())])
        code = stored.load(key)
        module = llvm.parse_assembly("" if code else text)
        engine = llvm.create_mcjit_compiler(module, target_machine(2))
        engine.set_object_cache(
            notify_func=lambda _, made: stored.keep(key, made) if code is None else None,
            getbuffer_func=lambda _: code,
        )
        kernel: Kernel = _finished(_PROTOTYPE, engine, name)
        return kernel


def _finished(prototype: Any, engine: Any, name: str) -> Any:
    """The function, with its ``place``. It keeps its code also where nobody keeps anything else of
    it: of a kernel that two threads compile at once, one is in no cache.
    """
    engine.finalize_object()
    place = engine.get_function_address(name)
    call = prototype(place)
    call.code, call.place = engine, place
    return call


@cache
def _versions() -> tuple[str, ...]:
    """What else the code depends on."""
    llvmlite = _llvmlite()
    return __version__, str(llvmlite.__version__), str(llvmlite.binding.llvm_version_info)


def straight_function(text: str, name: str) -> Callable[[int], None]:
    """Compile a function ``(pointer)`` without loops.

    It is not optimised: for thousands of operations that takes ten times as long as compiling, and
    they run no faster. The text may call the functions of ``LIBRARY``, as ``@library.exp``.
    """
    llvm = _llvmlite().binding
    with _compiling:
        _add_library()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), target_machine(0))
        straight: Callable[[int], None] = _finished(_QUICK_PROTOTYPE, engine, name)
        return straight


def target_machine(level: int) -> Any:
    """A new target machine, as the engine that compiles for it also frees it."""
    llvm = _llvmlite().binding
    host = _host()
    triple = llvm.Target.from_default_triple()
    return triple.create_target_machine(cpu=host.name, features=host.features, opt=level)


@cache
def _add_library() -> None:
    llvm = _llvmlite().binding
    for name in LIBRARY:
        llvm.add_symbol(f"library.{name}", library(name))


@cache
def library(name: str) -> int:
    """The address of one of the functions of ``LIBRARY``."""
    found = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    place = ctypes.cast(getattr(found, name), ctypes.c_void_p).value
    assert place is not None, "it is loaded"
    return place
