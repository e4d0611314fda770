"""The compiler: LLVM, as llvmlite brings it. Imported when the first kernel is compiled."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

_OLDEST = (0, 45)
"""The first llvmlite that has the pass manager used here."""

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)


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

    name_of_host, features, _ = _host()
    # An engine frees the machine that it compiled for: each has one of its own.
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=name_of_host, features=features, opt=2)
    module = llvm.parse_assembly(text)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return _PROTOTYPE(engine.get_function_address(name)), engine
