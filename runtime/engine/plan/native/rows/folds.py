"""Folds of a row to one element: what a loop over its columns carries from one to the next."""

from __future__ import annotations

from math import inf

from gradwire.runtime.engine.plan.native.writer import TYPES, Writer, number

_EITHER = {"any": ("or", "false"), "all": ("and", "true")}
_EXTREMES = {"max": ("maximum", -inf), "min": ("minimum", inf)}
FOLDS = frozenset({"sum", "squares", "top", "union", *_EITHER, *_EXTREMES})
"""Operations from a row to one element. Sums are added in float64; "top" is the largest element,
where NaN may be the least; "union" has the bits of all elements.
"""

_BITS = {"float32": ("i32", 31, 2**31 - 1), "float64": ("i64", 63, 2**63 - 1)}


def step(w: Writer, how: str, name: str, dtype: str, fold: str) -> tuple[str, str, str]:
    """The LLVM type of a fold, its start, and what it is after the element of this name."""
    if how in ("sum", "squares"):
        wide = name if dtype == "float64" else w.put(f"fpext {TYPES[dtype]} {name} to double")
        if how == "squares":
            wide = w.put(f"fmul double {wide}, {wide}")
        return "double", "0.0", w.put(f"fadd reassoc double {fold}, {wide}")
    if how in _EXTREMES:
        function, start = _EXTREMES[how]
        return TYPES[dtype], number(start, dtype), w.call(function, dtype, fold, name)
    if how in _EITHER:
        instruction, none = _EITHER[how]
        return "i1", none, w.put(f"{instruction} i1 {fold}, {name}")
    kind, sign, rest = _BITS[dtype]
    bits = w.put(f"bitcast {TYPES[dtype]} {name} to {kind}")
    if how == "union":
        return kind, "0", w.put(f"or {kind} {fold}, {bits}")
    flip = w.put(f"and {kind} {w.put(f'ashr {kind} {bits}, {sign}')}, {rest}")
    ordered = w.put(f"xor {kind} {bits}, {flip}")
    w.declared.add(f"declare {kind} @llvm.smax.{kind}({kind}, {kind})")
    more = w.put(f"call {kind} @llvm.smax.{kind}({kind} {fold}, {kind} {ordered})")
    return kind, str(-rest - 1), more


def ended(how: str, dtype: str, kind: str, fold: str, name: str) -> tuple[list[str], str]:
    """The instructions that make a finished fold an element of its dtype, and the name of that."""
    if how in ("top", "union"):
        bits, sign, rest = _BITS[dtype]
        if how == "union":
            return [f"{name} = bitcast {bits} {fold} to {TYPES[dtype]}"], name
        return [
            f"{name}.sign = ashr {bits} {fold}, {sign}",
            f"{name}.flip = and {bits} {name}.sign, {rest}",
            f"{name}.bits = xor {bits} {fold}, {name}.flip",
            f"{name} = bitcast {bits} {name}.bits to {TYPES[dtype]}",
        ], name
    if kind == "double" and dtype == "float32":
        return [f"{name} = fptrunc double {fold} to float"], name
    return [], fold
