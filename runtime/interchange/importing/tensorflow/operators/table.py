"""The operators of TensorFlow by name: a row each, with those of images and of graphs beside."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.meanings import (
    indexing,
    losses,
    ordering,
    products,
    reductions,
    shapes,
)
from gradwire.runtime.interchange.importing.staged import named, put
from gradwire.runtime.interchange.importing.tensorflow.operators import control, images, resources

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall

Meaning: TypeAlias = "Callable[..., Staged]"
_BLOCKS = {
    "Abs": "Abs", "Acos": "Arccos", "Acosh": "Arccosh", "Asin": "Arcsin", "Asinh": "Arcsinh",
    "Atan": "Arctan", "Atanh": "Arctanh", "Cholesky": "Cholesky", "Cos": "Cos", "Cosh": "Cosh",
    "Elu": "Elu", "Erf": "Erf", "Exp": "Exp", "Expm1": "Expm1", "IsFinite": "IsFinite",
    "IsInf": "IsInf", "IsNan": "IsNaN", "Log": "Log", "Log1p": "Log1p", "LogicalNot": "Not",
    "MatrixDeterminant": "Determinant", "Neg": "Neg", "Relu": "Relu", "Sigmoid": "Sigmoid",
    "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Softplus": "Softplus", "Sqrt": "Sqrt",
    "Square": "Square", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
"""Operators of one input that are a block."""
_PAIRS = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "Div": "Div",
    "Pow": "Pow", "Atan2": "Arctan2", "FloorMod": "Mod", "Greater": "Greater",
    "GreaterEqual": "GreaterEqual", "Less": "Less", "LessEqual": "LessEqual", "Equal": "Equal",
    "NotEqual": "NotEqual", "LogicalAnd": "And", "LogicalOr": "Or",
}  # fmt: skip
"""Operators of two inputs that are a block."""
_STEPS = {"Ceil": "Ceil", "Floor": "Floor", "Rint": "Round", "Round": "Round"}
"""Steps, through which TensorFlow sends no gradient at all."""
_REDUCTIONS = {
    "Sum": "Sum", "Mean": "Mean", "Max": "Max", "Min": "Min", "Prod": "Prod", "All": "AllTrue",
    "Any": "AnyTrue", "EuclideanNorm": "Norm",
}  # fmt: skip
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def one(function: Meaning, *given: str) -> Operator:
    """The row of a function of one input."""
    return lambda call: function(*given, call.x())


def two(function: Meaning, *given: str) -> Operator:
    """The row of a function of two inputs."""
    return lambda call: function(*given, call.x(0), call.x(1))


def _dtype(call: TensorFlowCall, key: str, default: str) -> str:
    return call.attributes.dtype(key) if key in call.attributes else default


def _step(kind: str, call: TensorFlowCall) -> Staged:
    x = call.x()
    if not x.is_float or x.array is not None:
        return put(kind, x)
    stopped = put("StopGradient", x, name=f"before_{call.name}")
    call.stage.remark("cut", f"{call.node.operator} sends no gradient in TensorFlow.", stopped)
    return put(kind, stopped)


def _extreme(kind: str, a: Staged, b: Staged) -> Staged:
    """The Maximum or Minimum. Of equal ones, the first gets the whole gradient in TensorFlow."""
    if not a.is_float:
        return put(kind, a, b)
    if b.array is not None and b.size == 1 and b.ndim <= a.ndim:
        return el.clip(a, b, None) if kind == "Maximum" else el.clip(a, None, b)
    first = put("GreaterEqual" if kind == "Maximum" else "LessEqual", a, b)
    return put("Where", put("Or", first, put("IsNaN", a)), a, b)


def _clipped(call: TensorFlowCall) -> Staged:
    x, low, high = call.xs(3)
    if all(bound.array is not None and bound.size == 1 for bound in (low, high)):
        return el.clip(x, low, high)
    return _extreme("Minimum", _extreme("Maximum", x, low), high)


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
    return x * put("Log", put("Where", put("Equal", x, x.like(0)), y.like(1), y))


def _select(call: TensorFlowCall) -> Staged:
    condition, a, b = call.xs(3)
    if call.node.operator == "Select" and condition.ndim == 1 < a.ndim:
        condition = call.stage.reshape(condition, (condition.size, *(1,) * (a.ndim - 1)))
    return put("Where", condition, a, b)


def _reduced(kind: str, call: TensorFlowCall) -> Staged:
    axes = call.axes(1, call.x().ndim)
    return reductions.reduce(kind, call.x(), axes, call.attributes.flag("keep_dims"))


def _place(kind: str, call: TensorFlowCall) -> Staged:
    y = ordering.place(kind, call.x(), call.axis(1, call.x().ndim))
    return call.stage.cast(named(y, call.name), _dtype(call, "output_type", "int64"))


def _running(kind: str, call: TensorFlowCall) -> Staged:
    ways = [call.attributes.flag(key) for key in ("reverse", "exclusive")]
    return reductions.running(kind, call.x(), call.axis(1, call.x().ndim), *ways)


def _largest(call: TensorFlowCall) -> tuple[Staged, ...]:
    values, indices = ordering.top_k(call.x(), call.whole(1))
    return values, call.stage.cast(indices, "int32")


def _turned(call: TensorFlowCall, number: int, *keys: str) -> Staged:
    """An input, transposed where one of the attributes says so."""
    x = call.x(number)
    return shapes.swap(x, -2, -1) if any(map(call.attributes.flag, keys)) else x


def _whole(call: TensorFlowCall, number: int | Shape) -> Staged:
    """What is known of a shape."""
    return call.stage.constant(np.asarray(number, _dtype(call, "out_type", "int32")))


def _filled(call: TensorFlowCall, shape: Shape, value: Staged) -> Staged:
    if value.array is not None and math.prod(shape) > MAX_CONSTANT:
        raise call.unsupported(f"it makes an array of shape {shape}")
    return call.stage.broadcast(value, shape)


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


def _squeeze(call: TensorFlowCall) -> Staged:
    x, axes = call.x(), call.attributes.wholes("squeeze_dims")
    if any(x.shape[axis] != 1 for axis in axes):
        raise call.unsupported(f"axes {sorted(axes)} of {x.shape} are not all of length 1")
    return shapes.squeeze(x, axes or None)


def _split(call: TensorFlowCall) -> tuple[Staged, ...]:
    x, count = call.x(1), call.attributes.whole("num_split")
    axis = call.axis(0, x.ndim)
    if count < 1 or x.shape[axis] % count:
        raise call.unsupported(f"{x.shape} has no {count} equal parts along axis {axis}")
    return tuple(shapes.split(x, [x.shape[axis] // count] * count, axis))


def _split_sizes(call: TensorFlowCall) -> tuple[Staged, ...]:
    x, sizes = call.x(), list(call.wholes(1))
    axis = call.axis(2, x.ndim)
    rest = x.shape[axis] - sum(size for size in sizes if size >= 0)
    return tuple(shapes.split(x, [rest if size == -1 else size for size in sizes], axis))


def _tile(call: TensorFlowCall) -> Staged:
    """Repeats the whole along each axis."""
    x, counts = call.x(), call.shape(1)
    if len(counts) != x.ndim:
        raise call.unsupported(f"{counts} copies of {x.shape}")
    return shapes.tile(x, counts)


def _pad(call: TensorFlowCall) -> Staged:
    """With a number, or reflected at the edges: SYMMETRIC repeats them, REFLECT doesn't."""
    widths = tuple((int(before), int(after)) for before, after in call.numbers(1))
    if call.node.operator == "MirrorPad":
        reflect = call.attributes.text("mode", "REFLECT") == "REFLECT"
        return shapes.pad(call.x(), widths, mode="reflect" if reflect else "symmetric")
    value = call.numbers(2).item() if len(call) > 2 else 0.0
    return put("Pad", call.x(), widths=widths, value=value)


