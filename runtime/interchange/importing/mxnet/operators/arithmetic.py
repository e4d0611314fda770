"""Arithmetic of two values, or of a value and a number, and comparisons, which give 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.interchange.importing.meanings.elementwise import hypotenuse
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

Function: TypeAlias = "Callable[[Staged, Staged], Staged]"
_BLOCKS = {
    "add": "Add", "plus": "Add", "sub": "Sub", "minus": "Sub", "mul": "Mul", "div": "Div",
    "power": "Pow", "mod": "Mod", "maximum": "Maximum", "minimum": "Minimum",
}  # fmt: skip
_COMPARISONS = {
    "equal": "Equal", "not_equal": "NotEqual", "greater": "Greater", "lesser": "Less",
    "greater_equal": "GreaterEqual", "lesser_equal": "LessEqual",
}  # fmt: skip
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_LEGACY = ("Plus", "Minus", "Mul", "Div", "Power", "Maximum", "Minimum", "Mod")
_SWAPPED = ("Sub", "Div", "Pow", "Mod")


def _pair(function: Function) -> Operator:
    return lambda call: function(call.x(0), call.x(1))


def _with_number(function: Function, swapped: bool = False) -> Operator:
    def apply(call: MXNetCall) -> Staged:
        x = call.x()
        number = x.like(call.attributes.number("scalar"))
        return function(number, x) if swapped else function(x, number)

    return apply


def _truth(kind: str, logic: bool = False) -> Function:
    """A comparison, or logic of what is not 0, as 0 and 1 in the dtype of the first input."""

    def compare(a: Staged, b: Staged) -> Staged:
        given = [put("NotEqual", x, x.like(0)) if logic else x for x in (a, b)]
        return a.stage.cast(a.stage.block(kind, *given), a.dtype)

    return compare


def _named() -> tuple[dict[str, Operator], dict[str, Operator]]:
    """The operators of equal shapes and numbers, and those that broadcast."""
    functions = {name: _truth(kind) for name, kind in _COMPARISONS.items()}
    functions |= {name: partial(put, kind) for name, kind in _BLOCKS.items()}
    pairs = {**functions, **{name: _truth(kind, logic=True) for name, kind in _LOGIC.items()}}
    pairs["hypot"] = hypotenuse
    keeping = {f"_{name}": _pair(function) for name, function in pairs.items()}
    keeping |= {f"_{name}_scalar": _with_number(f) for name, f in functions.items()}
    keeping |= {f"elemwise_{name}": keeping[f"_{name}"] for name in _BLOCKS}
    for old in _LEGACY:
        function = functions[old.lower()]
        keeping |= {f"_{old}": _pair(function), f"_{old}Scalar": _with_number(function)}
    for name, kind in _BLOCKS.items():
        if kind in _SWAPPED:
            keeping[f"_r{name}_scalar"] = _with_number(functions[name], swapped=True)
            if name.capitalize() in _LEGACY:
                keeping[f"_R{name.capitalize()}Scalar"] = keeping[f"_r{name}_scalar"]
    return keeping, {f"broadcast_{name}": _pair(function) for name, function in pairs.items()}


_keeping, _broadcasting = _named()
_keeping |= dict.fromkeys(
    ("add_n", "ElementWiseSum", "_sum"), lambda call: call.stage.block("AddN", *call.all())
)
OPERATORS: dict[str, Operator] = _keeping | _broadcasting
KEEPING = tuple(_keeping)
BROADCASTING = tuple(_broadcasting)
