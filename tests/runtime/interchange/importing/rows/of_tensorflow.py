"""Nodes of TensorFlow by formulas; what it recorded itself is in test_operators.py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F

from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
from gradwire.runtime.interchange.importing.tensorflow.operators.table import OPERATORS
from tests.runtime.interchange.importing.rows import formulas
from tests.runtime.interchange.importing.rows.comparing import ARRAYS, Case, Given
from tests.runtime.interchange.importing.rows.formulas import Formula, of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

ROWS = list(OPERATORS)
UNREACHED = {
    **dict.fromkeys(
        ("VarHandleOp", "VariableV2", "Variable", "ReadVariableOp", "AssignVariableOp", "Assign",
         "ResourceGather", "RestoreV2", "DisableCopyOnRead"),
        "it is of variables, which a graph has: test_variables.py",
    ),
    **dict.fromkeys(
        ("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"),
        "it calls functions, which a graph has: test_operators.py and test_models.py",
    ),
    **dict.fromkeys(("Assert", "NoOp"), "it gives nothing"),
    **{name: "a list is no value: test_operators.py has loops with them" for name in OPERATORS
       if "TensorList" in name},
}  # fmt: skip
"""Why rows are reached by no formula."""


class _Attributes(dict[str, Any]):
    """Attributes as an operator reads them."""

    def flag(self, key: str, default: bool = False) -> bool:
        return bool(self.get(key, default))

    def whole(self, key: str, default: int = 0) -> int:
        return int(self.get(key, default))

    def number(self, key: str, default: float = 0.0) -> float:
        return float(self.get(key, default))

    def text(self, key: str, default: str = "") -> str:
        return str(self.get(key, default))

    def wholes(self, key: str) -> tuple[int, ...]:
        return tuple(self.get(key, ()))

    def dtype(self, key: str) -> str:
        return str(self[key])

    def tensor_dtype(self, key: str) -> int:
        return 1

    def array(self, key: str) -> Any:
        return self[key]


def _put_up(row: str, given: Given, inputs: list[Staged], formula: Formula) -> Any:
    attributes = _Attributes(formula.attributes)
    node: Any = SimpleNamespace(name="n", operator=row, attributes=attributes)
    nothing: Any = None
    call = TensorFlowCall(given.stage, node, "node", tuple(inputs), nothing, nothing)
    return OPERATORS[row](call)


def cases(row: str, count: int) -> Iterator[Case]:
    """All formulas of a row."""
    return formulas.cases(row, FORMULAS.get(row, ()), partial(_put_up, row))


def _last(function: Any) -> Any:
    """A function of images with channels last."""
    return lambda x, *args: function(x.movedim(-1, 1), *args).movedim(1, -1)


_UNARY = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin,
    "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh, "Cos": torch.cos,
    "Cosh": torch.cosh, "Elu": F.elu, "Erf": torch.erf, "Erfc": torch.erfc, "Exp": torch.exp,
    "Expm1": torch.expm1, "IsFinite": torch.isfinite, "IsInf": torch.isinf,
    "IsNan": torch.isnan, "Log": torch.log, "Log1p": torch.log1p, "Neg": torch.neg,
    "Relu": torch.relu, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin,
    "Sinh": torch.sinh, "Softplus": F.softplus, "Sqrt": torch.sqrt, "Square": torch.square,
    "Tan": torch.tan, "Tanh": torch.tanh, "Ceil": torch.ceil, "Floor": torch.floor,
    "Rint": torch.round, "Round": torch.round, "Rsqrt": torch.rsqrt,
    "Reciprocal": torch.reciprocal, "Inv": torch.reciprocal, "Relu6": F.relu6, "Selu": F.selu,
    "Softsign": F.softsign, "Softmax": partial(F.softmax, dim=-1),
    "LogSoftmax": partial(F.log_softmax, dim=-1),
    "Identity": torch.clone, "Snapshot": torch.clone, "EnsureShape": torch.clone,
    "CheckNumerics": torch.clone, "StopGradient": torch.detach, "PreventGradient": torch.detach,
    "ZerosLike": torch.zeros_like, "OnesLike": torch.ones_like,
    "L2Loss": lambda x: (x**2).sum() / 2,
    "Size": lambda x: torch.tensor(x.numel()).int(), "Rank": lambda x: torch.tensor(x.ndim).int(),
    "Shape": lambda x: torch.tensor(x.shape).int(),
}  # fmt: skip
_PAIRS = {
    "Add": torch.add, "AddV2": torch.add, "Sub": torch.sub, "Mul": torch.mul, "RealDiv": torch.div,
    "Maximum": torch.maximum, "Minimum": torch.minimum, "Pow": torch.pow, "Atan2": torch.atan2,
    "FloorMod": torch.remainder, "Greater": torch.gt, "GreaterEqual": torch.ge, "Less": torch.lt,
    "LessEqual": torch.le, "Equal": torch.eq, "NotEqual": torch.ne, "Div": torch.div,
    "SquaredDifference": lambda a, b: (a - b) ** 2,
    "Xlogy": lambda a, b: torch.where(a == 0, 0.0, a * torch.log(torch.where(a == 0, 1.0, b))),
    "DivNoNan": lambda a, b: torch.where(b == 0, 0.0, a / torch.where(b == 0, 1.0, b)),
    "MulNoNan": lambda a, b: torch.where(b == 0, 0.0, torch.where(b == 0, 0.0, a) * b),
    "FloorDiv": lambda a, b: torch.div(a, b, rounding_mode="floor").detach(),
}  # fmt: skip
_WHOLE = {
    "BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
}  # fmt: skip
_OVER = {"Sum": torch.sum, "Mean": torch.mean, "Max": torch.amax, "Min": torch.amin,
         "EuclideanNorm": torch.linalg.vector_norm}  # fmt: skip
_TRUTH = {"All": torch.all, "Any": torch.any}
_IMAGE = np.moveaxis(ARRAYS["image"], 1, -1).copy()
_SOLID = np.moveaxis(ARRAYS["volume"], 1, -1).copy()
_DRAW = np.random.default_rng(3)
_KERNEL, _DEEP, _BY_CHANNEL = (
    _DRAW.standard_normal(shape).astype("f4")
    for shape in ((3, 2, 4, 3), (2, 2, 2, 2, 3), (3, 2, 4, 2))
)
_ROWS = np.array([[2], [0]], "i4")
_AT = np.array([[0, 1], [2, 3]], "i4")
_RESERVED = (None, None, None)
_NHWC = {"strides": (1, 1, 1, 1), "padding": "VALID"}


def _same(x: Any, size: tuple[int, int], stride: tuple[int, int], value: float = 0.0) -> Any:
    """An image padded so that windows cover all of it."""
    ends: list[int] = []
    for n, k, s in zip(x.shape[:1:-1], size[::-1], stride[::-1], strict=True):
        total = max((-(-n // s) - 1) * s + k - n, 0)
        ends += [total // 2, total - total // 2]
    return F.pad(x, ends, value=value)


def _conv(x: Any, w: Any, stride: tuple[int, int] = (1, 1), same: bool = False) -> Any:
    x = _same(x, tuple(w.shape[:2]), stride) if same else x
    return F.conv2d(x, w.permute(3, 2, 0, 1), stride=stride)


def _depthwise(x: Any, w: Any) -> Any:
    turned = w.permute(2, 3, 0, 1).reshape(-1, 1, *w.shape[:2])
    return F.conv2d(x, turned, groups=x.shape[1])


def _normalised(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
    return (x - m) / (v + 1e-3).sqrt() * g + b


def _scattered(how: str) -> Any:
    def put(x: Any, at: Any, y: Any) -> Any:
        index = at[:, :1].long().expand(-1, x.shape[1])
        if how == "set":
            return x.scatter(0, index, y)
        return x.scatter_reduce(0, index, y, how)

    return put


FORMULAS: dict[str, list[Formula]] = {
    **{
        name: [of(f, x) for x in ("matrix", "cube", "shares", "rising", "spread")]
        for name, f in _UNARY.items()
    },
    **{
        name: [of(f, *pair) for pair in (("matrix", "other"), ("cube", "matrix"),
                                         ("shares", "spread"), ("rising", "four"))]
        for name, f in _PAIRS.items()
    },
    **{name: [of(f, "whole", "indices"), of(f, "int32", "int32")] for name, f in _WHOLE.items()},
    **{
        name: [of(lambda x, a, f=f, k=keep: f(x, dim=a, keepdim=k), "cube", [0, 2], keep_dims=keep)
               for keep in (False, True)]
        for name, f in _OVER.items()
    },
    **{name: [of(lambda x, a, f=f: f(x, dim=a), "truth", [1])] for name, f in _TRUTH.items()},
    "Prod": [of(lambda x, a: x.prod(a[0]), "cube", [1])],
    "LogicalNot": [of(torch.logical_not, "truth")],
    "LogicalAnd": [of(torch.logical_and, "truth", "truth")],
    "LogicalOr": [of(torch.logical_or, "truth", "truth")],
    "LeakyRelu": [of(partial(F.leaky_relu, negative_slope=0.3), "matrix", alpha=0.3),
                  of(partial(F.leaky_relu, negative_slope=0.2), "matrix")],
    "AddN": [of(lambda a, b: a + b, "matrix", "other")],
    "IdentityN": [of(lambda a, b: [a, b], "matrix", "other")],
    "PlaceholderWithDefault": [of(torch.clone, "matrix")],
    "ShapeN": [of(lambda a, b: [torch.tensor(x.shape).int() for x in (a, b)], "matrix", "cube")],
    "Const": [of(lambda: torch.from_numpy(ARRAYS["matrix"]), value=ARRAYS["matrix"])],
    "Fill": [of(lambda s, x: x.expand(s), [2, 3], "single")],
    "Range": [of(lambda a, b, c: torch.arange(a, b, c).int(), 1, 9, 3)],
    "LinSpace": [of(lambda a, b, n: torch.linspace(a, b, n), np.float32(0), np.float32(2), 5)],
    "Cast": [of(lambda x: x.double(), "matrix", DstT="float64"),
             of(lambda x: x.int(), "spread", DstT="int32")],
    "Select": [of(torch.where, "truth", "matrix", "other"),
               of(lambda c, a, b: torch.where(c[:, None], a, b), np.array([True, False, True]),
                  "matrix", "other")],
    "SelectV2": [of(torch.where, "truth", "matrix", "four")],
    "OneHot": [of(lambda i, n, on, off: F.one_hot(i, n) * (on - off) + off,
                  "order", 4, np.float32(2), np.float32(-1))],
    "ClipByValue": [of(lambda x, a, b: x.clamp(a, b), x, np.float32(1), np.float32(2))
                    for x in ("spread", "equal")],
    "ArgMax": [of(lambda x, a: x.argmax(a), "cube", 1),
               of(lambda x, a: x.argmax(a).int(), "cube", -1, output_type="int32")],
    "ArgMin": [of(lambda x, a: x.argmin(a), "cube", 1)],
    "Cumsum": [of(lambda x, a: x.cumsum(a), "cube", 1),
               of(lambda x, a: x.flip(a).cumsum(a).flip(a) - x, "cube", 1, reverse=True,
                  exclusive=True)],
    "Cumprod": [of(lambda x, a: x.cumprod(a), "cube", 1)],
    "TopKV2": [of(lambda x, k: [y.int() if i else y for i, y in enumerate(x.topk(k))], "cube", 2)],
    "MatMul": [of(lambda a, b: a @ b.T, "matrix", "other", transpose_b=True),
               of(lambda a, b: a.T @ b, "matrix", "other", transpose_a=True),
               of(torch.matmul, "matrix", "tall")],
    **{name: [of(lambda a, b: a.mT @ b, "cube", "cube", adj_x=True),
              of(lambda a, b: a @ b.mT, "cube", "cube", adj_y=True)]
       for name in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")},
    "Einsum": [of(lambda a, b: torch.einsum("abc,bc->ac", a, b), "cube", "matrix",
                  equation="abc,bc->ac")],
    "MatrixInverse": [of(torch.linalg.inv, "definite"),
                      of(lambda x: torch.linalg.inv(x.mT), "triangle", adjoint=True)],
    "MatrixSolve": [of(torch.linalg.solve, "definite", "right"),
                    of(lambda a, b: torch.linalg.solve(a.mT, b), "triangle", "right",
                       adjoint=True)],
    "Cholesky": [of(torch.linalg.cholesky, "definite")],
    "MatrixDeterminant": [of(torch.linalg.det, "triangle")],
    "Reshape": [of(lambda x, s: x.reshape(s), "cube", [4, -1])],
    "Transpose": [of(lambda x, p: x.permute(p), "cube", [2, 0, 1])],
    "ExpandDims": [of(lambda x, a: x.unsqueeze(a), "cube", axis) for axis in (0, 1, -1)],
    "Squeeze": [of(torch.squeeze, "ones"), of(lambda x: x.squeeze(1), "ones", squeeze_dims=(1,))],
    "ConcatV2": [of(lambda a, b, n: torch.cat([a, b], n), "matrix", "other", 1)],
    "Split": [of(lambda n, x: list(x.chunk(2, n)), 1, "matrix", num_split=2)],
    "SplitV": [of(lambda x, s, n: list(x.split([1, 3], n)), "matrix", [1, -1], 1)],
    "Pack": [of(lambda a, b: torch.stack([a, b], 1), "matrix", "other", axis=1)],
    "Unpack": [of(lambda x: list(x.unbind(1)), "matrix", axis=1)],
    "Tile": [of(lambda x, n: x.repeat(n), "matrix", [2, 3])],
    "BroadcastTo": [of(lambda x, s: x.expand(s), "matrix", [2, 3, 4])],
    "Pad": [of(lambda x, w: F.pad(x, (0, 2, 1, 0)), "matrix", [[1, 0], [0, 2]])],
    "PadV2": [of(lambda x, w, v: F.pad(x, (0, 2, 1, 0), value=2.5), "matrix", [[1, 0], [0, 2]],
                 np.float32(2.5))],
    "MirrorPad": [of(lambda x, w: F.pad(x, (1, 2), "reflect"), "matrix", [[0, 0], [1, 2]],
                     mode="REFLECT"),
                  of(lambda x, w: torch.cat([x[:, :1], x, x[:, 2:].flip(1)], 1), "matrix",
                     [[0, 0], [1, 2]], mode="SYMMETRIC")],
    "ReverseV2": [of(lambda x, a: x.flip(a), "cube", [0, -1])],
    "Roll": [of(lambda x, n, a: x.roll(n, a), "cube", [1, -2], [0, 2])],
    "DepthToSpace": [of(_last(lambda x: F.pixel_shuffle(
        x.reshape(2, 2, 2, 1, 6, 5).permute(0, 3, 1, 2, 4, 5).reshape(2, 4, 6, 5), 2
    )), _IMAGE, block_size=2)],
    "SpaceToDepth": [of(_last(lambda x: F.pixel_unshuffle(x, 2).reshape(2, 4, 4, 3, 2)
                              .transpose(1, 2).reshape(2, 16, 3, 2)), _IMAGE[:, :, :4],
                        block_size=2)],
    "MatrixDiag": [of(torch.diag_embed, "matrix")],
    "MatrixDiagV3": [of(lambda x, *_: torch.diag_embed(x), "matrix", 0, -1, -1, np.float32(0))],
    "MatrixBandPart": [of(lambda x, a, b: x.tril(1), "matrix", -1, 1),
                       of(lambda x, a, b: x.triu(-1), "matrix", 1, -1)],
    "Slice": [of(lambda x, b, s: x[1:, 1:3], "matrix", [1, 1], [-1, 2])],
    "StridedSlice": [
        of(lambda x, *_: x[1:].flip(0)[:, 1:4:2], "matrix", [2, 1], [0, 4], [-1, 2]),
        of(lambda x, *_: x[..., None, 1], "cube", [0, 0, 1], [0, 0, 2], [1, 1, 1], ellipsis_mask=1,
           new_axis_mask=2, shrink_axis_mask=4),
        of(lambda x, *_: x[:, 1:], "matrix", [9, 1], [2, -9], [1, 1], begin_mask=1, end_mask=3),
    ],
    "Gather": [of(lambda x, i: x[i], "matrix", "order")],
    "GatherV2": [of(lambda x, i, a: x[:, i], "cube", "order", 1),
                 of(lambda x, i, a: x.gather(1, i), "matrix", "indices", 1, batch_dims=1)],
    "GatherNd": [of(lambda x, i: x[i[:, 0].long(), i[:, 1].long()], "matrix", _AT)],
    "UnsortedSegmentSum": [of(lambda x, i, n: torch.zeros(n, 4).index_add(0, i, x), "matrix",
                              "order", 4)],
    "ScatterNd": [of(lambda i, y, s: torch.zeros(s).index_add(0, i[:, 0], y), _ROWS,
                     ARRAYS["matrix"][:2].copy(), [3, 4])],
    **{name: [of(_scattered(how), "matrix", _ROWS, ARRAYS["other"][:2].copy())]
       for name, how in (("TensorScatterUpdate", "set"), ("TensorScatterAdd", "sum"),
                         ("TensorScatterMax", "amax"), ("TensorScatterMin", "amin"))},
    "Conv2D": [of(_last(_conv), _IMAGE, _KERNEL, **_NHWC),
               of(_last(partial(_conv, stride=(2, 1), same=True)), _IMAGE, _KERNEL,
                  strides=(1, 2, 1, 1), padding="SAME")],
    "Conv3D": [of(_last(lambda x, w: F.conv3d(x, w.permute(4, 3, 0, 1, 2))), _SOLID, _DEEP,
                  strides=(1,) * 5, padding="VALID")],
    "DepthwiseConv2dNative": [of(_last(_depthwise), _IMAGE, _BY_CHANNEL, **_NHWC)],
    "Conv2DBackpropInput": [of(
        lambda s, w, y: F.conv_transpose2d(y.movedim(-1, 1), w.permute(3, 2, 0, 1), stride=2)
        .movedim(1, -1), [2, 15, 12, 4], _KERNEL, _DRAW.standard_normal((2, 7, 6, 3)).astype("f4"),
        strides=(1, 2, 2, 1), padding="VALID")],
    "BiasAdd": [of(torch.add, _IMAGE, "four"),
                of(lambda x, b: x + b[:, None, None], "image", "four", data_format="NCHW")],
    "MaxPool": [of(_last(lambda x: F.max_pool2d(x, (2, 3), (1, 2))), _IMAGE, ksize=(1, 2, 3, 1),
                   strides=(1, 1, 2, 1), padding="VALID"),
                of(_last(lambda x: F.max_pool2d(_same(x, (2, 3), (2, 2), -math.inf), (2, 3), 2)),
                   _IMAGE, ksize=(1, 2, 3, 1), strides=(1, 2, 2, 1), padding="SAME")],
    "AvgPool": [of(_last(lambda x: F.avg_pool2d(x, (2, 3), (1, 2))), _IMAGE, ksize=(1, 2, 3, 1),
                   strides=(1, 1, 2, 1), padding="VALID")],
    "MaxPool3D": [of(_last(lambda x: F.max_pool3d(x, 2)), _SOLID, ksize=(1, 2, 2, 2, 1),
                     strides=(1, 2, 2, 2, 1), padding="VALID")],
    "AvgPool3D": [of(_last(lambda x: F.avg_pool3d(x, 2)), _SOLID, ksize=(1, 2, 2, 2, 1),
                     strides=(1, 2, 2, 2, 1), padding="VALID")],
    **{name: [of(lambda *xs: [_normalised(*xs), xs[3].detach(), xs[4].detach(), *_RESERVED], _IMAGE,
                 "four", "rising", "positive",
                 "positive too", epsilon=1e-3, is_training=False)]
       for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")},
    "ResizeNearestNeighbor": [of(_last(lambda x, s: F.interpolate(x, s)), _IMAGE, [9, 4])],
    "ResizeBilinear": [
        of(_last(lambda x, s: F.interpolate(x, s, mode="bilinear")), _IMAGE, [9, 7],
           half_pixel_centers=True),
        of(_last(lambda x, s: F.interpolate(x, s, mode="bilinear", align_corners=True)), _IMAGE,
           [9, 7], align_corners=True),
    ],
    "SparseSoftmaxCrossEntropyWithLogits": [
        of(lambda x, y: [F.cross_entropy(x, y, reduction="none"), None], "matrix", "order")],
    "SoftmaxCrossEntropyWithLogits": [
        of(lambda x, y: [-(y * x.log_softmax(-1)).sum(-1), None], "matrix", "shares")],
}  # fmt: skip
"""What rows are, as PyTorch computes it."""