def _blocks(meaning: Callable[[Staged, int], Staged], call: TensorFlowCall) -> Staged:
    layout = call.attributes.text("data_format", "NHWC")
    if layout not in ("NHWC", "NCHW"):
        raise call.unsupported(f"its layout is {layout[:20]}")
    x, last = call.x(), layout == "NHWC"
    y = meaning(shapes.move(x, -1, 1) if last else x, call.attributes.whole("block_size"))
    return shapes.move(y, 1, -1) if last else y


def _diagonal(call: TensorFlowCall) -> Staged:
    """Matrices with the last axis on their diagonals."""
    x = call.x()
    if len(call) > 1:
        offset, *sides = (call.whole(number) for number in (1, 2, 3))
        if offset or call.numbers(4).item() or not {-1, x.shape[-1]}.issuperset(sides):
            raise call.unsupported("only the main diagonal, with zeros around it, can be made")
    return shapes.on_diagonal(x)


def _slice(call: TensorFlowCall) -> Staged:
    x, begin, size = call.x(), call.wholes(1), call.wholes(2)
    for axis, (start, length) in enumerate(zip(begin, size, strict=True)):
        x = call.stage.cut(x, axis, start, None if length == -1 else start + length)
    return x


def _strided(call: TensorFlowCall) -> Staged:
    """``x[begin:end:step]`` with bits that say which bounds count, and which axes are new."""
    x, axis = call.x(), 0
    begin, end, step = (call.wholes(number) for number in (1, 2, 3))
    masks = [call.attributes.whole(key) for key in _MASKS]
    for place, index in enumerate(begin):
        open_start, open_stop, ellipsis, new, shrink = (mask >> place & 1 for mask in masks)
        if ellipsis:
            taken = sum(not masks[3] >> other & 1 for other in range(place + 1, len(begin)))
            axis = x.ndim - taken
        elif new:
            x = shapes.unsqueeze(x, (axis,))
            axis += 1
        elif shrink:
            length = x.shape[axis]
            if not -length <= index < length:
                raise call.unsupported(f"index {index} is outside an axis of length {length}")
            x = call.stage.select(x, axis, index)
        else:
            start, stop = None if open_start else index, None if open_stop else end[place]
            x = call.stage.cut(x, axis, start, stop, step[place])
            axis += 1
    return x


