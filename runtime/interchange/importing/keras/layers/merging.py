"""Layers of several inputs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings.elementwise import fold
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_FOLDED = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Maximum", "Minimum": "Minimum",
}  # fmt: skip


def _values(call: LayerCall) -> tuple[list[Staged], bool]:
    """The inputs, with channels first where that is known of all of them."""
    given = call.xs()
    known = [call.layouts.known(x) for x in given]
    first = [x for x in known if x is not None]
    return (first, True) if len(first) == len(given) else (given, False)


def _folded(kind: str, call: LayerCall) -> Staged:
    """All inputs, one after the other."""
    values, first = _values(call)
    return call.layouts.last(fold(kind, values)) if first else fold(kind, values)


def _average(call: LayerCall) -> Staged:
    values = call.xs()
    return call.stage.block("AddN", *values) * (1 / len(values))


def _concatenate(call: LayerCall) -> Staged:
    values, first = _values(call)
    axis = call.config.whole("axis", -1) % values[0].ndim
    if not first:
        return call.stage.block("Concat", *values, axis=axis)
    last = values[0].ndim - 1
    place = 0 if axis == 0 else 1 if axis == last else axis + 1
    return call.layouts.last(call.stage.block("Concat", *values, axis=place))


def _dot(call: LayerCall) -> Staged:
    """The sum of products along one axis of each; only of matrices and vectors."""
    a, b = call.xs()
    axes = call.config.wholes("axes", 2)
    one, other = axes[0] % a.ndim, axes[1] % b.ndim
    if call.config.flag("normalize", False) or a.ndim > 3 or b.ndim > 3 or not one or not other:
        raise call.unsupported("it normalises, or has too many axes")
    left, right = list("bij"[: a.ndim]), list("bkl"[: b.ndim])
    left[one] = right[other] = "s"
    out = "b" + "".join(c for c in left[1:] + right[1:] if c != "s")
    product = put("Einsum", a, b, subscripts=f"{''.join(left)},{''.join(right)}->{out}")
    return call.stage.reshape(product, (*product.shape, 1)) if product.ndim == 1 else product


LAYERS: dict[str, Operator] = {
    **{name: partial(_folded, kind) for name, kind in _FOLDED.items()},
    "Average": _average, "Concatenate": _concatenate, "Dot": _dot,
}  # fmt: skip
