"""Values that depend on no numbers: constants, shapes and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.tensorflow.items import Strings
from gradwire.runtime.interchange.importing.tensorflow.tensors import STRING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item


def constant(call: TensorFlowCall) -> Item:
    """The numbers, or strings, of a Const."""
    if call.attributes.tensor_dtype("value") == STRING:
        return Strings(call.attributes.texts("value"))
    return call.stage.constant(call.attributes.array("value"))


def _shape(call: TensorFlowCall) -> Staged:
    dtype = call.attributes.dtype("out_type") if "out_type" in call.attributes else "int32"
    return call.stage.constant(np.asarray(call.x().shape, dtype))


def _shapes(call: TensorFlowCall) -> tuple[Item, ...]:
    return tuple(call.stage.constant(np.asarray(x.shape, np.int32)) for x in call.xs())


def _fill(call: TensorFlowCall) -> Staged:
    shape, value = call.shape(0), call.x(1)
    if value.array is not None and np.prod(shape, dtype=object) > MAX_CONSTANT:
        raise call.unsupported(f"it makes an array of shape {shape}")
    return call.stage.broadcast(value, shape)


def _like(number: int) -> Operator:
    def fill(call: TensorFlowCall) -> Staged:
        x = call.x()
        if x.size > MAX_CONSTANT:
            raise call.unsupported(f"it makes an array of shape {x.shape}")
        return call.stage.constant(np.full(x.shape, number, x.dtype))

    return fill


def _range(call: TensorFlowCall) -> Staged:
    start, stop, step = (call.numbers(number).item() for number in range(3))
    if step == 0 or abs((stop - start) / step) > MAX_CONSTANT:
        raise call.unsupported(f"it goes from {start} to {stop} by {step}")
    return call.stage.constant(np.arange(start, stop, step).astype(call.x().dtype))


def _spaced(call: TensorFlowCall) -> Staged:
    start, stop = (call.numbers(number).item() for number in range(2))
    count = call.whole(2)
    if not 0 < count <= MAX_CONSTANT:
        raise call.unsupported(f"it makes {count} numbers")
    return call.stage.constant(np.linspace(start, stop, count).astype(call.x().dtype))


OPERATORS: dict[str, Operator] = {
    "Const": constant, "Shape": _shape, "ShapeN": _shapes,
    "Size": lambda call: call.stage.constant(np.asarray(call.x().size, np.int32)),
    "Rank": lambda call: call.stage.constant(np.asarray(call.x().ndim, np.int32)),
    "Fill": _fill, "ZerosLike": _like(0), "OnesLike": _like(1), "Range": _range,
    "LinSpace": _spaced,
}  # fmt: skip