def _gather(call: TensorFlowCall) -> Staged:
    """Elements at indices along an axis; the first axes of both may go together."""
    x, indices = call.x(0), call.x(1)
    axis = call.axis(2, x.ndim) if len(call) > 2 else 0
    batch = call.attributes.whole("batch_dims") % (indices.ndim + 1)
    if batch and (axis < batch or x.shape[:batch] != indices.shape[:batch]):
        raise call.unsupported(f"{batch} axes of {x.shape} and {indices.shape} don't go together")
    return indexing.gather(x, indices, axis, batch)


def _scattered(mode: str, call: TensorFlowCall) -> Staged:
    return indexing.scatter_nd(call.x(0), call.x(1), call.x(2), mode, "")


def _scatter_zeros(call: TensorFlowCall) -> Staged:
    indices, updates = call.x(0), call.x(1)
    zeros = call.stage.constant(np.zeros(call.shape(2), updates.dtype))
    return indexing.scatter_nd(zeros, indices, updates, "add", "")


def _segment_sum(call: TensorFlowCall) -> Staged:
    """Sums of the rows with the same index."""
    x, indices, count = call.x(0), call.x(1), call.whole(2)
    inner = x.shape[indices.ndim :]
    rows = call.stage.reshape(x, (indices.size, math.prod(inner)))
    places = call.stage.reshape(indices, (indices.size,))
    hot = put("OneHot", places, depth=count, dtype=x.dtype)
    return call.stage.reshape(named(shapes.swap(hot, 0, 1) @ rows, call.name), (count, *inner))


