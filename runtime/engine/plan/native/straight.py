"""Compiles a region of scalars to one straight line of machine code.

Functions are those of the C library in float64, rounded to the dtype: results equal those of the
Python function that ``gradwire.runtime.engine.plan.passes.scalars`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.namespace import primitives
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.functions.singles import FUNCTIONS
from gradwire.runtime.engine.plan.native.operations import (
    INTRINSICS,
    compiles,
    emit,
    emit_expression,
    functions,
    native_name,
)
from gradwire.runtime.engine.plan.native.writer import STORED, Writer

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native.kernels import Operation

_WIDE = "float64"


def _call(w: Writer, name: str, *operands: str) -> str:
    w.declared.add(f"declare double @library.{name}({', '.join(['double'] * len(operands))})")
    return w.put(f"call double @library.{name}({', '.join(f'double {x}' for x in operands)})")


_FUNCTIONS = {
    primitive.name: primitive.spelling.scalar
    for primitive in primitives()
    if primitive.transcendental and primitive.spelling.scalar
}
"""The expressions of functions, computed in float64."""


def compiles_straight(value: Value, inputs: Sequence[Value]) -> bool:
    """Whether there are instructions for a scalar computed from these inputs."""
    name = native_name(value.primitive)
    text = _FUNCTIONS.get(name, name)
    if not text.isidentifier():
        called = functions(text) if text else None
        is_float = value.dtype in STORED and value.dtype in FLOATS
        is_float &= all(x.dtype == value.dtype for x in inputs)
        return is_float and called is not None and called <= machine.LIBRARY.keys() | INTRINSICS
    return compiles(value, inputs) and name not in FUNCTIONS


class Line(NamedTuple):
    """What is computed of scalars of these dtypes, and the numbers of the results, which count
    operands and then operations.
    """

    operands: tuple[str, ...]
    operations: tuple[Operation, ...]
    results: tuple[int, ...]


@lru_cache(maxsize=64)
def compiled_straight(line: Line) -> Callable[[int], None]:
    """What computes it once; compiling takes ten microseconds per operation.

    It is given the address of a frame: of the addresses of all operands and then of all results,
    which must not overlap the operands.
    """
    return machine.straight_function(_text(line), "region")


def _text(line: Line) -> str:
    dtypes = [*line.operands, *(x.dtype for x in line.operations)]
    w = Writer()
    names = [_load(w, place, dtype) for place, dtype in enumerate(line.operands)]
    for name, dtype, operands, attributes in line.operations:
        given, inputs = [dtypes[i] for i in operands], [names[i] for i in operands]
        if name in _FUNCTIONS or not name.isidentifier():
            names.append(_rounded(w, name, dtype, inputs))
        else:
            names.append(emit(w, name, dtype, given, inputs, dict(attributes)))
    for place, i in enumerate(line.results, start=len(line.operands)):
        _store(w, place, names[i], dtypes[i])
    head = "define void @region(ptr %frame) nounwind {"
    return "\n".join([*sorted(w.declared), head, *w.lines, "ret void", "}"])


def _rounded(w: Writer, name: str, dtype: str, inputs: Sequence[str]) -> str:
    text = _FUNCTIONS.get(name, name)
    if dtype == _WIDE:
        return emit_expression(w, text, _WIDE, inputs, _call)
    wide = [w.put(f"fpext float {x} to double") for x in inputs]
    return w.put(f"fptrunc double {emit_expression(w, text, _WIDE, wide, _call)} to float")


def _place(w: Writer, place: int) -> str:
    return w.put(f"load ptr, ptr {w.put(f'getelementptr ptr, ptr %frame, i64 {place}')}")


def _load(w: Writer, place: int, dtype: str) -> str:
    loaded = w.put(f"load {STORED[dtype][0]}, ptr {_place(w, place)}")
    return w.put(f"icmp ne i8 {loaded}, 0") if dtype == "bool" else loaded


def _store(w: Writer, place: int, name: str, dtype: str) -> None:
    if dtype == "bool":
        name = w.put(f"zext i1 {name} to i8")
    w.lines.append(f"store {STORED[dtype][0]} {name}, ptr {_place(w, place)}")
