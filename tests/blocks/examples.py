"""Inputs for every block of the library, away from the points where it has no derivative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.registry import registry

if TYPE_CHECKING:
    from gradwire.blocks import Block

_DRAW = np.random.default_rng(7)


def _floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    return _DRAW.uniform(low, high, shape)


@dataclass(frozen=True)
class Example:
    """A block, arrays for its inputs, and the inputs that get no gradient."""

    block: Block
    inputs: Mapping[str, Any]
    closed: frozenset[str] = frozenset()
    surrogate: bool = field(default=False)

    def __str__(self) -> str:
        parameters = ",".join(f"{k}={v}" for k, v in self.block.to_record().items())
        return f"{self.block.type_name()}({parameters})"


A, B = _floats(2, 3), _floats(2, 3)
ROW, POSITIVE, NONZERO = _floats(3), _floats(2, 3, low=0.5), _floats(2, 3, low=0.5)
DISTINCT = np.array([[0.3, -1.2, 2.1], [1.7, 0.9, -0.4]])
TRUTH = np.array([[True, False, True], [False, True, True]])
OTHER_TRUTH = np.array([[True, True, False], [False, False, True]])
IMAGE = _floats(2, 2, 4, 5)
SIGNAL, VOLUME = IMAGE[:, :, 0], _floats(1, 2, 2, 3, 3)
ROWS = np.array([2, 0, 2])
PROBABILITIES = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]])


def _examples() -> list[Example]:
    found: list[Example] = []

    def add(name: str, inputs: Mapping[str, Any], closed: str = "", **parameters: Any) -> None:
        block = registry().get(name)(**parameters)
        found.append(Example(block, inputs, frozenset(closed.split()), block.surrogate))

    for name in ("Add", "Sub", "Mul", "Maximum", "Minimum", "Arctan2"):
        add(name, {"a": A, "b": B})
        add(name, {"a": A, "b": ROW})
    add("Div", {"a": A, "b": NONZERO})
    add("Mod", {"a": 10 * A, "b": NONZERO})
    add("Pow", {"a": POSITIVE, "b": B})
    add("Pow", {"a": A})
    add("AddN", {"terms.0": A, "terms.1": ROW, "terms.2": B})

    for name in (
        "Neg", "Abs", "Square", "Exp", "Expm1", "Sin", "Cos", "Sign", "Round", "Floor", "Ceil",
        "Tanh", "Sigmoid", "Relu", "LeakyRelu", "Elu", "Gelu", "Silu", "Softplus", "Softmax",
        "LogSoftmax", "Tan", "Arctan", "Sinh", "Selu", "Celu", "Mish", "HardSigmoid",
        "HardSwish", "Cosh", "Arcsinh", "Erf",
        "Display", "PageInput", "PageOutput",
    ):  # fmt: skip
        add(name, {"x": DISTINCT})
    for name in ("Sqrt", "Log", "Log1p"):
        add(name, {"x": POSITIVE})
    for name in ("Arcsin", "Arccos", "Arctanh"):
        add(name, {"x": DISTINCT / 3})
    add("Arccosh", {"x": 1 + POSITIVE})
    add("PRelu", {"x": DISTINCT, "slope": np.array([[0.3], [0.1]])})
    add("Celu", {"x": DISTINCT}, alpha=0.5)
    add("HardSigmoid", {"x": DISTINCT}, alpha=0.2)
    add("Gelu", {"x": DISTINCT}, approximate="tanh")
    add("Softmax", {"x": DISTINCT}, axis=0)
    add("LogSoftmax", {"x": DISTINCT}, axis=0)
    add("Clip", {"x": DISTINCT}, min=-0.5, max=1.0)
    add("Clip", {"x": DISTINCT}, min=None, max=1.0)
    add("Clip", {"x": DISTINCT}, min=-0.5, max=1.0, open=True)

    for name in ("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"):
        add(name, {"a": A, "b": B}, closed="a b")
    for name in ("And", "Or", "Xor"):
        add(name, {"a": TRUTH, "b": OTHER_TRUTH}, closed="a b")
    add("Not", {"x": TRUTH}, closed="x")
    for name in ("IsFinite", "IsNaN", "IsInf"):
        add(name, {"x": A}, closed="x")
    add("IsInf", {"x": A}, sign="negative", closed="x")
    for op in ("and", "or", "xor", "left", "right"):
        add("Bits", {"a": ROWS, "b": ROWS[::-1]}, op=op, closed="a b")
    add("Bits", {"a": TRUTH, "b": OTHER_TRUTH}, op="xor", closed="a b")
    add("Where", {"condition": TRUTH, "a": A, "b": ROW}, closed="condition")

    for name in ("Sum", "Mean", "Variance", "Prod", "Max", "Min", "LogSumExp", "Norm"):
        add(name, {"x": DISTINCT})
        add(name, {"x": DISTINCT}, axis=-1)
        add(name, {"x": DISTINCT}, axis=(0, 1), keepdims=True)
    for name in ("AllTrue", "AnyTrue"):
        add(name, {"x": TRUTH}, axis=0, closed="x")
    for name in ("ArgMax", "ArgMin"):
        add(name, {"x": DISTINCT}, closed="x")
        add(name, {"x": DISTINCT}, axis=0, keepdims=True, closed="x")
    for name in ("CumulativeSum", "CumulativeProduct"):
        add(name, {"x": A}, axis=0)
        add(name, {"x": _floats(2, 5)}, reverse=True)
        add(name, {"x": _floats(5)}, exclusive=True)
        add(name, {"x": _floats(2, 3)}, reverse=True, exclusive=True)

    add("MatMul", {"a": A, "b": _floats(3, 2)})
    add("MatMul", {"a": _floats(2, 2, 3), "b": _floats(3, 2)})
    add("MatMul", {"a": A, "b": ROW})
    add("Dot", {"a": A, "b": B})
    add("Dot", {"a": A, "b": ROW})
    add("CosineSimilarity", {"a": A, "b": B})
    add("Linear", {"x": A, "weight": _floats(4, 3), "bias": _floats(4)})
    add("Linear", {"x": _floats(2, 2, 3), "weight": _floats(4, 3)}, units=4)
    add("Einsum", {"terms.0": A, "terms.1": _floats(3, 4)})
    add("Einsum", {"terms.0": _floats(2, 3, 4), "terms.1": A}, subscripts="bij,bi->bj")

    add("Reshape", {"x": A}, shape=(3, -1))
    add("Flatten", {"x": _floats(2, 3, 2)})
    add("Transpose", {"x": A})
    add("Transpose", {"x": _floats(2, 3, 4)}, perm=(1, 2, 0))
    add("ExpandDims", {"x": A}, axis=1)
    add("Squeeze", {"x": _floats(2, 1, 3)}, axis=1)
    add("Broadcast", {"x": ROW}, shape=(2, 3))
    add("Flip", {"x": A})
    add("Flip", {"x": A}, axis=0)
    add("Sort", {"x": DISTINCT})
    add("Sort", {"x": DISTINCT}, axis=0, descending=True)
    add("ArgSort", {"x": DISTINCT}, closed="x")
    add("ArgSort", {"x": DISTINCT}, axis=0, descending=True, closed="x")
    add("TopK", {"x": DISTINCT}, k=2)
    add("TopK", {"x": DISTINCT}, axis=0, largest=False)
    add("OneHot", {"indices": ROWS}, depth=3, closed="indices")
    add("Cast", {"x": A}, dtype="float64")
    add("Cast", {"x": A}, dtype="int32", closed="x")

    add("Concat", {"parts.0": A, "parts.1": _floats(1, 3)})
    add("Concat", {"parts.0": A, "parts.1": _floats(2, 1)}, axis=-1)
    add("Stack", {"parts.0": A, "parts.1": B}, axis=-1)
    add("Slice", {"x": A}, begin=(0, 1), size=(2, -1))
    add("Pad", {"x": A}, widths=((1, 0),), value=3.0)
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        add("Pad", {"x": A}, widths=((1, 0), (2, 1)), mode=mode)
    add("Gather", {"x": _floats(3, 2), "indices": ROWS}, closed="indices")
    add("Gather", {"x": A, "indices": np.array([[2, 2], [0, 1]])}, axis=1, closed="indices")
    add("PickAlong", {"x": A, "indices": np.array([2, 0])}, closed="indices")

    columns = np.array([[2, 0], [-1, 1]])
    add("TakeAlong", {"x": A, "indices": columns}, closed="indices")
    add("TakeAlong", {"x": A, "indices": columns[:, 1:]}, axis=0, closed="indices")

    order = np.array([2, 0])
    for mode in ("set", "add", "mul", "max", "min"):
        rows = {"x": _floats(3, 2), "indices": ROWS, "updates": _floats(3, 2)}
        add("ScatterRows", rows, mode=mode, closed="indices")
        single = {"x": A, "indices": columns, "updates": _floats(2, 2)}
        add("ScatterAlong", single, mode=mode, axis=-1, closed="indices")
    add("ScatterRows", {"x": A, "indices": order, "updates": _floats(2)}, axis=1, closed="indices")

    add("Embedding", {"indices": ROWS, "weight": _floats(3, 2)}, closed="indices")
    add("Embedding", {"indices": ROWS - 1, "weight": _floats(3, 2)}, rows=3, closed="indices")

    vectors = {"weight": _floats(3), "bias": _floats(3)}
    images = {"weight": _floats(4), "bias": _floats(4)}
    add("LayerNorm", {"x": A})
    add("LayerNorm", {"x": A, **vectors})
    add("LayerNorm", {"x": _floats(2, 3, 2), "weight": _floats(3, 2)}, axes=(1, -1))
    add("RMSNorm", {"x": A, "weight": vectors["weight"]}, epsilon=0.1)
    add("GroupNorm", {"x": _floats(2, 4, 3), **images}, groups=2)
    add("GroupNorm", {"x": _floats(2, 4, 3)}, groups=4)
    statistics = {"mean": _floats(3), "variance": _floats(3, low=0.5)}
    add("BatchNorm", {"x": _floats(4, 3), **vectors, **statistics}, closed="mean variance")
    add("BatchNorm", {"x": _floats(2, 2, 3)}, axis=-1)
    add("BatchNorm", {"x": A, **vectors, **statistics}, mode="running")
    add("LRN", {"x": _floats(2, 4, 2)}, size=3, alpha=0.5)
    heads = {"query": _floats(2, 3, 2), "key": _floats(2, 4, 2), "value": _floats(2, 4, 3)}
    add("Attention", heads)
    add("Attention", heads, causal=True, scale=0.7)
    add("Attention", {**heads, "mask": _floats(3, 4)})
    some = np.array([[True, False, True, True], [False] * 4, [False, True, False, False]])
    add("Attention", {**heads, "mask": some}, closed="mask")

    weights, bias = _floats(3, 2, 2, 3), _floats(3)
    add("Conv2D", {"x": IMAGE, "weight": weights, "bias": bias})
    add("Conv2D", {"x": IMAGE, "weight": weights}, stride=(2, 1), padding="same")
    add("Conv2D", {"x": IMAGE, "weight": _floats(2, 1, 2, 2)}, groups=2, dilation=(2, 2))
    add("Conv2D", {"x": IMAGE, "weight": weights}, padding=(1, 0))
    add("Conv2D", {"x": IMAGE, "weight": weights}, padding=((1, 0), (0, 2)))
    add("Conv1D", {"x": SIGNAL, "weight": _floats(3, 2, 2), "bias": bias}, stride=2, padding=1)
    add("Conv3D", {"x": VOLUME, "weight": _floats(2, 1, 2, 2, 2)}, padding=(1, 0, 0), groups=2)
    add("ConvTranspose1D", {"x": SIGNAL, "weight": _floats(2, 3, 2), "bias": bias}, stride=2)
    add("ConvTranspose2D", {"x": IMAGE, "weight": _floats(2, 1, 2, 3), "bias": bias[:2]},
        stride=(2, 1), padding=(1, 1), output_padding=(1, 0), groups=2)  # fmt: skip
    add("ConvTranspose3D", {"x": VOLUME, "weight": _floats(2, 1, 2, 2, 1)}, stride=(2, 1, 1))
    for name in ("MaxPool2D", "AvgPool2D"):
        add(name, {"x": IMAGE})
        add(name, {"x": IMAGE}, window=(3, 2), stride=(1, 2), padding="same")
        add(name, {"x": IMAGE}, window=(2, 2), stride=(2, 2), padding=(0, 1), ceil=True)
    for name in ("MaxPool1D", "AvgPool1D"):
        add(name, {"x": SIGNAL}, window=3, stride=2, padding=1)
    for name in ("MaxPool3D", "AvgPool3D"):
        add(name, {"x": VOLUME}, window=(2, 2, 2), stride=(1, 1, 1))
    add("AvgPool1D", {"x": SIGNAL}, window=3, stride=2, padding=1, count_padding=False)

    add("Resize", {"x": SIGNAL})
    add("Resize", {"x": IMAGE}, mode="linear", sizes=(3, 7))
    add("Resize", {"x": IMAGE}, mode="linear", sizes=(3, 2), antialias=True, exclude_outside=True)
    add("Resize", {"x": IMAGE}, mode="cubic", scales=1.5, coordinates="align_corners")
    add("Resize", {"x": IMAGE}, mode="area", sizes=(2, 3))
    grid = _floats(2, 3, 2, 2, low=-0.9, high=0.9)
    add("GridSample", {"x": IMAGE, "grid": grid})
    add("GridSample", {"x": IMAGE, "grid": 1.5 * grid}, mode="cubic", padding="reflection")
    add("GridSample", {"x": IMAGE, "grid": grid}, mode="nearest")
    add("GridSample", {"x": VOLUME, "grid": _floats(1, 2, 1, 2, 3, low=-0.9, high=0.9)},
        align_corners=True, padding="border")  # fmt: skip

    square, shifted = _floats(2, 3, 3), 3 * np.eye(3)
    for name in ("Inverse", "Determinant", "LogDeterminant"):
        add(name, {"x": square + shifted})
    add("Solve", {"a": square + shifted, "b": _floats(3, 2)})
    add("Solve", {"a": square[0] + shifted, "b": _floats(3)})
    add("Cholesky", {"x": square @ square.swapaxes(1, 2) + shifted})
    add("Triangle", {"x": square}, offset=1)
    add("Triangle", {"x": square}, part="upper")
    add("Diagonal", {"x": A}, offset=1)
    add("DiagonalMatrix", {"x": A}, offset=-1)
    add("Trace", {"x": square})

    add("StopGradient", {"x": A}, closed="x")
    add("GradientScale", {"x": A}, scale=0.5)
    add("GradientReversal", {"x": A})
    add("GradientClip", {"x": A}, limit=0.5)
    add("GradientClip", {"x": A}, limit=0.5, by="value")
    add("StraightThrough", {"hard": A, "soft": B}, closed="hard")
    add("Gradient", {"of": A, "wrt": A}, closed="of wrt")

    three = {"w": A, "x": B, "b": ROW}
    add("Formula", three)
    add("Formula", three, expression="d = w * x + b\nmean(d ** 2) + sum(tanh(d), axis=1)")
    add("Formula", {"w": A, "x": B}, closed="w", expression="stop_gradient(w) * x")
    add("Formula", {"x": DISTINCT, "w": A}, expression="where(x > 0, x @ w.T[:, 0:1], x[:, 0:1])")

    add("Loss", {"x": A}, scale=2.0)
    for name in ("MeanSquaredError", "MeanAbsoluteError", "Huber"):
        add(name, {"prediction": A, "target": B})
        add(name, {"prediction": A, "target": B}, reduction="none")
    add("CrossEntropy", {"logits": A, "labels": np.array([2, 0])}, closed="labels")
    add("CrossEntropy", {"logits": A, "labels": np.array([1, 0, 1])}, axis=0, closed="labels")
    add("CrossEntropy", {"logits": A, "labels": PROBABILITIES}, reduction="sum")
    add("BinaryCrossEntropy", {"prediction": A, "target": PROBABILITIES})
    add("BinaryCrossEntropy", {"prediction": A, "target": TRUTH}, closed="target")
    add(
        "BinaryCrossEntropy",
        {"prediction": PROBABILITIES, "target": PROBABILITIES[::-1]},
        given="probabilities",
    )
    add(
        "BinaryCrossEntropy",
        {"prediction": PROBABILITIES, "target": PROBABILITIES[::-1]},
        given="probabilities",
        edges="steep",
    )

    add("Dataset", {}, source="blobs", count=6)
    add("RandomNormal", {}, shape=(2, 3), mean=1.0, std=2.0)
    add("RandomNormal", {"like": A}, closed="like")
    add("RandomUniform", {}, shape=(2, 3), low=-1.0)
    add("RandomUniform", {"like": A}, dtype="float64", closed="like")
    add("Dropout", {"x": A}, rate=0.3, seed=2)
    add("Dropout", {"x": A}, mode="eval")
    return found


EXAMPLES = _examples()
