"""What PyTorch and JAX have for each block of the library, and the arrays to compare them on.

Along the first axis of the arrays lie places that don't influence one another, so that a
difference can be laid to the numbers of one place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from blocks import Block, registry
from runtime.calculus import sweep
from runtime.calculus.choices.definitions import forward_in
from tests.runtime.calculus.tracing import Traced

if TYPE_CHECKING:
    from tests.runtime.calculus.tracing import Array

Function = Callable[..., Any]
Key = tuple[str, str, float]
"""A quantity, the input that it is for (empty for the value), and the gradient that arrives."""
Answers = dict[Key, "Array"]
VALUE: Key = ("value", "", 1.0)
ARRIVING = (1.0, 0.0, np.inf, np.nan)
"""Gradients that arrive at the output; second derivatives are taken where 1 does."""

SYSTEMS = ("PyTorch", "JAX")
F = torch.nn.functional


@dataclass(frozen=True)
class Comparison:
    """A block, arrays for its inputs, and functions of these arrays by system."""

    block: Block
    inputs: Mapping[str, Array]
    functions: Mapping[str, Function]

    @property
    def name(self) -> str:
        return self.block.type_name()

    @property
    def dtype(self) -> str:
        """The dtype of the first float input, else of the first."""
        dtypes = [x.dtype.name for x in self.inputs.values()]
        return next((dtype for dtype in dtypes if dtype.startswith("float")), dtypes[0])

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

    def refused(self, system: str) -> bool:
        """Whether a system has no such function of these dtypes."""
        try:
            self.of(system)
        except (RuntimeError, TypeError, ValueError):
            return True
        return False

    def floats(self) -> list[tuple[int, str]]:
        """Place and name of each input that has a gradient."""
        return [(i, n) for i, (n, x) in enumerate(self.inputs.items()) if x.dtype.kind == "f"]


def _ours(given: Comparison, forward: Function | None = None) -> Answers:
    inputs = given.inputs
    traced = Traced(forward or given.block.forward, *inputs.values())
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


def _or_zeros(traced: Traced, value: Any, like: Array) -> Array:
    return np.zeros_like(like) if value is None else traced.read(value)


def _pytorch(given: Comparison) -> Answers:
    tensors = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in given.inputs.values()]
    out = given.functions["PyTorch"](*tensors)
    found = {VALUE: out.detach().numpy(force=True)}
    if not out.requires_grad:
        return found
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
    function, places = given.functions["JAX"], given.floats()

    def of(*floats: Any) -> Any:
        given_to = list(arrays)
        for (i, _), x in zip(places, floats, strict=True):
            given_to[i] = x
        return function(*given_to)

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


# ---- the functions ----------------------------------------------------------------------------

UNARY: dict[str, tuple[Function, Function]] = {
    "Neg": (torch.neg, jnp.negative),
    "Abs": (torch.abs, jnp.abs),
    "Square": (torch.square, jnp.square),
    "Sqrt": (torch.sqrt, jnp.sqrt),
    "Exp": (torch.exp, jnp.exp),
    "Expm1": (torch.expm1, jnp.expm1),
    "Log": (torch.log, jnp.log),
    "Log1p": (torch.log1p, jnp.log1p),
    "Sin": (torch.sin, jnp.sin),
    "Cos": (torch.cos, jnp.cos),
    "Sign": (torch.sign, jnp.sign),
    "Round": (torch.round, jnp.round),
    "Floor": (torch.floor, jnp.floor),
    "Ceil": (torch.ceil, jnp.ceil),
    "Clip": (lambda x: torch.clamp(x, 0, 1), lambda x: jnp.clip(x, 0, 1)),
    "IsFinite": (torch.isfinite, jnp.isfinite),
    "Tanh": (torch.tanh, jnp.tanh),
    "Sigmoid": (torch.sigmoid, jax.nn.sigmoid),
    "Relu": (torch.relu, jax.nn.relu),
    "LeakyRelu": (F.leaky_relu, jax.nn.leaky_relu),
    "Elu": (F.elu, jax.nn.elu),
    "Gelu": (F.gelu, lambda x: jax.nn.gelu(x, approximate=False)),
    "Silu": (F.silu, jax.nn.silu),
    "Softplus": (F.softplus, jax.nn.softplus),
}
BINARY: dict[str, tuple[Function, Function]] = {
    "Add": (torch.add, jnp.add),
    "Sub": (torch.sub, jnp.subtract),
    "Mul": (torch.mul, jnp.multiply),
    "Div": (torch.div, jnp.divide),
    "Mod": (torch.remainder, jnp.remainder),
    "Pow": (torch.pow, jnp.power),
    "Maximum": (torch.maximum, jnp.maximum),
    "Minimum": (torch.minimum, jnp.minimum),
    "Arctan2": (torch.atan2, jnp.arctan2),
    "Greater": (torch.gt, jnp.greater),
    "GreaterEqual": (torch.ge, jnp.greater_equal),
    "Less": (torch.lt, jnp.less),
    "LessEqual": (torch.le, jnp.less_equal),
    "Equal": (torch.eq, jnp.equal),
    "NotEqual": (torch.ne, jnp.not_equal),
}
ALONG: dict[str, tuple[Function, Function]] = {
    "Sum": (lambda x: torch.sum(x, -1), lambda x: jnp.sum(x, -1)),
    "Mean": (lambda x: torch.mean(x, -1), lambda x: jnp.mean(x, -1)),
    "Variance": (lambda x: torch.var(x, -1, correction=0), lambda x: jnp.var(x, -1)),
    "Prod": (lambda x: torch.prod(x, -1), lambda x: jnp.prod(x, -1)),
    "Max": (lambda x: torch.amax(x, -1), lambda x: jnp.max(x, -1)),
    "Min": (lambda x: torch.amin(x, -1), lambda x: jnp.min(x, -1)),
    "LogSumExp": (
        lambda x: torch.logsumexp(x, -1),
        lambda x: jax.scipy.special.logsumexp(x, -1),
    ),
    "Norm": (
        lambda x: torch.linalg.vector_norm(x, dim=-1),
        lambda x: jnp.linalg.norm(x, axis=-1),
    ),
    "Softmax": (lambda x: torch.softmax(x, -1), jax.nn.softmax),
    "LogSoftmax": (lambda x: torch.log_softmax(x, -1), jax.nn.log_softmax),
    "CumulativeSum": (lambda x: torch.cumsum(x, -1), lambda x: jnp.cumsum(x, -1)),
    "Sort": (
        lambda x: torch.sort(x, dim=-1, stable=True).values,
        lambda x: jnp.sort(x, -1),
    ),
    "ArgMax": (lambda x: torch.argmax(x, -1), lambda x: jnp.argmax(x, -1)),
    "ArgMin": (lambda x: torch.argmin(x, -1), lambda x: jnp.argmin(x, -1)),
    "AllTrue": (lambda x: torch.all(x, -1), lambda x: jnp.all(x, -1)),
    "AnyTrue": (lambda x: torch.any(x, -1), lambda x: jnp.any(x, -1)),
    "Flip": (lambda x: torch.flip(x, (-1,)), lambda x: jnp.flip(x, -1)),
}


def _pooled(x: Any, start: float, by: Any) -> Any:
    return jax.lax.reduce_window(x, start, by, (1, 1, 2, 2), (1,) * 4, "VALID")


def of_integers(dtype: str) -> list[Comparison]:
    """What PyTorch or JAX does with an integer dtype; not negative or 0 on the right."""
    x = integers(dtype)
    a, b = (side.ravel() for side in np.meshgrid(x, x[x > 0]))
    along = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2)
    given: list[tuple[dict[str, tuple[Function, Function]], dict[str, Array], dict[str, Any]]] = [
        (UNARY, {"x": x}, {}), (BINARY, {"a": a, "b": b}, {}), (ALONG, {"x": along}, {"axis": -1})
    ]  # fmt: skip
    return [
        Comparison(
            registry().get(name)(**parameters), inputs, dict(zip(SYSTEMS, both, strict=True))
        )
        for table, inputs, parameters in given
        for name, both in table.items()
    ]


def comparisons(dtype: str) -> list[Comparison]:
    """Every block that PyTorch or JAX has, on special numbers of a float dtype."""
    found: list[Comparison] = []

    def add(
        name: str, inputs: Mapping[str, Array], *functions: Function | None, **parameters: Any
    ) -> None:
        systems = zip(SYSTEMS, functions, strict=False)
        block = registry().get(name)(**parameters)
        found.append(Comparison(block, inputs, {s: f for s, f in systems if f is not None}))

    x, (a, b), row = {"x": specials(dtype)}, pairs(dtype), {"x": rows(dtype)}
    other = row["x"][::-1].copy()
    classes = np.arange(len(other)) % 3
    for name, functions in UNARY.items():
        add(name, x, *functions)
    add("Gelu", x, lambda x: F.gelu(x, approximate="tanh"), jax.nn.gelu, approximate="tanh")
    for name, functions in BINARY.items():
        add(name, {"a": a, "b": b}, *functions)
    add("AddN", {"terms.0": a, "terms.1": b}, torch.add, jnp.add)
    add("Where", {"condition": a > 0, "a": a, "b": b}, torch.where, jnp.where)
    for name, functions in ALONG.items():
        add(name, row, *functions, axis=-1)
    never_0 = {"x": row["x"][(row["x"] != 0).all(1)]}
    add("Prod", never_0, *ALONG["Prod"], axis=-1)

    each = {"reduction": "none"}
    distance = {"prediction": a, "target": b}
    add("MeanSquaredError", distance, lambda p, t: F.mse_loss(p, t, reduction="none"),
        lambda p, t: jnp.square(p - t), **each)  # fmt: skip
    add("MeanAbsoluteError", distance, lambda p, t: F.l1_loss(p, t, reduction="none"),
        lambda p, t: jnp.abs(p - t), **each)  # fmt: skip
    add("Huber", distance, lambda p, t: F.huber_loss(p, t, reduction="none"), **each)
    target = np.clip(np.nan_to_num(b), 0, 1)
    add("BinaryCrossEntropy", {"prediction": a, "target": target},
        lambda p, t: F.binary_cross_entropy_with_logits(p, t, reduction="none"),
        lambda p, t: jax.nn.softplus(p) - t * p, **each)  # fmt: skip
    add("BinaryCrossEntropy", {"prediction": np.clip(np.nan_to_num(a), 0, 1), "target": target},
        lambda p, t: F.binary_cross_entropy(p, t, reduction="none"), given="probabilities",
        **each)  # fmt: skip
    add("CrossEntropy", {"logits": row["x"], "labels": classes},
        lambda x, t: F.cross_entropy(x, t, reduction="none"),
        lambda x, t: -jnp.take_along_axis(jax.nn.log_softmax(x), t[:, None], 1)[:, 0],
        **each)  # fmt: skip
    add("CrossEntropy", {"logits": row["x"], "labels": np.full_like(other, 0.25)},
        lambda x, t: F.cross_entropy(x, t, reduction="none"),
        lambda x, t: -jnp.sum(t * jax.nn.log_softmax(x), -1), **each)  # fmt: skip
    for right in (other, np.zeros_like(other)):
        add("CosineSimilarity", {"a": row["x"], "b": right},
            lambda a, b: F.cosine_similarity(a, b, -1))  # fmt: skip
    add("Dot", {"a": row["x"], "b": other}, lambda a, b: torch.einsum("ni,ni->n", a, b),
        lambda a, b: jnp.einsum("ni,ni->n", a, b))  # fmt: skip

    add("Pad", row, lambda x: F.pad(x, (1, 0), value=2.0),
        lambda x: jnp.pad(x, ((0, 0), (1, 0)), constant_values=2.0),
        widths=((0, 0), (1, 0)), value=2.0)  # fmt: skip
    add("Slice", row, *[lambda x: x[:, 1:]] * 2, begin=(0, 1), size=(-1, 2))
    add("Cast", row, lambda x: x.to(torch.float16), lambda x: x.astype("float16"), dtype="float16")
    add("Gather", {"x": row["x"], "indices": np.array([1, 1, 0])},
        lambda x, i: torch.index_select(x, 1, i), lambda x, i: jnp.take(x, i, 1),
        axis=1)  # fmt: skip
    add("PickAlong", {"x": row["x"], "indices": classes},
        lambda x, i: torch.gather(x, 1, i[:, None])[:, 0],
        lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0])  # fmt: skip
    image = {"x": np.stack([row["x"], other], 1)[:, None]}
    add("MaxPool2D", image, lambda x: F.max_pool2d(x, (2, 2), (1, 1)),
        lambda x: _pooled(x, -jnp.inf, jax.lax.max), window=(2, 2), stride=(1, 1))  # fmt: skip
    add("AvgPool2D", image, lambda x: F.avg_pool2d(x, (2, 2), (1, 1)),
        lambda x: _pooled(x, 0.0, jax.lax.add) / 4, window=(2, 2), stride=(1, 1))  # fmt: skip
    _products(add, dtype)
    _reduced_losses(add, dtype)
    if dtype == "float32":
        _shapes(add, dtype)
    return found


def _products(add: Function, dtype: str) -> None:
    """Matrix products, convolution and joining; weights are shared by all places."""
    x, other = rows(dtype), rows(dtype)[::-1].copy()
    weight, bias = np.array([[1, -2, 0.5], [0, 3, -1]], dtype), np.array([0.5, -1], dtype)
    left, right = x[:, None, :], other[:, :, None]
    add("MatMul", {"a": left, "b": right}, torch.matmul, jnp.matmul)
    add("MatMul", {"a": weight, "b": weight.T.copy()}, torch.matmul, jnp.matmul)
    add("Linear", {"x": x, "weight": weight, "bias": bias}, F.linear,
        lambda x, w, b: x @ w.T + b)  # fmt: skip
    add("Einsum", {"terms.0": x, "terms.1": other}, lambda a, b: torch.einsum("ni,ni->ni", a, b),
        lambda a, b: jnp.einsum("ni,ni->ni", a, b), subscripts="ni,ni->ni")  # fmt: skip
    add("Einsum", {"terms.0": x, "terms.1": weight}, lambda a, b: torch.einsum("ni,ki->nk", a, b),
        lambda a, b: jnp.einsum("ni,ki->nk", a, b), subscripts="ni,ki->nk")  # fmt: skip
    parts = {"parts.0": x, "parts.1": other[:, :2].copy()}
    add("Concat", parts, lambda *x: torch.cat(x, 1), lambda *x: jnp.concatenate(x, 1), axis=1)
    add("Stack", {"parts.0": x, "parts.1": other}, lambda *x: torch.stack(x, 1),
        lambda *x: jnp.stack(x, 1), axis=1)  # fmt: skip
    add("Sort", {"x": x}, lambda x: torch.sort(x, dim=-1, descending=True, stable=True).values,
        lambda x: jnp.sort(x, -1, descending=True, stable=True), axis=-1,
        descending=True)  # fmt: skip
    image = {"x": np.stack([x, other], 1)[:, None]}
    filters = np.array([[[[1, -0.5], [0, 2]]], [[[-1, 3], [0.5, 1]]]], dtype)
    add("Conv2D", {**image, "weight": filters, "bias": bias}, F.conv2d,
        lambda x, w, b: jax.lax.conv(x, w, (1, 1), "VALID") + b[:, None, None])  # fmt: skip


def _reduced_losses(add: Function, dtype: str) -> None:
    """Losses as their mean and their sum over ordinary numbers, which all share in a NaN."""
    grid = np.array(list(product([0.0, -0.0, 1, -1, 0.5, -2.5, 3], repeat=2)), dtype)
    p, t = grid[:, 0].copy(), grid[:, 1].copy()
    share = np.clip(t, 0, 1)
    logits, classes = np.stack([p, t, p * t], 1), np.arange(len(p)) % 3
    losses: dict[str, tuple[Function, Function, dict[str, Array]]] = {
        "MeanSquaredError": (F.mse_loss, lambda p, t: jnp.square(p - t), {"target": t}),
        "MeanAbsoluteError": (F.l1_loss, lambda p, t: jnp.abs(p - t), {"target": t}),
        "BinaryCrossEntropy": (F.binary_cross_entropy_with_logits,
                               lambda p, t: jax.nn.softplus(p) - t * p, {"target": share}),
        "CrossEntropy": (F.cross_entropy, lambda x, t: -jnp.take_along_axis(
            jax.nn.log_softmax(x), t[:, None], 1)[:, 0], {"labels": classes}),
    }  # fmt: skip
    for reduction, total in (("mean", jnp.mean), ("sum", jnp.sum)):
        for name, (loss, terms, target) in losses.items():
            first = {"logits": logits} if name == "CrossEntropy" else {"prediction": p}
            add(name, {**first, **target}, partial(loss, reduction=reduction),
                lambda x, t, terms=terms, total=total: total(terms(x, t)),
                reduction=reduction)  # fmt: skip
        add("Huber", {"prediction": p, "target": t}, partial(F.huber_loss, reduction=reduction),
            reduction=reduction)  # fmt: skip


def _shapes(add: Function, dtype: str) -> None:
    """Empty arrays and broadcast ones, and sums and products of nothing."""
    a, b = pairs(dtype)
    wide = np.array([2, -0.5, 0], dtype)
    for name, functions in UNARY.items():
        add(name, {"x": specials(dtype)[:0]}, *functions)
    for name, functions in BINARY.items():
        add(name, {"a": a[:0], "b": b[:0]}, *functions)
        add(name, {"a": specials(dtype)[:, None], "b": wide}, *functions)
    for name, functions in ALONG.items():
        add(name, {"x": rows(dtype)[:0]}, *functions, axis=-1)
    for name in ("Sum", "Prod"):
        add(name, {"x": np.ones((4, 0), dtype)}, *ALONG[name], axis=-1)
