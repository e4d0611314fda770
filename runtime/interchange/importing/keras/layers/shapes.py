"""The same numbers in other shapes. The batch is the first axis, and stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


def _flatten(call: LayerCall) -> Staged:
    x = call.x()
    return put("Flatten", x) if x.ndim > 1 else call.stage.reshape(x, (x.size, 1))


def _reshape(call: LayerCall) -> Staged:
    x = call.x()
    wanted: Any = call.config.list("target_shape")
    if not all(type(n) is int and -1 <= n < 2**40 for n in wanted) or wanted.count(-1) > 1:
        raise call.unsupported(f"its shape is {str(wanted)[:80]}")
    return put("Reshape", x, shape=tuple(shapes.whole((x.shape[0], *wanted), x.size)))


def _permute(call: LayerCall) -> Staged:
    dims = call.config.list("dims")
    if sorted(dims) != list(range(1, call.x().ndim)):
        raise call.unsupported(f"its axes are {str(dims)[:80]}")
    return put("Transpose", call.x(), perm=(0, *dims))


def _repeat(call: LayerCall) -> Staged:
    x, count = call.x(), call.config.whole("n")
    batch, features = x.shape
    return put("Broadcast", shapes.unsqueeze(x, (1,)), shape=(batch, count, features))


LAYERS: dict[str, Operator] = {
    "Flatten": _flatten, "Reshape": _reshape, "Permute": _permute, "RepeatVector": _repeat,
}  # fmt: skip
