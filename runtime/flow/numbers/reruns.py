"""A run made again with other numbers, to see whether a cure lets a gradient arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.values import PortLiteral
from gradwire.runtime.calculus import Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.compiled import Compiled, Request, compile_request
from gradwire.runtime.engine.lowering import retrace
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.symbolic import Namespace
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import WirePath
    from gradwire.runtime.engine import Run
    from gradwire.runtime.engine.program import Leaf, Program

SCALES = {
    "float16": (1e1, 1e2, 1e3),
    "float32": (1e4, 1e8, 1e12, 1e16, 1e20, 1e24, 1e28),
    "float64": (1e30, 1e60, 1e90, 1e120, 1e150, 1e180, 1e210),
}
"""What losses are multiplied by, the least first, by dtype; far from where that overflows."""
STEP = 0.01
"""The largest change of a variable in a step, as a share of its own largest number plus 1."""
_BLOCKS = 12_000
"""Diagrams of more blocks are not run again."""


class Reruns:
    """The gradients of one run with other numbers; the program and the run stay as they are."""

    def __init__(self, program: Program, run: Run) -> None:
        self._program = program
        self._run = run
        self._compiled: dict[bool, Compiled] = {}
        self._scaling: dict[bool, list[Value]] = {}
        """The leaves by which the inputs of Loss blocks are multiplied."""
        self._peaks: dict[tuple[float, bool], dict[str, float]] = {}

    def scale_that_helps(self, wires: Sequence[WirePath]) -> float | None:
        """The least scale of the losses at which something comes back by one of the wires, and
        nothing overflows; None where none does.
        """
        return next((s for s in self._scales if self._peak(wires, s) > 0.0), None)

    def is_float32_enough(self, wires: Sequence[WirePath]) -> bool:
        """Whether something would come back by one of the wires if what is float16 were float32."""
        least = float(np.finfo("float32").smallest_subnormal)
        scales = (1.0, *SCALES["float32"])
        return any(self._peak(wires, s, is_wide=True) / s >= least for s in scales)

    @property
    def _scales(self) -> Sequence[float]:
        """The scales that leave the losses finite."""
        losses = [self._run.values.get(loss) for loss in self._run.losses]
        known = [loss for loss in losses if loss is not None]
        if len(known) < len(losses):
            return ()
        with np.errstate(over="ignore"):
            return [
                scale
                for scale in SCALES.get(known[0].dtype.name, ())
                if all(np.isfinite(loss * loss.dtype.type(scale)).all() for loss in known)
            ]

    def _peak(self, wires: Sequence[WirePath], scale: float, is_wide: bool = False) -> float:
        """The largest number that comes back by the wires; 0 where a gradient isn't finite."""
        key = scale, is_wide
        if key not in self._peaks:
            found = self.contributions(scale, is_wide=is_wide)
            sizes = {wire: float(np.max(np.abs(a), initial=0.0)) for wire, a in found.items()}
            self._peaks[key] = sizes if np.isfinite([*sizes.values()]).all() else {}
        return max((self._peaks[key].get(wire, 0.0) for wire in wires), default=0.0)

    def contributions(
        self,
        scale: float = 1.0,
        values: Mapping[str, Array] | None = None,
        *,
        is_wide: bool = False,
    ) -> dict[str, Array]:
        """What comes back by each wire, with losses multiplied by ``scale`` and other ``values`` of
        sources, by path; computed in float32, for float16, if it ``is_wide``. Empty where that
        can't be run.
        """
        return self._again(scale, values or {}, is_wide)[0]

    def stepped(
        self, values: Mapping[str, Array], names: Sequence[str] | None = None
    ) -> dict[str, Array]:
        """The values of the trained variables, or of these alone, after a small step down their
        gradients; those of the run where ``values`` has none.
        """
        gradients = self._again(1.0, values, False)[1] if values else self._run.gradients
        found = dict(values)
        for name in self._program.trainable if names is None else names:
            value = values.get(name, self._run.values.get(PortPath.named(name)))
            gradient = gradients.get(name)
            if value is None or gradient is None or not np.any(gradient):
                continue
            if np.isfinite(gradient).all():
                length = STEP * (1.0 + np.max(np.abs(value))) / np.max(np.abs(gradient))
                found[name] = (value - length * gradient).astype(value.dtype)
        return found

    def started(self, names: Sequence[str]) -> dict[str, Array]:
        """Values other than 0, of both signs, for these variables."""
        found = {}
        for name in names:
            value = self._run.values[PortPath.named(name)]
            found[name] = np.sin(1.0 + np.arange(value.size)).reshape(value.shape)
            found[name] = found[name].astype(value.dtype)
        return found

    def _again(
        self, scale: float, values: Mapping[str, Array], is_wide: bool
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        if len(self._program.instances) > _BLOCKS:
            return {}, {}
        try:
            compiled = self._made(is_wide)
            for path, leaf in compiled.leaves.items():
                value = values.get(path, self._bound(path, leaf))
                if value is None:
                    return {}, {}
                compiled.feed(leaf.value, value)
            for head, seed in compiled.seeds.items():
                own = np.asarray(self._run.seeds.get(head, 1.0)) * scale
                compiled.feed(seed, np.full(seed.shape, own, seed.dtype))
            for scaled in self._scaling[is_wide]:
                if scaled in compiled.plan.leaves:
                    compiled.feed(scaled, np.full((), scale, scaled.dtype))
            compiled.count(self._run.step)
            with np.errstate(all="ignore"):
                compiled.plan.run()
            back, gradients = compiled.read("contributions"), compiled.read("gradients")
        except GradwireError:
            return {}, {}
        return (
            {wire: np.array(a) for wire, a in back.items() if a is not None},
            {name: np.array(a) for name, a in gradients.items() if a is not None},
        )

    def _bound(self, path: str, leaf: Leaf) -> Array | None:
        if isinstance(leaf.source, PortLiteral):
            return leaf.source.tensor.array
        return self._run.values.get(PortPath.named(path))

    def _made(self, is_wide: bool) -> Compiled:
        if is_wide not in self._compiled:
            scaling = self._scaling[is_wide] = []

            def forward(block: Block, xp: Namespace, inputs: Sequence[object]) -> object:
                inputs = [_widened(xp, x) for x in inputs] if is_wide else inputs
                if block.head and isinstance(inputs[0], Value):
                    scaling.append(xp.trace.apply(LEAF, shape=(), dtype=inputs[0].dtype))
                    inputs = [xp.multiply(inputs[0], scaling[-1]), *inputs[1:]]
                return block.forward(xp, *inputs)

            program, losses = retrace(self._program, forward), self._run.losses
            request = Request(
                (), losses, frozenset(losses), tuple(program.trainable),
                contributions=tuple(program.wires),
            )  # fmt: skip
            self._compiled[is_wide] = compile_request(program, request, NumpyEngine(()))
        return self._compiled[is_wide]


def _widened(xp: Namespace, x: object) -> object:
    """A float16 as float32."""
    return xp.astype(x, "float32") if isinstance(x, Value) and x.dtype == "float16" else x
