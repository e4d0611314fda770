"""LLVM instructions for primitives, and for expressions as their rows spell them, on one element of
the vectorised loop; and regions of scalars as one straight line of machine code.

Arithmetic, comparisons, roots and rounding follow IEEE 754 as numpy does, so results are equal bit
for bit, except that the larger of 0 and −0 may be either. For functions such as exp see the error
bounds in ``functions``. Those of scalars are of the C library in float64, rounded to the dtype:
results equal those of the Python function that ``gradwire.runtime.engine.plan.passes.scalars``
writes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.plugins import is_own
from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.namespace import primitives
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.functions import FUNCTIONS
from gradwire.runtime.engine.plan.native.writer import (
    STORED,
    SUFFIXES,
    TYPES,
    Writer,
    maximum,
    minimum,
    number,
)

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.value import Primitive


class Operation(NamedTuple):
    """One primitive; ``operands`` are numbers that count the region's operands, then operations."""

    name: str
    dtype: str
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Hashable], ...] = ()


INTRINSICS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil"}
"""Functions that LLVM has for all floats."""
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv",
    ast.Eq: "oeq", ast.NotEq: "une", ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge",
}  # fmt: skip
_KNOWN = (ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.USub, ast.IfExp,
          ast.Compare, ast.Call, *_OPERATORS)  # fmt: skip


@cache
def functions(text: str) -> frozenset[str] | None:
    """The functions that an expression calls; None where it has more than there are instructions
    for, or names more than its inputs.
    """
    nodes = list(ast.walk(ast.parse(text, mode="eval").body))
    tests = {node.test for node in nodes if isinstance(node, ast.IfExp)}
    compared = {node for node in nodes if isinstance(node, ast.Compare)}
    is_known = tests == compared and all(len(node.ops) == 1 for node in compared)
    if not is_known or not all(isinstance(node, _KNOWN) for node in nodes):
        return None
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and node not in called}
    return frozenset(map(ast.unparse, called)) if read <= {*"abc"} else None


def emit_expression(
    w: Writer, text: str, dtype: str, operands: Sequence[str], call: Callable[..., str]
) -> str:
    """The instructions for an expression of floats that ``functions`` knows; those that are no
    intrinsics are called by ``call(w, name, *operands)``.
    """
    known, kind = dict(zip("abc", operands, strict=False)), TYPES[dtype]

    def value(node: ast.expr) -> str:
        match node:
            case ast.Name():
                return known[node.id]
            case ast.Constant():
                return number(ast.literal_eval(node), dtype)
            case ast.UnaryOp():
                return w.put(f"fneg {kind} {value(node.operand)}")
            case ast.BinOp():
                left, right = value(node.left), value(node.right)
                return w.put(f"{_OPERATORS[type(node.op)]} {kind} {left}, {right}")
            case ast.Compare():
                left, right = value(node.left), value(node.comparators[0])
                return w.compare(_OPERATORS[type(node.ops[0])], dtype, left, right)
            case ast.IfExp():
                return w.choose(value(node.test), dtype, value(node.body), value(node.orelse))
            case ast.Call():
                name, given = ast.unparse(node.func), list(map(value, node.args))
                if name in INTRINSICS:
                    return w.call(INTRINSICS[name], dtype, *given)
                return call(w, name, *given)
        raise AssertionError(f"{ast.dump(node)} is unknown")

    return value(ast.parse(text, mode="eval").body)


_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_INTRINSICS = INTRINSICS | {"round": "rint"}
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_COMPARISONS = {
    "equal": "oeq",
    "not_equal": "une",
    "less": "olt",
    "less_equal": "ole",
    "greater": "ogt",
    "greater_equal": "oge",
}


def _relu(w: Writer, dtype: str, x: str) -> str:
    return maximum(w, dtype, x, number(0, dtype))


def _sign(w: Writer, dtype: str, x: str) -> str:
    zero, one, minus = (number(n, dtype) for n in (0, 1, -1))
    above = w.choose(w.compare("ogt", dtype, x, zero), dtype, one, zero)
    either = w.choose(w.compare("olt", dtype, x, zero), dtype, minus, above)
    return w.choose(w.compare("uno", dtype, x, x), dtype, x, either)


def _clip(w: Writer, dtype: str, x: str, *, lo: float | None, hi: float | None) -> str:
    if lo is not None:
        x = maximum(w, dtype, x, number(lo, dtype))
    return x if hi is None else minimum(w, dtype, x, number(hi, dtype))


_FLOATS: dict[str, Callable[..., str]] = {
    "negative": lambda w, dtype, x: w.put(f"fneg {TYPES[dtype]} {x}"),
    "square": lambda w, dtype, x: w.put(f"fmul {TYPES[dtype]} {x}, {x}"),
    "maximum": maximum,
    "minimum": minimum,
    "relu": _relu,
    "sign": _sign,
    "clip": _clip,
}
"""Instructions from floats to a float of the same dtype, by primitive."""


def _call(w: Writer, name: str, *operands: str) -> str:
    return FUNCTIONS[name](w, *operands)


def _cast(w: Writer, given: str, dtype: str, x: str) -> str:
    if given == dtype:
        return x
    if dtype == "bool":
        return w.compare("une", given, x, number(0, given))
    if given == "bool":
        return w.choose(x, dtype, number(1, dtype), number(0, dtype))
    how = "fpext" if dtype == "float64" else "fptrunc"
    return w.put(f"{how} {TYPES[given]} {x} to {TYPES[dtype]}")


