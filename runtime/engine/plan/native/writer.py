"""Writes LLVM instructions on one element as text."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

TYPES = {"float32": "float", "float64": "double", "bool": "i1"}
"""LLVM's type of an element in a register, by dtype."""

STORED = {"float32": ("float", 4), "float64": ("double", 8), "bool": ("i8", 1), "int32": ("i32", 4),
          "int64": ("i64", 8)}  # fmt: skip
"""LLVM's type of an element in memory, and its bytes, by dtype."""

SUFFIXES = {"float32": "f32", "float64": "f64"}
"""What LLVM appends to the names of functions, by dtype."""


class Writer:
    """Appends instructions; each method returns the name of its result."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    def put(self, text: str) -> str:
        """Append an instruction that has a result."""
        self._count += 1
        self.lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def call(self, name: str, dtype: str, *operands: str) -> str:
        """Call an intrinsic function of floats."""
        kind = TYPES[dtype]
        full = f"@llvm.{name}.{SUFFIXES[dtype]}"
        self.declared.add(f"declare {kind} {full}({', '.join([kind] * len(operands))})")
        return self.put(f"call {kind} {full}({', '.join(f'{kind} {x}' for x in operands)})")

    def compare(self, predicate: str, dtype: str, a: str, b: str) -> str:
        """Compare two floats; ``predicate`` is one of fcmp's, such as "olt"."""
        return self.put(f"fcmp {predicate} {TYPES[dtype]} {a}, {b}")

    def choose(self, condition: str, dtype: str, a: str, b: str) -> str:
        """Select ``a`` where the condition holds, else ``b``."""
        kind = TYPES[dtype]
        return self.put(f"select i1 {condition}, {kind} {a}, {kind} {b}")


def number(x: float, dtype: str) -> str:
    """A constant in LLVM's notation: the bits of the number, rounded to the dtype, as float64."""
    with np.errstate(all="ignore"):
        exact = float(np.dtype(dtype).type(x))
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def _is_number(name: str) -> bool:
    """Whether it is a constant that is not NaN."""
    if not name.startswith("0x"):
        return False
    (found,) = struct.unpack("<d", int(name, 16).to_bytes(8, "little"))
    return bool(found == found)


def _extreme(predicate: str) -> Callable[..., str]:
    """``a`` where the predicate holds or it is NaN, else ``b``, so NaN wins on either side."""

    def emit(w: Writer, dtype: str, a: str, b: str) -> str:
        if _is_number(b):  # one comparison says both
            return w.choose(w.compare(f"u{predicate[1:]}", dtype, a, b), dtype, a, b)
        wins, is_nan = w.compare(predicate, dtype, a, b), w.compare("uno", dtype, a, a)
        return w.choose(w.put(f"or i1 {wins}, {is_nan}"), dtype, a, b)

    return emit


maximum, minimum = _extreme("ogt"), _extreme("olt")
