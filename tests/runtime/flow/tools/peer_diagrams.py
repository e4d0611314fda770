"""Random diagrams, and the same computations in PyTorch and JAX.

Special numbers are frequent: 0, ties, limits of clips, NaN behind a Where; and so are stops, frozen
variables, rounding, paths through integers and variables that nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import runtime.build as b
from tests.runtime.calculus.peers import ALONG, BINARY, UNARY

if TYPE_CHECKING:
    from runtime.diagram import Diagram

Array = np.ndarray[Any, Any]
Functions = tuple[Callable[..., Any], Callable[..., Any]]
F = torch.nn.functional
SHAPES = ((), (3,), (2, 3))
ORDINARY = (0.0, 0.0, -0.0, 1.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 0.3, -0.7)
RARE = (np.nan, np.inf, -np.inf, 1e-3, 40.0)

SMOOTH = ("Sigmoid", "Tanh", "Sin", "Silu", "Gelu", "Square", "Neg", "Softmax")
KINKED = ("Abs", "Clip", "Relu", "LeakyRelu", "Elu", "Sqrt", "Log", "Exp")
FLAT = ("Round", "Floor", "Sign")
PAIRED = ("Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "Arctan2", "Mod", "Pow")
REDUCED = ("Sum", "Mean", "Norm", "Max", "Min", "LogSumExp", "Variance", "Prod")


def _through_integers(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.to(torch.int64).to(x.dtype)
    return x.astype("int64").astype(x.dtype)


OTHERS: dict[str, Functions] = {
    "StopGradient": (lambda x: x.detach(), jax.lax.stop_gradient),
    "Cast": (_through_integers, _through_integers),
    "Where": (lambda a, x, y: torch.where(a > 0, x, y), lambda a, x, y: jnp.where(a > 0, x, y)),
    "MeanAbsoluteError": (F.l1_loss, lambda p, t: jnp.mean(jnp.abs(p - t))),
    "MeanSquaredError": (F.mse_loss, lambda p, t: jnp.mean(jnp.square(p - t))),
    "BinaryCrossEntropy": (
        F.binary_cross_entropy_with_logits,
        lambda p, t: jnp.mean(jax.nn.softplus(p) - t * p),
    ),
}
KNOWN: dict[str, Functions] = UNARY | BINARY | ALONG | OTHERS


@dataclass
class Random:
    """A random diagram: sources with their numbers, and steps that each make one more value."""

    seed: int
    values: dict[str, Array] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)
    steps: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    loss: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        for number in range(self._rng.integers(2, 5)):
            shape = SHAPES[self._rng.integers(len(SHAPES))]
            drawn = self._rng.choice(ORDINARY, size=shape)
            if self._rng.random() < 0.12:
                drawn = np.where(self._rng.random(shape) < 0.4, self._rng.choice(RARE), drawn)
            name = f"v{number}"
            self.values[name] = np.asarray(drawn, np.float32)
            self.shapes.append(shape)
            if number and self._rng.random() < 0.15:
                self.frozen.add(name)
        for _ in range(self._rng.integers(2, 8)):
            self._step()
        ends = [n for n, _ in enumerate(self.shapes) if n >= len(self.values)]
        count = min(len(ends), 1 + int(self._rng.random() < 0.4))
        chosen = {len(self.shapes) - 1, *self._rng.choice(ends, count, replace=False).tolist()}
        self.loss = tuple(sorted(chosen))

    def _pick(self, *shapes: tuple[int, ...]) -> int:
        """A value, rather a late one; of one of the shapes, if some are given."""
        fits = [n for n, shape in enumerate(self.shapes) if not shapes or shape in shapes]
        weights = np.arange(1, len(fits) + 1, dtype=float)
        return int(self._rng.choice(fits, p=weights / weights.sum()))

    def _step(self) -> None:
        group = self._rng.choice(
            ["smooth", "kinked", "flat", "paired", "reduced", "stop", "cast", "where", "loss"],
            p=[0.14, 0.24, 0.07, 0.25, 0.12, 0.05, 0.03, 0.06, 0.04],
        )
        x = self._pick()
        shape = self.shapes[x]
        match group:
            case "paired":
                y = self._pick((), shape, *([(3,)] if shape[-1:] == (3,) else []))
                kind = str(self._rng.choice(PAIRED))
                pair = (x, y) if self._rng.random() < 0.5 else (y, x)
                self._add(kind, pair, np.broadcast_shapes(shape, self.shapes[y]))
            case "reduced" if shape:
                self._add(str(self._rng.choice(REDUCED)), (x,), shape[:-1])
            case "where":
                self._add("Where", (x, self._pick(shape), self._pick(shape)), shape)
            case "loss":
                kind = ["MeanAbsoluteError", "MeanSquaredError", "BinaryCrossEntropy"]
                self._add(str(self._rng.choice(kind)), (x, self._pick(shape)), ())
            case "stop":
                self._add("StopGradient", (x,), shape)
            case "cast":
                self._add("Cast", (x,), shape)
            case _:
                kinds = {"smooth": SMOOTH, "flat": FLAT}.get(group, KINKED)
                kind = str(self._rng.choice([k for k in kinds if shape or k != "Softmax"]))
                self._add(kind, (x,), shape)

    def _add(self, kind: str, inputs: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.steps.append((kind, inputs))
        self.shapes.append(shape)

    # ---- three times the same -----------------------------------------------------------------

    @property
    def trained(self) -> list[str]:
        return [name for name in self.values if name not in self.frozen]

    def diagram(self) -> Diagram:
        """The diagram; blocks are named by their number."""
        made: list[Any] = [
            b.variable(name, value, dtype="float32", trainable=name not in self.frozen)
            for name, value in self.values.items()
        ]
        for place, (kind, inputs) in enumerate(self.steps):
            made.append(self._block(kind, f"n{place}", *(made[n] for n in inputs)))
        total = [b.sum(made[n]) for n in self.loss]
        return b.build(b.loss(total[0] if len(total) == 1 else b.add_n(*total), name="loss"), *made)

    def _block(self, kind: str, name: str, *inputs: Any) -> Any:
        if kind == "Cast":
            whole = b.block("Cast", inputs[0], dtype="int64", name=f"{name}_int")
            return b.block("Cast", whole, dtype="float32", name=name)
        if kind == "Where":
            above = b.block("Greater", inputs[0], 0.0, name=f"{name}_above")
            return b.block("Where", above, *inputs[1:], name=name)
        along = {"axis": -1} if kind in REDUCED else {}
        return b.block(kind, *inputs, name=name, **along)

    def total(self, system: int, values: Mapping[str, Any]) -> Any:
        """The loss in PyTorch (0) or JAX (1)."""
        made = list(values.values())
        for kind, inputs in self.steps:
            made.append(KNOWN[kind][system](*(made[n] for n in inputs)))
        return sum(made[n].sum() for n in self.loss)

    def pytorch(self, dtype: str = "float32") -> dict[str, Array | None] | None:
        """Gradients by trained variable; None where PyTorch raises an error."""
        tensors = {
            name: torch.tensor(value.astype(dtype), requires_grad=name not in self.frozen)
            for name, value in self.values.items()
        }
        total = self.total(0, tensors)
        if not total.requires_grad:
            return None
        total.backward()
        grads = {name: tensors[name].grad for name in self.trained}
        return {name: None if g is None else g.numpy() for name, g in grads.items()}

    def jax(self, dtype: str = "float32") -> dict[str, Array]:
        """Gradients by trained variable."""
        constants = {name: jnp.asarray(value.astype(dtype)) for name, value in self.values.items()}
        trained = {name: constants[name] for name in self.trained}
        found = jax.grad(lambda given: self.total(1, constants | given))(trained)
        return {name: np.asarray(g) for name, g in found.items()}
