"""Random diagrams for comparisons with other systems.

Special numbers are frequent: 0, ties, limits of clips, NaN behind a Where; and so are stops, frozen
variables, rounding, paths through integers and variables that nothing reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import gradwire.runtime.build as b

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

Array = np.ndarray[Any, Any]
SHAPES = ((), (3,), (2, 3))
ORDINARY = (0.0, 0.0, -0.0, 1.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 0.3, -0.7)
RARE = (np.nan, np.inf, -np.inf, 1e-3, 40.0)

SMOOTH = ("Sigmoid", "Tanh", "Sin", "Silu", "Gelu", "Square", "Neg", "Softmax")
KINKED = ("Abs", "Clip", "Relu", "LeakyRelu", "Elu", "Sqrt", "Log", "Exp")
FLAT = ("Round", "Floor", "Sign")
PAIRED = ("Add", "Sub", "Mul", "Div", "Maximum", "Minimum", "Arctan2", "Mod", "Pow")
REDUCED = ("Sum", "Mean", "Norm", "Max", "Min", "LogSumExp", "Variance", "Prod")


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