OPERATORS: dict[str, Operator] = {
    **resources.OPERATORS, **images.OPERATORS, **control.OPERATORS,
    **{name: one(put, kind) for name, kind in _BLOCKS.items()},
    **{name: two(put, kind) for name, kind in _PAIRS.items()},
    **{name: partial(_step, kind) for name, kind in _STEPS.items()},
    **{f"Bitwise{op}": two(partial(put, "Bits", op=op.lower())) for op in ("And", "Or", "Xor")},
    "Rsqrt": one(lambda x: 1.0 / put("Sqrt", x)), "Erfc": one(lambda x: 1.0 - put("Erf", x)),
    **dict.fromkeys(("Reciprocal", "Inv"), one(lambda x: 1.0 / x)),
    "SquaredDifference": two(lambda a, b: put("Square", a - b)),
    "DivNoNan": two(_safe_division), "MulNoNan": two(_safe_product), "Xlogy": two(_xlogy),
    "FloorDiv": two(partial(el.quotient, down=True)),
    "Relu6": one(act.relu6), "Selu": one(act.selu), "Softsign": one(act.softsign),
    "LeakyRelu": lambda c: put("LeakyRelu", c.x(), slope=c.attributes.number("alpha", 0.2)),
    "AddN": lambda c: c.stage.block("AddN", *c.xs()),
    "Cast": lambda c: c.stage.cast(c.x(), c.attributes.dtype("DstT")),
    "Select": _select, "SelectV2": _select, "ClipByValue": _clipped,
    "Maximum": two(_extreme, "Maximum"), "Minimum": two(_extreme, "Minimum"),
    "OneHot": lambda c: indexing.one_hot(
        c.x(0), c.whole(1), c.x(2).dtype, c.attributes.whole("axis", -1), c.x(2), c.x(3)
    ),
    **{kind: one(partial(put, kind, axis=-1)) for kind in ("Softmax", "LogSoftmax")},
    # The gradient that TensorFlow computes beside these two is left out.
    **dict.fromkeys(
        ("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"),
        lambda c: (losses.cross_entropy(c.x(0), c.x(1), reduction="none"), None),
    ),
    **{name: partial(_reduced, kind) for name, kind in _REDUCTIONS.items()},
    **{kind: partial(_place, kind) for kind in ("ArgMax", "ArgMin")}, "TopKV2": _largest,
    "Cumsum": partial(_running, "CumulativeSum"), "Cumprod": partial(_running, "CumulativeProduct"),
    "L2Loss": lambda c: named(put("Sum", put("Square", c.x())), c.name) * 0.5,
    **dict.fromkeys(
        ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"),
        lambda c: _turned(c, 0, "transpose_a", "adj_x") @ _turned(c, 1, "transpose_b", "adj_y"),
    ),
    "Einsum": lambda c: products.einsum(c.attributes.text("equation"), c.xs()),
    "MatrixInverse": lambda c: put("Inverse", _turned(c, 0, "adjoint")),
    "MatrixSolve": lambda c: put("Solve", _turned(c, 0, "adjoint"), c.x(1)),
    "Shape": lambda c: _whole(c, c.x().shape), "Size": lambda c: _whole(c, c.x().size),
    "ShapeN": lambda c: tuple(_whole(c, x.shape) for x in c.xs()),
    "Rank": lambda c: _whole(c, c.x().ndim), "Range": _range, "LinSpace": _spaced,
    "Fill": lambda c: _filled(c, c.shape(0), c.x(1)),
    "ZerosLike": lambda c: _filled(c, c.x().shape, c.x().like(0)),
    "OnesLike": lambda c: _filled(c, c.x().shape, c.x().like(1)),
    "Reshape": lambda c: shapes.reshape(c.x(), c.wholes(1)),
    "Transpose": lambda c: put("Transpose", c.x(), perm=c.axes(1, c.x().ndim)),
    "ExpandDims": lambda c: put("ExpandDims", c.x(), axis=c.axis(1, c.x().ndim + 1)),
    "Squeeze": _squeeze, "Split": _split, "SplitV": _split_sizes, "Tile": _tile,
    "ConcatV2": lambda c: put("Concat", *c.xs(-1), axis=c.axis(-1, c.x().ndim)),
    "Pack": lambda c: shapes.stack(c.xs(), c.attributes.whole("axis")),
    "Unpack": lambda c: tuple(shapes.unstack(c.x(), c.attributes.whole("axis"))),
    "BroadcastTo": lambda c: c.stage.broadcast(c.x(), c.shape(1)),
    **dict.fromkeys(("Pad", "PadV2", "MirrorPad"), _pad),
    "ReverseV2": lambda c: shapes.flip(c.x(), c.axes(1, c.x().ndim)),
    "Roll": lambda c: shapes.roll(c.x(), c.wholes(1), c.axes(2, c.x().ndim)),
    "DepthToSpace": partial(_blocks, shapes.depth_to_space),
    "SpaceToDepth": partial(_blocks, shapes.space_to_depth),
    "MatrixDiag": _diagonal, "MatrixDiagV3": _diagonal,
    "MatrixBandPart": lambda c: shapes.band(
        c.x(), *(None if n < 0 else n for n in (c.whole(1), c.whole(2)))
    ),
    "Slice": _slice, "StridedSlice": _strided,
    **dict.fromkeys(("Gather", "GatherV2", "ResourceGather"), _gather),
    "GatherNd": lambda c: indexing.gather_nd(c.x(0), c.x(1), mode=""),
    "UnsortedSegmentSum": _segment_sum, "ScatterNd": _scatter_zeros,
    **{f"TensorScatter{name}": partial(_scattered, mode) for name, mode in (
        ("Update", "set"), ("Add", "add"), ("Max", "max"), ("Min", "min")
    )},
}  # fmt: skip
