"""Blocks and arrays on which they are compared with PyTorch and JAX, and what all three answer.

Along the first axis of the arrays lie places that don't influence one another, so that a
difference can be laid to the numbers of one place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from gradwire.blocks.library.formula import Formula
from gradwire.blocks.registry import registry
from gradwire.runtime.calculus import sweep
from gradwire.runtime.calculus.choices.definitions.systems import forward_in
from gradwire.runtime.diagram.model import own_ports
from gradwire.runtime.diagram.pages import inside
from gradwire.runtime.diagram.paths import PortName
from tests.runtime.calculus.peers import jax as in_jax
from tests.runtime.calculus.peers import pytorch
from tests.runtime.calculus.tracing import Traced

if TYPE_CHECKING:
    from gradwire.blocks import Block
    from tests.runtime.calculus.tracing import Array

Function = Callable[..., Any]
Key = tuple[str, str, float]
"""A quantity, the input that it is for (empty for the value), and the gradient that arrives."""
Answers = dict[Key, "Array"]
VALUE: Key = ("value", "", 1.0)
ARRIVING = (1.0, 0.0, np.inf, np.nan)
"""Gradients that arrive at the output; second derivatives are taken where 1 does."""

HAS = {"PyTorch": pytorch.has, "JAX": in_jax.has}


@dataclass(frozen=True)
class Comparison:
    """A block, and arrays for its inputs."""

    block: Block
    inputs: Mapping[str, Array]

    @property
    def name(self) -> str:
        return self.block.type_name()

    @property
    def dtype(self) -> str:
        """The dtype of the first float input, else of the first."""
        dtypes = [x.dtype.name for x in self.inputs.values()]
        return next((dtype for dtype in dtypes if dtype.startswith("float")), dtypes[0])

    @property
    def systems(self) -> list[str]:
        """The systems that have the block."""
        return [system for system, has in HAS.items() if has(self.block)]

    def __str__(self) -> str:
        shape = next(iter(self.inputs.values())).shape
        return f"{self.name}({self.block}) {self.dtype}{list(shape)}"

    def of(self, system: str) -> Answers:
        """What a system answers; ``Gradwire`` is this one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of casts and overflows inside the other systems
            return {"Gradwire": _ours, "PyTorch": _pytorch, "JAX": _jax}[system](self)

    def by_definition(self, system: str) -> Answers:
        """What a system answers by the definitions that we have of it."""
        return _ours(self, lambda xp, *x: forward_in(system, self.block, xp, x))

    def of_or_none(self, system: str) -> Answers | None:
        """What a system answers; None if it has no such function of these dtypes."""
        try:
            return self.of(system)
        except (RuntimeError, TypeError, ValueError):
            return None

    def floats(self) -> list[tuple[int, str]]:
        """Place and name of each input that has a gradient."""
        return [(i, n) for i, (n, x) in enumerate(self.inputs.items()) if x.dtype.kind == "f"]

    def zeros(self) -> Answers:
        """Derivatives that are 0."""
        kinds = [*(("gradient", arriving) for arriving in ARRIVING), ("second derivative", 1.0)]
        return {
            (quantity, name, arriving): np.zeros_like(self.inputs[name])
            for quantity, arriving in kinds
            for _, name in self.floats()
        }


def _ours(given: Comparison, forward: Function | None = None) -> Answers:
    inputs = given.inputs
    traced = Traced(forward or _forward(given.block), *inputs.values())
    found = {VALUE: traced.value()}
    if not traced.out.dtype.startswith("float"):
        return found
    xp, leaves = traced.trace.xp, traced.leaves
    second: dict[Any, Any] = {}
    for arriving in ARRIVING:
        seed = xp.full_like(traced.out, arriving)
        first = sweep([(traced.out, seed)], leaves)
        for place, name in given.floats():
            slope = first.get(leaves[place])
            found["gradient", name, arriving] = _or_zeros(traced, slope, inputs[name])
        sums = [xp.sum(first[leaves[i]]) for i, _ in given.floats() if leaves[i] in first]
        if arriving == 1.0 and sums:
            total = sum(sums[1:], sums[0])
            second = sweep([(total, xp.ones_like(total))], leaves)
    for place, name in given.floats():
        found["second derivative", name, 1.0] = _or_zeros(
            traced, second.get(leaves[place]), inputs[name]
        )
    return found


