"""Compiles a region of scalars to one straight line of machine code.

Functions are those of the C library in float64, rounded to the dtype: results equal those of the
Python function that ``gradwire.runtime.engine.plan.passes.scalar.scalar_code`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.functions.singles import FUNCTIONS
from gradwire.runtime.engine.plan.native.loops import STORED_TYPES, Kernel, Recipe
from gradwire.runtime.engine.plan.native.operations import compiles, emit
from gradwire.runtime.engine.plan.native.writer import Writer, maximum, number

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

_WIDE = "float64"


def _call(name: str) -> Callable[..., str]:
    def call(w: Writer, *operands: str) -> str:
        w.declared.add(f"declare double @library.{name}({', '.join(['double'] * len(operands))})")
        return w.put(f"call double @library.{name}({', '.join(f'double {x}' for x in operands)})")

    return call


def _power(w: Writer, a: str, b: str) -> str:
    """``aᵇ``; the square root where b is ½, as in numpy's kernel."""
    half = w.compare("oeq", _WIDE, b, number(0.5, _WIDE))
    return w.choose(half, _WIDE, w.call("sqrt", _WIDE, a), _call("pow")(w, a, b))


def _sigmoid(w: Writer, x: str) -> str:
    growth = _call("exp")(w, w.put(f"fneg double {x}"))
    below = w.put(f"fadd double {growth}, {number(1, _WIDE)}")
    return w.put(f"fdiv double {number(1, _WIDE)}, {below}")


def _softplus(w: Writer, x: str) -> str:
    away = w.put(f"fneg double {w.call('fabs', _WIDE, x)}")
    near = _call("log1p")(w, _call("exp")(w, away))
    return w.put(f"fadd double {near}, {maximum(w, _WIDE, x, number(0, _WIDE))}")


_IN_FLOAT64: dict[str, Callable[..., str]] = {
    **{name: _call(name) for name in machine.LIBRARY},
    "arctan2": _call("atan2"),
    "power": _power,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
}
"""Functions of float64 that return float64, by primitive."""


def compiles_straight(value: Value, inputs: Sequence[Value]) -> bool:
    """Whether there are instructions for a scalar computed from these inputs."""
    name = value.primitive.name
    if name in _IN_FLOAT64:
        return value.dtype in STORED_TYPES and value.dtype in FLOATS
    return compiles(value, inputs) and name not in FUNCTIONS


@lru_cache(maxsize=64)
def compiled_straight(recipe: Recipe) -> Kernel:
    """The kernel of a recipe; compiling takes ten microseconds per operation.

    ``call(frame)`` computes it once. ``frame`` points to the addresses of all operands and then of
    all results, which must not overlap the operands.
    """
    return Kernel(*machine.straight_function(_text(recipe), "region"))


def _text(recipe: Recipe) -> str:
    dtypes = [x.dtype for x in recipe.operands] + [x.dtype for x in recipe.operations]
    w = Writer()
    names = [_load(w, place, x.dtype) for place, x in enumerate(recipe.operands)]
    for name, dtype, operands, attributes in recipe.operations:
        given, inputs = [dtypes[i] for i in operands], [names[i] for i in operands]
        if name in _IN_FLOAT64:
            names.append(_rounded(w, name, dtype, inputs))
        else:
            names.append(emit(w, name, dtype, given, inputs, dict(attributes)))
    for place, i in enumerate(recipe.results, start=len(recipe.operands)):
        _store(w, place, names[i], dtypes[i])
    head = "define void @region(ptr %frame) nounwind {"
    return "\n".join([*sorted(w.declared), head, *w.lines, "ret void", "}"])


def _rounded(w: Writer, name: str, dtype: str, inputs: Sequence[str]) -> str:
    if dtype == _WIDE:
        return _IN_FLOAT64[name](w, *inputs)
    wide = [w.put(f"fpext float {x} to double") for x in inputs]
    return w.put(f"fptrunc double {_IN_FLOAT64[name](w, *wide)} to float")


def _place(w: Writer, place: int) -> str:
    return w.put(f"load ptr, ptr {w.put(f'getelementptr ptr, ptr %frame, i64 {place}')}")


def _load(w: Writer, place: int, dtype: str) -> str:
    loaded = w.put(f"load {STORED_TYPES[dtype]}, ptr {_place(w, place)}")
    return w.put(f"icmp ne i8 {loaded}, 0") if dtype == "bool" else loaded


def _store(w: Writer, place: int, name: str, dtype: str) -> None:
    if dtype == "bool":
        name = w.put(f"zext i1 {name} to i8")
    w.lines.append(f"store {STORED_TYPES[dtype]} {name}, ptr {_place(w, place)}")