def native_name(primitive: Primitive) -> str:
    """What machine code knows a primitive by: a plug-in's by the expression that it computes."""
    return primitive.name if is_own(primitive.kernel) else primitive.spelling.scalar or ""


def compiles(value: Value, inputs: Sequence[Value], operation: Primitive | None = None) -> bool:
    """Whether there are instructions for a value computed from these inputs, by its primitive or
    by this one.
    """
    name = native_name(operation or value.primitive)
    return _compiles(name, value.dtype, *[x.dtype for x in inputs])


@cache
def _compiles(name: str, dtype: str, *dtypes: str) -> bool:
    if dtype not in TYPES or any(given not in TYPES for given in dtypes):
        return False
    if name in ("cast", "where"):
        return True
    if name in _LOGIC or name == "logical_not":
        return dtypes[0] == "bool"
    if name in _COMPARISONS or name in ("isnan", "isfinite"):
        return dtypes[0] != "bool"
    if name in FUNCTIONS:
        return dtype == "float32"
    if not name.isidentifier():
        called = functions(name) if name and {dtype, *dtypes} <= SUFFIXES.keys() else None
        known = INTRINSICS.keys() | (FUNCTIONS if dtype == "float32" else ())
        return called is not None and {dtype} == {*dtypes} and called <= known
    return dtype != "bool" and any(name in t for t in (_ARITHMETIC, _INTRINSICS, _FLOATS))


def emit(
    w: Writer,
    name: str,
    dtype: str,
    given: Sequence[str],
    operands: Sequence[str],
    attributes: Mapping[str, Any],
) -> str:
    """The instructions for a primitive that ``compiles``; ``given`` are its inputs' dtypes."""
    if name in _ARITHMETIC:
        return w.put(f"{_ARITHMETIC[name]} {TYPES[dtype]} {', '.join(operands)}")
    if name in _INTRINSICS:
        return w.call(_INTRINSICS[name], dtype, *operands)
    if name in _COMPARISONS:
        return w.compare(_COMPARISONS[name], given[0], *operands)
    if name in _LOGIC:
        return w.put(f"{_LOGIC[name]} i1 {', '.join(operands)}")
    if name == "logical_not":
        return w.put(f"xor i1 {operands[0]}, true")
    if name == "isnan":
        return w.compare("uno", given[0], operands[0], operands[0])
    if name == "isfinite":
        size = w.call("fabs", given[0], operands[0])
        return w.compare("olt", given[0], size, number(np.inf, given[0]))
    if name == "where":
        return w.choose(operands[0], dtype, *operands[1:])
    if name == "cast":
        return _cast(w, given[0], dtype, operands[0])
    if name in FUNCTIONS:
        return FUNCTIONS[name](w, *operands, **attributes)
    if not name.isidentifier():
        return emit_expression(w, name, dtype, operands, _call)
    return _FLOATS[name](w, dtype, *operands, **attributes)


_WIDE = "float64"


def _called(w: Writer, name: str, *operands: str) -> str:
    w.declared.add(f"declare double @library.{name}({', '.join(['double'] * len(operands))})")
    return w.put(f"call double @library.{name}({', '.join(f'double {x}' for x in operands)})")


_OF_LIBRARY = {
    primitive.name: primitive.spelling.scalar
    for primitive in primitives()
    if primitive.transcendental and primitive.spelling.scalar
}
"""The expressions of functions, computed in float64."""


def compiles_straight(value: Value, inputs: Sequence[Value]) -> bool:
    """Whether there are instructions for a scalar computed from these inputs."""
    name = native_name(value.primitive)
    text = _OF_LIBRARY.get(name, name)
    if not text.isidentifier():
        called = functions(text) if text else None
        is_float = value.dtype in STORED and value.dtype in FLOATS
        is_float &= all(x.dtype == value.dtype for x in inputs)
        return is_float and called is not None and called <= machine.LIBRARY | INTRINSICS.keys()
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
        if name in _OF_LIBRARY or not name.isidentifier():
            names.append(_rounded(w, name, dtype, inputs))
        else:
            names.append(emit(w, name, dtype, given, inputs, dict(attributes)))
    for place, i in enumerate(line.results, start=len(line.operands)):
        _store(w, place, names[i], dtypes[i])
    head = "define void @region(ptr %frame) nounwind {"
    return "\n".join([*sorted(w.declared), head, *w.lines, "ret void", "}"])


def _rounded(w: Writer, name: str, dtype: str, inputs: Sequence[str]) -> str:
    text = _OF_LIBRARY.get(name, name)
    if dtype == _WIDE:
        return emit_expression(w, text, _WIDE, inputs, _called)
    wide = [w.put(f"fpext float {x} to double") for x in inputs]
    return w.put(f"fptrunc double {emit_expression(w, text, _WIDE, wide, _called)} to float")


def _place(w: Writer, place: int) -> str:
    return w.put(f"load ptr, ptr {w.put(f'getelementptr ptr, ptr %frame, i64 {place}')}")


def _load(w: Writer, place: int, dtype: str) -> str:
    loaded = w.put(f"load {STORED[dtype][0]}, ptr {_place(w, place)}")
    return w.put(f"icmp ne i8 {loaded}, 0") if dtype == "bool" else loaded


def _store(w: Writer, place: int, name: str, dtype: str) -> None:
    if dtype == "bool":
        name = w.put(f"zext i1 {name} to i8")
    w.lines.append(f"store {STORED[dtype][0]} {name}, ptr {_place(w, place)}")
