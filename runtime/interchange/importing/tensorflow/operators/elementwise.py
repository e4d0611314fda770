"""Arithmetic and functions of elements, and choices between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.meanings.indexing import one_hot
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall

_BLOCKS = {
    "Abs": "Abs", "Acos": "Arccos", "Acosh": "Arccosh", "Asin": "Arcsin", "Asinh": "Arcsinh",
    "Atan": "Arctan", "Atanh": "Arctanh", "Cos": "Cos", "Cosh": "Cosh", "Elu": "Elu",
    "Erf": "Erf", "Exp": "Exp", "Expm1": "Expm1", "IsFinite": "IsFinite", "IsInf": "IsInf",
    "IsNan": "IsNaN", "Log": "Log", "Log1p": "Log1p", "LogicalNot": "Not", "Neg": "Neg",
    "Relu": "Relu", "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh",
    "Softplus": "Softplus", "Sqrt": "Sqrt", "Square": "Square", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
_STEPS = {"Ceil": "Ceil", "Floor": "Floor", "Rint": "Round", "Round": "Round"}
"""Steps, through which TensorFlow sends no gradient at all."""
_PAIRS = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "Div": "Div",
    "Maximum": "Maximum", "Minimum": "Minimum", "Pow": "Pow", "Atan2": "Arctan2",
    "FloorMod": "Mod", "Greater": "Greater", "GreaterEqual": "GreaterEqual", "Less": "Less",
    "LessEqual": "LessEqual", "Equal": "Equal", "NotEqual": "NotEqual", "LogicalAnd": "And",
    "LogicalOr": "Or",
}  # fmt: skip


def one(function: Callable[..., Staged], *given: Any) -> Operator:
    """The row of a function of one input."""
    return lambda call: function(*given, call.x())


def two(function: Callable[..., Staged], *given: Any, **more: Any) -> Operator:
    """The row of a function of two inputs."""
    return lambda call: function(*given, call.x(0), call.x(1), **more)


def _step(kind: str, call: TensorFlowCall) -> Staged:
    x = call.x()
    if not x.is_float or x.array is not None:
        return put(kind, x)
    stopped = put("StopGradient", x, name=f"before_{call.name}")
    call.stage.remark("cut", f"{call.node.operator} sends no gradient in TensorFlow.", stopped)
    return put(kind, stopped)


def _safe_division(a: Staged, b: Staged) -> Staged:
    """``a / b``, and 0 where b is 0, with no gradient there."""
    zero = put("Equal", b, b.like(0))
    quotient = a / put("Where", zero, b.like(1), b)
    return put("Where", zero, quotient.like(0), quotient)


def _safe_product(a: Staged, b: Staged) -> Staged:
    """``a * b``, and 0 where b is 0 whatever a is."""
    zero = put("Equal", b, b.like(0))
    product = put("Where", zero, a.like(0), a) * b
    return put("Where", zero, product.like(0), product)


def _xlogy(x: Staged, y: Staged) -> Staged:
    """``x * log(y)``, and 0 where x is 0."""
    safe = put("Where", put("Equal", x, x.like(0)), y.like(1), y)
    return x * put("Log", safe)


def _select(call: TensorFlowCall) -> Staged:
    condition, a, b = call.xs(3)
    if call.node.operator == "Select" and condition.ndim == 1 < a.ndim:
        condition = call.stage.reshape(condition, (condition.size, *(1,) * (a.ndim - 1)))
    return put("Where", condition, a, b)


OPERATORS: dict[str, Operator] = {
    **{name: one(put, kind) for name, kind in _BLOCKS.items()},
    **{name: partial(_step, kind) for name, kind in _STEPS.items()},
    **{name: two(put, kind) for name, kind in _PAIRS.items()},
    **{f"Bitwise{op.capitalize()}": two(put, "Bits", op=op) for op in ("and", "or", "xor")},
    "Rsqrt": one(lambda x: 1.0 / put("Sqrt", x)),
    **dict.fromkeys(("Reciprocal", "Inv"), one(lambda x: 1.0 / x)),
    "SquaredDifference": two(lambda a, b: put("Square", a - b)),
    "DivNoNan": two(_safe_division), "MulNoNan": two(_safe_product), "Xlogy": two(_xlogy),
    "FloorDiv": two(partial(el.quotient, down=True)),
    "Relu6": one(act.relu6), "Selu": one(act.selu), "Softsign": one(act.softsign),
    "LeakyRelu": lambda c: put("LeakyRelu", c.x(), slope=c.attributes.number("alpha", 0.2)),
    "Erfc": one(lambda x: 1.0 - put("Erf", x)),
    "AddN": lambda c: c.stage.block("AddN", *c.xs()),
    "Cast": lambda c: c.stage.cast(c.x(), c.attributes.dtype("DstT")),
    **dict.fromkeys(("Select", "SelectV2"), _select),
    "OneHot": lambda c: one_hot(
        c.x(0), c.whole(1), c.x(2).dtype, c.attributes.whole("axis", -1), c.x(2), c.x(3)
    ),
    "Softmax": one(partial(put, "Softmax", axis=-1)),
    "LogSoftmax": one(partial(put, "LogSoftmax", axis=-1)),
    "ClipByValue": lambda c: el.clip(*c.xs(3)),
}  # fmt: skip