def _forward(block: Block) -> Function:
    """The arithmetic of the first output; of a Formula, that of the blocks inside."""
    if len(block.outputs) > 1:
        return lambda xp, *inputs: _first(block.forward(xp, *inputs))
    if not isinstance(block, Formula):
        return block.forward
    page = inside(block.expression)

    def forward(xp: Any, *inputs: Any) -> Any:
        known = dict(zip(block.content.inputs, inputs, strict=True))

        def value(name: str) -> Any:
            if name not in known:
                read = [page.wires[PortName(name, port)] for port in own_ports(page, name).inputs]
                known[name] = page.blocks[name].forward(xp, *(value(end.block) for end in read))
            return known[name]

        return value(block.output_names()[0])

    return forward


def _first(outputs: Any) -> Any:
    """The first of several outputs, or the only one."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


def _or_zeros(traced: Traced, value: Any, like: Array) -> Array:
    return np.zeros_like(like) if value is None else traced.read(value)


def _pytorch(given: Comparison) -> Answers:
    tensors = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in given.inputs.values()]
    out = _first(pytorch.FUNCTIONS[given.name](given.block, *tensors))
    found = {VALUE: out.detach().numpy(force=True)}
    if not out.is_floating_point():
        return found
    if not out.requires_grad:  # cut off from all inputs
        return found | given.zeros()
    places = given.floats()
    wanted = [tensors[i] for i, _ in places]

    def keep(quantity: str, arriving: float, slopes: Any) -> None:
        for (_, name), slope in zip(places, slopes, strict=True):
            zeros = np.zeros_like(given.inputs[name])
            found[quantity, name, arriving] = (
                zeros if slope is None else slope.detach().clone().numpy(force=True)
            )

    for arriving in ARRIVING:
        first = torch.autograd.grad(
            out, wanted, torch.full_like(out, arriving), create_graph=True, allow_unused=True
        )
        keep("gradient", arriving, first)
        if arriving == 1.0:
            total = sum(g.sum() for g in first if g is not None)
            flat = not (isinstance(total, torch.Tensor) and total.requires_grad)
            keep("second derivative", 1.0, [None] * len(wanted) if flat else torch.autograd.grad(
                total, wanted, retain_graph=True, allow_unused=True))  # fmt: skip
    return found


def _jax(given: Comparison) -> Answers:
    arrays = [jnp.asarray(x) for x in given.inputs.values()]
    function, places = in_jax.FUNCTIONS[given.name], given.floats()

    def of(*floats: Any) -> Any:
        given_to = list(arrays)
        for (i, _), x in zip(places, floats, strict=True):
            given_to[i] = x
        return _first(function(given.block, *given_to))

    def slopes(*floats: Any) -> Any:
        out, pull = jax.vjp(of, *floats)
        return pull(jnp.ones_like(out))

    wanted = [arrays[i] for i, _ in places]
    if not wanted:
        return {VALUE: np.asarray(of())}
    out, pull = jax.vjp(of, *wanted)
    found = {VALUE: np.asarray(out)}
    if out.dtype.kind != "f":
        return found
    answers = {("gradient", a): pull(jnp.full_like(out, a)) for a in ARRIVING}
    total, pull = jax.vjp(lambda *floats: sum(g.sum() for g in slopes(*floats)), *wanted)
    answers["second derivative", 1.0] = pull(jnp.ones_like(total))
    for (quantity, arriving), parts in answers.items():
        for (_, name), slope in zip(places, parts, strict=True):
            found[quantity, name, arriving] = np.asarray(slope)
    return found


# ---- the arrays -------------------------------------------------------------------------------


def specials(dtype: str) -> Array:
    """Numbers at which functions have their kinks, poles and overflows."""
    info = np.finfo(dtype)
    finite = [0.0, -0.0, 1, -1, 0.5, -2.5, 3, -7, 9]
    extreme = [np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, -info.smallest_subnormal]
    return np.array([*finite, *extreme], dtype)


def pairs(dtype: str) -> tuple[Array, Array]:
    """Every special number with every other."""
    grid = np.array(list(product(specials(dtype), repeat=2)), dtype)
    return grid[:, 0], grid[:, 1]


def rows(dtype: str) -> Array:
    """Every pair of special numbers and a 1, and zeros: rows of three along an axis."""
    a, b = pairs(dtype)
    return np.concatenate([np.stack([a, b, np.ones_like(a)], axis=1), np.zeros((1, 3), dtype)])


def integers(dtype: str) -> Array:
    """Integers, and the borders of their dtype; both booleans."""
    if dtype == "bool":
        return np.array([True, False])
    info = np.iinfo(dtype)
    wanted = [1, 2, 3, 7, 100, -1, -2, -7, info.max, info.max - 1, info.min, 2**24 + 1]
    return np.array([x for x in wanted if info.min <= x <= info.max], dtype)


# ---- the comparisons --------------------------------------------------------------------------

UNARY = (
    "Neg", "Abs", "Square", "Sqrt", "Exp", "Expm1", "Log", "Log1p", "Sin", "Cos", "Sign", "Round",
    "Floor", "Ceil", "Clip", "IsFinite", "Tanh", "Sigmoid", "Relu", "LeakyRelu", "Elu", "Gelu",
    "Silu", "Softplus", "Tan", "Arcsin", "Arccos", "Arctan", "Sinh", "Cosh", "Arcsinh", "Arccosh",
    "Arctanh", "Erf", "IsNaN", "IsInf",
)  # fmt: skip
BINARY = (
    "Add", "Sub", "Mul", "Div", "Mod", "Pow", "Maximum", "Minimum", "Arctan2", "Greater",
    "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual",
)  # fmt: skip
ALONG = (
    "Sum", "Mean", "Variance", "Prod", "Max", "Min", "LogSumExp", "Norm", "Softmax", "LogSoftmax",
    "CumulativeSum", "Sort", "ArgSort", "ArgMax", "ArgMin", "AllTrue", "AnyTrue", "Flip",
)  # fmt: skip
OF_NOTHING = ("Sum", "Prod", "AllTrue", "AnyTrue", "CumulativeSum", "Sort", "Flip")
"""Blocks that have a result for rows without elements in every dtype."""


class Comparisons(list["Comparison"]):
    """A list that is written block by block."""

    def add(self, name: str, inputs: Mapping[str, Array], **parameters: Any) -> None:
        """Compare a block with these parameters on these arrays."""
        self.append(Comparison(registry().get(name)(**parameters), inputs))


def of_integers(dtype: str) -> Comparisons:
    """What PyTorch or JAX does with an integer dtype; not negative or 0 on the right."""
    found = Comparisons()
    x = integers(dtype)
    a, b = (side.ravel() for side in np.meshgrid(x, x[x > 0]))
    along = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2)
    for name in UNARY:
        found.add(name, {"x": x})
    for name in BINARY:
        found.add(name, {"a": a, "b": b})
    for name in ALONG:
        found.add(name, {"x": along}, axis=-1)
    found.add("Where", {"condition": a > 0, "a": a, "b": b})
    found.add("AddN", {"terms.0": a, "terms.1": b})
    for op in ("and", "or", "xor"):
        found.add("Bits", {"a": a, "b": b}, op=op)
    for op in ("left", "right") if dtype != "bool" else ():
        found.add("Bits", {"a": x, "b": np.full_like(x, 3)}, op=op)
    _parts(found, along)
    if dtype == "bool":
        for name in ("And", "Or", "Xor"):
            found.add(name, {"a": along[:, 0].copy(), "b": along[:, 1].copy()})
        found.add("Not", {"x": x})
    else:
        found.add("OneHot", {"indices": np.array([0, 1, 2, 1], dtype)}, depth=3)
    _shapes(found, x)
    return found


def of_floats(dtype: str) -> Comparisons:
    """Every block that PyTorch or JAX has, on special numbers of a float dtype."""
    found = Comparisons()
    a, b = pairs(dtype)
    x = rows(dtype)
    other = x[::-1].copy()
    for name in UNARY:
        found.add(name, {"x": specials(dtype)})
    found.add("Gelu", {"x": specials(dtype)}, approximate="tanh")
    for sign in ("positive", "negative"):
        found.add("IsInf", {"x": specials(dtype)}, sign=sign)
    for name in BINARY:
        found.add(name, {"a": a, "b": b})
    found.add("AddN", {"terms.0": a, "terms.1": b})
    found.add("Where", {"condition": a > 0, "a": a, "b": b})
    for name in ALONG:
        found.add(name, {"x": x}, axis=-1)
    found.add("Prod", {"x": x[(x != 0).all(1)]}, axis=-1)
    _running(found, dtype)
    _scattered(found, x)
    _activations(found, dtype)
    for right in (other, np.zeros_like(other)):
        found.add("CosineSimilarity", {"a": x, "b": right})
    found.add("Dot", {"a": x, "b": other})
    _losses(found, dtype)
    _reduced_losses(found, dtype)
    _parts(found, x)
    found.add("Cast", {"x": x}, dtype="float16")
    _products(found, dtype)
    _layers(found, dtype)
    _matrices(found, dtype)
    found.add("StopGradient", {"x": x})
    for name in ("GradientScale", "GradientReversal"):
        found.add(name, {"x": x}, scale=0.5)
    for by in ("norm", "value"):
        found.add("GradientClip", {"x": x}, limit=0.5, by=by)
    found.add("StraightThrough", {"hard": x, "soft": other})
    _shapes(found, specials(dtype))
    return found


def _running(found: Comparisons, dtype: str) -> None:
    """Running sums and products of ordinary numbers and of one or several zeros."""
    x = np.array(list(product([0, 1, -0.5, 3], repeat=4)), dtype)
    for name in ("CumulativeSum", "CumulativeProduct"):
        for reverse, exclusive in product([False, True], repeat=2):
            found.add(name, {"x": x}, reverse=reverse, exclusive=exclusive)


def _activations(found: Comparisons, dtype: str) -> None:
    """Activations that are made of others, on ordinary numbers without a kink."""
    x = np.array([-4, -2.5, -1, -0.3, 0.2, 1, 2.5, 7], dtype)
    for name in ("Selu", "Celu", "Mish", "HardSigmoid", "HardSwish"):
        found.add(name, {"x": x})
    found.add("PRelu", {"x": x, "slope": np.array(0.25, dtype)})


def _scattered(found: Comparisons, x: Array) -> None:
    """Updates of rows, each place by itself; PyTorch's products and JAX's want ordinary numbers."""
    updates = x[::-1, :2].copy()
    plain = np.array(list(product([0, 1, -0.5, 3], repeat=3)), x.dtype)
    columns = np.arange(len(x))[:, None] % 2 + np.array([[0, 1]])
    for mode in ("set", "add", "max", "min"):
        found.add("ScatterAlong", {"x": x, "indices": columns, "updates": updates},
                  mode=mode, axis=1)  # fmt: skip
    for mode in ("set", "add", "max", "min"):
        found.add("ScatterAlong", {"x": x, "indices": 0 * columns, "updates": updates},
                  mode=mode, axis=1)  # fmt: skip
    found.add("ScatterAlong", {"x": plain, "indices": columns[: len(plain)],
                               "updates": plain[::-1, :2].copy()}, mode="mul", axis=1)  # fmt: skip
    places = (np.arange(len(x)) + 2) % len(x)
    for mode in ("set", "add"):
        found.add("ScatterRows", {"x": x, "indices": places, "updates": x[::-1].copy()}, mode=mode)
    once = {"x": x, "indices": np.array([1, 1]), "updates": updates}
    found.add("ScatterRows", once, axis=1)


def _losses(found: Comparisons, dtype: str) -> None:
    """Losses of every pair, not reduced."""
    a, b = pairs(dtype)
    x = rows(dtype)
    share = np.clip(np.nan_to_num(b), 0, 1)
    for name in ("MeanSquaredError", "MeanAbsoluteError", "Huber"):
        found.add(name, {"prediction": a, "target": b}, reduction="none")
    found.add("BinaryCrossEntropy", {"prediction": a, "target": share}, reduction="none")
    found.add("BinaryCrossEntropy", {"prediction": np.clip(np.nan_to_num(a), 0, 1),
                                     "target": share},
              given="probabilities", reduction="none")  # fmt: skip
    for labels in (np.arange(len(x)) % 3, np.full_like(x, 0.25)):
        found.add("CrossEntropy", {"logits": x, "labels": labels}, reduction="none")


def _reduced_losses(found: Comparisons, dtype: str) -> None:
    """Losses as their mean and their sum over ordinary numbers, which all share in a NaN."""
    grid = np.array(list(product([0.0, -0.0, 1, -1, 0.5, -2.5, 3], repeat=2)), dtype)
    p, t = grid[:, 0].copy(), grid[:, 1].copy()
    classes = np.arange(len(p)) % 3
    for reduction in ("mean", "sum"):
        for name in ("MeanSquaredError", "MeanAbsoluteError", "Huber"):
            found.add(name, {"prediction": p, "target": t}, reduction=reduction)
        found.add("BinaryCrossEntropy", {"prediction": p, "target": np.clip(t, 0, 1)},
                  reduction=reduction)  # fmt: skip
        found.add("CrossEntropy", {"logits": np.stack([p, t, p * t], 1), "labels": classes},
                  reduction=reduction)  # fmt: skip


def _parts(found: Comparisons, x: Array) -> None:
    """Blocks that take parts of rows, join them, or put them into another order."""
    other, classes = x[::-1].copy(), np.arange(len(x)) % x.shape[1]
    found.add("Pad", {"x": x}, widths=((0, 0), (1, 0)), value=1.0)
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        found.add("Pad", {"x": x}, widths=((0, 0), (1, 1)), mode=mode)
    found.add("Slice", {"x": x}, begin=(0, 1), size=(-1, 1))
    found.add("Gather", {"x": x, "indices": np.array([1, 1, 0])}, axis=1)
    found.add("PickAlong", {"x": x, "indices": classes})
    found.add("TakeAlong", {"x": x, "indices": np.stack([classes, 0 * classes], 1)})
    found.add("ArgSort", {"x": x}, descending=True)
    for largest in (True, False):
        found.add("TopK", {"x": x}, k=x.shape[1], largest=largest)
    found.add("Concat", {"parts.0": x, "parts.1": other[:, :1].copy()}, axis=1)
    found.add("Stack", {"parts.0": x, "parts.1": other}, axis=1)
    found.add("Sort", {"x": x}, axis=-1, descending=True)
    found.add("Reshape", {"x": x}, shape=(len(x), 1, x.shape[1]))
    found.add("Flatten", {"x": x[:, :, None]})
    found.add("Transpose", {"x": x[:, None]}, perm=(0, 2, 1))
    found.add("ExpandDims", {"x": x}, axis=1)
    found.add("Squeeze", {"x": x[:, None]}, axis=1)
    found.add("Broadcast", {"x": x[:, :1]}, shape=x.shape)


def _products(found: Comparisons, dtype: str) -> None:
    """Matrix products, convolution and pooling; weights are shared by all places."""
    x = rows(dtype)
    other = x[::-1].copy()
    weight, bias = np.array([[1, -2, 0.5], [0, 3, -1]], dtype), np.array([0.5, -1], dtype)
    found.add("MatMul", {"a": x[:, None, :], "b": other[:, :, None]})
    found.add("MatMul", {"a": weight, "b": weight.T.copy()})
    found.add("Linear", {"x": x, "weight": weight, "bias": bias})
    three = {"w": x, "x": other, "b": x[:, :1]}
    found.add("Formula", three, expression="w * x + b")
    found.add("Einsum", {"terms.0": x, "terms.1": other}, subscripts="ni,ni->ni")
    found.add("Einsum", {"terms.0": x, "terms.1": weight}, subscripts="ni,ki->nk")
    image = np.stack([x, other], 1)[:, None]
    filters = np.array([[[[1, -0.5], [0, 2]]], [[[-1, 3], [0.5, 1]]]], dtype)
    found.add("Conv2D", {"x": image, "weight": filters, "bias": bias})
    for name in ("MaxPool2D", "AvgPool2D"):
        found.add(name, {"x": image}, window=(2, 2), stride=(1, 1))
    _lines_and_volumes(found, x[:, None], filters, bias)
    found.add("Resize", {"x": x[:, None]}, sizes=(5,), coordinates="asymmetric", rounding="floor")
    for mode in ("linear", "area"):
        found.add("Resize", {"x": x[:, None]}, sizes=(5,), mode=mode)
    if dtype != "float16":
        grid = np.broadcast_to(np.array([[-0.9, 0.2], [0.3, -0.4]], dtype), (len(x), 1, 2, 2))
        plain = np.clip(np.nan_to_num(image), -9, 9)
        found.add("GridSample", {"x": plain, "grid": grid.copy()})


def _matrices(found: Comparisons, dtype: str) -> None:
    """Square matrices that are far from singular, and parts of matrices of any numbers."""
    x = rows(dtype)
    grid = np.stack([x, x[::-1]], 1)
    for part in ("lower", "upper"):
        found.add("Triangle", {"x": grid}, part=part)
    found.add("Diagonal", {"x": grid}, offset=1)
    found.add("DiagonalMatrix", {"x": x}, offset=-1)
    found.add("Trace", {"x": grid})
    if dtype == "float16":  # which other systems don't compute with
        return
    corner = np.arange(18, dtype=dtype).reshape(2, 3, 3) % 7 / 4
    square = corner + 4 * np.eye(3, dtype=dtype)
    for name in ("Inverse", "Determinant", "LogDeterminant"):
        found.add(name, {"x": square})
    found.add("Solve", {"a": square, "b": corner[:, :, :2].copy()})
    found.add("Cholesky", {"x": square @ square.swapaxes(1, 2)})


def _lines_and_volumes(found: Comparisons, line: Array, filters: Array, bias: Array) -> None:
    """Convolution and pooling over one axis and over three, and transposed convolution."""
    image, volume = line[:, :, None], np.stack([line, line[::-1]], 2)[:, :, :, None]
    found.add("Conv1D", {"x": line, "weight": filters[:, :, 0].copy(), "bias": bias})
    found.add("Conv3D", {"x": volume, "weight": filters[:, :, :, None].copy(), "bias": bias})
    back = filters[:1]
    found.add("ConvTranspose1D", {"x": line, "weight": back[:, :, 0].copy()}, stride=2)
    found.add("ConvTranspose2D", {"x": image, "weight": back.copy()}, stride=(2, 1))
    found.add("ConvTranspose3D", {"x": volume, "weight": back[:, :, :, None].copy()})
    for name in ("MaxPool1D", "AvgPool1D"):
        found.add(name, {"x": line}, window=2, stride=1)
    if line.dtype == np.float16:
        return
    found.add("MaxPool3D", {"x": volume}, window=(2, 1, 2), stride=(1, 1, 1))
    # Where the largest numbers cancel, what is left of a sum of four depends on its order, and
    # that of JAX on the processor: where a place has both of them, windows have two numbers.
    found.add("AvgPool3D", {"x": volume}, window=(2, 1, 1), stride=(1, 1, 1))
    largest = np.finfo(volume.dtype).max
    cancels = [(volume == x).any(axis=(1, 2, 3, 4)) for x in (largest, -largest)]
    rest = volume[~np.logical_and(*cancels)]
    found.add("AvgPool3D", {"x": rest}, window=(2, 1, 2), stride=(1, 1, 1))


def _layers(found: Comparisons, dtype: str) -> None:
    """Layers, on ordinary numbers: what they are made of is compared on special ones."""
    draw = np.random.default_rng(5)
    weight = draw.normal(size=(4, 3)).astype(dtype)
    for padding in (None, 1):
        found.add("Embedding", {"indices": np.array([3, 1, 1, 0]), "weight": weight},
                  padding=padding)  # fmt: skip
    x, (factor, bias, mean) = draw.normal(size=(5, 4, 3)).astype(dtype), weight.T
    by_axis = {"weight": weight[0], "bias": weight[1]}
    found.add("LayerNorm", {"x": x, **by_axis}, epsilon=0.1)
    found.add("LayerNorm", {"x": x}, axes=(1, 2), epsilon=0.1)
    found.add("RMSNorm", {"x": x, "weight": weight[0]})
    by_channel = {"weight": factor, "bias": bias}
    found.add("GroupNorm", {"x": x, **by_channel}, groups=2)
    kept = {"mean": mean, "variance": np.abs(factor) + 1}
    for mode in ("batch", "running"):
        found.add("BatchNorm", {"x": x, **by_channel, **kept}, mode=mode)
    found.add("LRN", {"x": x}, size=3, alpha=0.5)
    queries = x[:, :2].copy()
    found.add("Attention", {"query": queries, "key": x, "value": x[:, ::-1].copy()})
    found.add("Attention", {"query": x, "key": x, "value": x}, causal=True, scale=0.5)
    mask = np.array([[True, False, True, True], [False, True, True, False]])
    found.add("Attention", {"query": queries, "key": x, "value": x, "mask": mask})
    found.add("Attention", {"query": queries, "key": x, "value": x,
                            "mask": weight[:2].repeat(2, 1)[:, :4].copy()})  # fmt: skip


def _shapes(found: Comparisons, x: Array) -> None:
    """Empty arrays, one against many, rows of one element, and what rows of none add up to."""
    rows, wide = np.stack([x, x], axis=1), x[x > 0][:3].copy()
    for name in UNARY:
        found.add(name, {"x": x[:0]})
    for name in BINARY:
        found.add(name, {"a": x[:0], "b": wide[:1]})
        found.add(name, {"a": x[:, None], "b": wide})
    found.add("Where", {"condition": (x > 0)[:, None], "a": rows, "b": wide[:1]})
    for name in ALONG:
        found.add(name, {"x": rows[:0]}, axis=-1)
    for name in OF_NOTHING:
        found.add(name, {"x": rows[:, :0]}, axis=-1)
    if x.dtype.kind == "f":
        for name in ALONG:
            found.add(name, {"x": rows[:, :1]}, axis=-1)
        found.add("Norm", {"x": rows[:, :0]}, axis=-1)
        found.add("CosineSimilarity", {"a": rows[:, :0], "b": rows[:, :0]})
        found.add("Dot", {"a": rows[:, :0], "b": rows[:, :0]})
        found.add("MatMul", {"a": rows[:, None, :0], "b": rows[:, :0, None]})
        for name in ("MeanSquaredError", "MeanAbsoluteError", "Huber"):
            found.add(name, {"prediction": x[:0], "target": x[:0]}, reduction="sum")


def of_nothing(dtype: str) -> Comparisons:
    """Blocks that refuse to reduce no elements, which other systems do."""
    found, rows = Comparisons(), np.ones((3, 0), dtype)
    for name in ("Mean", "Variance", "LogSumExp", "Softmax", "LogSoftmax"):
        found.add(name, {"x": rows}, axis=-1)
    for name in ("MeanSquaredError", "MeanAbsoluteError", "Huber"):
        found.add(name, {"prediction": rows, "target": rows}, reduction="mean")
    return found
