"""Arithmetic of two values, or of a value and a number, and comparisons, which give 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "power": "Pow", "mod": "Mod",
    "maximum": "Maximum", "minimum": "Minimum",
}  # fmt: skip
_COMPARISONS = {
    "equal": "Equal", "not_equal": "NotEqual", "greater": "Greater", "lesser": "Less",
    "greater_equal": "GreaterEqual", "lesser_equal": "LessEqual",
}  # fmt: skip
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_OTHER_NAMES = {"add": ("plus",), "sub": ("minus",)}
_LEGACY = {
    "add": "Plus", "sub": "Minus", "mul": "Mul", "div": "Div", "power": "Power",
    "maximum": "Maximum", "minimum": "Minimum", "mod": "Mod",
}  # fmt: skip
_SWAPPED = ("sub", "div", "power", "mod")


def _pair(kind: str) -> Operator:
    return lambda call: call.block(kind, call.x(0), call.x(1))


def _truth(kind: str, of: str = "") -> Operator:
    """A comparison, or logic of what is not 0, as 0 and 1 in the dtype of the first input."""

    def compare(call: Call) -> Staged:
        a, b = call.x(0), call.x(1)
        if of:
            a, b = (call.stage.block(of, x, x.like(0)) for x in (a, b))
        return call.stage.cast(call.block(kind, a, b), call.x(0).dtype)

    return compare


def _with_number(kind: str, swapped: bool = False) -> Operator:
    def apply(call: Call) -> Staged:
        x, number = _operands(call)
        return call.block(kind, number, x) if swapped else call.block(kind, x, number)

    return apply


def _number_truth(kind: str) -> Operator:
    def compare(call: Call) -> Staged:
        x, number = _operands(call)
        return call.stage.cast(call.block(kind, x, number), x.dtype)

    return compare


def _operands(call: Call) -> tuple[Staged, Staged]:
    x = call.x()
    return x, x.like(call.attributes.number("scalar"))


def _hypotenuse(call: Call) -> Staged:
    squares = [call.stage.block("Square", call.x(number)) for number in (0, 1)]
    return call.block("Sqrt", squares[0] + squares[1])


def _sum_of_all(call: Call) -> Staged:
    return call.block("AddN", *call.all())


def _named() -> tuple[dict[str, Operator], dict[str, Operator]]:
    """The operators of equal shapes and numbers, and those that broadcast."""
    keeping: dict[str, Operator] = {}
    broadcasting: dict[str, Operator] = {}
    for name, kind in _BLOCKS.items():
        for short in (name, *_OTHER_NAMES.get(name, ())):
            keeping |= {f"elemwise_{short}": _pair(kind), f"_{short}": _pair(kind)}
            keeping[f"_{short}_scalar"] = _with_number(kind)
            broadcasting[f"broadcast_{short}"] = _pair(kind)
            if name in _SWAPPED:
                keeping[f"_r{short}_scalar"] = _with_number(kind, swapped=True)
        old = _LEGACY[name]
        keeping |= {f"_{old}": _pair(kind), f"_{old}Scalar": _with_number(kind)}
        if name in _SWAPPED:
            keeping[f"_R{old}Scalar"] = _with_number(kind, swapped=True)
    for name, kind in _COMPARISONS.items():
        keeping |= {f"_{name}": _truth(kind), f"_{name}_scalar": _number_truth(kind)}
        broadcasting[f"broadcast_{name}"] = _truth(kind)
    for name, kind in _LOGIC.items():
        keeping[f"_{name}"] = _truth(kind, "NotEqual")
        broadcasting[f"broadcast_{name}"] = _truth(kind, "NotEqual")
    return keeping, broadcasting


_keeping, _broadcasting = _named()
_keeping |= dict.fromkeys(("add_n", "ElementWiseSum", "_sum"), _sum_of_all)
_keeping["_hypot"] = _hypotenuse
_broadcasting["broadcast_hypot"] = _hypotenuse
OPERATORS: dict[str, Operator] = _keeping | _broadcasting
KEEPING = tuple(_keeping)
BROADCASTING = tuple(_broadcasting)
