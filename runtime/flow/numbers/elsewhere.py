"""The gradients of a run in other systems: the diagram traced again with their definitions.

The diagram is traced again only where a point of the table of choices occurs in the run, or a
contribution is not finite: 0 · ∞ is where systems differ that agree on each block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.values import PortLiteral
from gradwire.runtime.calculus import Value
from gradwire.runtime.calculus.choices.choice import Choice, Site
from gradwire.runtime.calculus.choices.definitions.systems import defines, forward_in
from gradwire.runtime.calculus.choices.points import subnormal
from gradwire.runtime.calculus.choices.table import SUBNORMAL, choices_of
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.engine.compiled import Request, compile_request
from gradwire.runtime.engine.lowering import retrace
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.symbolic import Namespace
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.program import Leaf
    from gradwire.runtime.flow.numbers.contributions import Contributions

FLUSHING = "JAX"
"""The system that takes subnormal numbers as 0."""
_TRIED = 16
"""Blocks of which each is tried alone, to find the one that makes the difference."""
_COARSEST = 1e-2
"""What rounding may differ by, relative to the largest element, however coarse the dtype is."""


@dataclass(frozen=True, slots=True)
class ChoicePoint:
    """A block of a diagram at which a point of the table of choices occurs."""

    block: InstancePath
    kind: str
    choice: Choice

    def followed(self, system: str) -> bool:
        """Whether the definition of the system gives its numbers there."""
        modelled = self.choice.modelled and self.choice.quantity != "second derivative"
        return modelled and defines(system, self.kind)


@dataclass(frozen=True, slots=True, eq=False)
class PeerGradient:
    """The gradient of one port in one system, and why it is not ours; empty where it is.

    Not ``known`` where the definitions do not follow the system.
    """

    gradient: Array | None
    because: str = ""
    known: bool = True


class Elsewhere:
    """What other systems compute for one run; the gradients of all variables at once."""

    def __init__(self, contributions: Contributions, differentiates: bool) -> None:
        self._program = contributions.program
        self._run = contributions.run
        self._contributions = contributions
        self._quantities = {"value", "gradient"}
        if differentiates:
            self._quantities.add("second derivative")
        self._found: dict[
            tuple[str, frozenset[InstancePath] | None, bool], dict[PortPath, Array | None]
        ] = {}

    def answer(self, system: str, port: PortPath, ours: Array | None) -> PeerGradient:
        """The gradient of a port in a system, where ours is given."""
        if system == FLUSHING and self._subnormal and not self._survives_flushing(port):
            return PeerGradient(None, self._about_subnormal(), known=False)
        if not self._may_differ(system):
            return PeerGradient(ours)
        unknown = [mark for mark in self.marks(system) if not mark.followed(system)]
        if unknown:
            return PeerGradient(
                None, unknown[0].choice.sentence(unknown[0].block, system), known=False
            )
        try:
            found = self._gradient(system, port)
            if same(found, ours):
                return PeerGradient(ours)
            return PeerGradient(found, self.reason(system, port, ours))
        except GradwireError:
            return PeerGradient(None, known=False)

    def reason(self, system: str, port: PortPath, ours: Array | None) -> str:
        """The first block whose definition alone changes a gradient, and what it differs in."""
        marks = self.marks(system)
        instances = self._program.instances.items()
        likely = dict.fromkeys(mark.block for mark in marks)
        others = dict.fromkeys(p for p, i in instances if defines(system, i.block.type_name()))
        for path in list(likely | others)[:_TRIED]:
            if not same(self._gradient(system, port, frozenset({path})), ours):
                return self._row(system, path).sentence(path, system)
        return marks[0].choice.sentence(marks[0].block, system) if marks else ""

    def marks(self, system: str) -> list[ChoicePoint]:
        """The blocks at which a point occurs that a system is named for."""
        return [mark for mark in self._marks if system in mark.choice.elsewhere]

    def _may_differ(self, system: str) -> bool:
        finite = bool(np.all(self._contributions.sizes.finite))
        return not finite or any(not mark.choice.everywhere for mark in self.marks(system))

    # ---- points -------------------------------------------------------------------------------

    @cached_property
    def _marks(self) -> list[ChoicePoint]:
        return list(self._find_marks())

    def _find_marks(self) -> Iterator[ChoicePoint]:
        for path, instance in self._program.instances.items():
            kind = instance.block.type_name()
            rows = [c for c in choices_of(kind) if c.quantity in self._quantities]
            site = self._site(path) if rows else None
            if site is not None:
                yield from (ChoicePoint(path, kind, row) for row in rows if _occurs(row, site))

    def _site(self, path: InstancePath) -> Site | None:
        """A block in the run, None where it was not run or works on trees."""
        instance = self._program.instances[path]
        if isinstance(instance.block, Source):
            return None
        inputs = [self._input(path, port) for port in instance.inputs]
        if not inputs or any(array is None for array in inputs):
            return None
        arrays = tuple(array for array in inputs if array is not None)
        if not any(array.dtype.kind == "f" for array in arrays):
            return Site(instance.block, arrays)
        contributions = self._contributions
        arriving = map(contributions.arriving, contributions.outputs(path))
        arrived = [array for array in arriving if array is not None]
        return Site(instance.block, arrays, *arrived[:1])

    def _input(self, path: InstancePath, port: str) -> Array | None:
        instance = self._program.instances[path]
        if port in instance.wires:
            source = self._program.flat.source(instance.wires[port][1])
            return self._run.values.get(source)
        if port in instance.block.literals:
            return instance.block.literals[port].tensor.array
        declared = instance.block.port(port)
        default = None if declared is None else declared.default
        return None if default is None else np.asarray(default)

    # ---- subnormal numbers --------------------------------------------------------------------

    @cached_property
    def _subnormal(self) -> PortPath | None:
        """The first port with a number that is too small for its dtype to be a normal one."""
        for port, array in self._run.values.items():
            if array.dtype.kind == "f" and np.any(subnormal(array)):
                return PortPath(port)
        return None

    def _survives_flushing(self, port: PortPath) -> bool:
        """Whether the gradient is the same with 0 in place of subnormal numbers between blocks."""
        try:
            kept, flushed = (self._gradient(FLUSHING, port, flushed=f) for f in (False, True))
            return same(kept, flushed)
        except GradwireError:
            return False

    def _about_subnormal(self) -> str:
        row = SUBNORMAL
        return f"{self._subnormal}: {row.point} are {row.here} here, {row.elsewhere}."

    # ---- gradients ----------------------------------------------------------------------------

    def _gradient(
        self,
        system: str,
        port: PortPath,
        only: frozenset[InstancePath] | None = None,
        flushed: bool = False,
    ) -> Array | None:
        """The gradient of a port, with the definitions of a system for all blocks or some.

        ``flushed`` means that subnormal numbers are 0 where a block reads them.
        """
        found = self._found.setdefault((system, only, flushed), {})
        if port not in found:
            known = [PortPath.named(name) for name in self._program.trainable]
            ports = (port,) if found else tuple({port, *known} & self._program.ports.keys())
            found.update(self._compute(system, ports, only, flushed))
        return found[port]

    def _compute(
        self,
        system: str,
        ports: tuple[PortPath, ...],
        only: frozenset[InstancePath] | None,
        flushed: bool,
    ) -> dict[PortPath, Array | None]:
        def forward(block: Block, xp: Namespace, inputs: Sequence[object]) -> object:
            if flushed and not isinstance(block, Gradient):  # which needs the very value
                inputs = [_flushed(xp, x) for x in inputs]
            if only is None or xp.trace.owner in only:
                return forward_in(system, block, xp, inputs)
            return block.forward(xp, *inputs)

        program = retrace(self._program, forward)
        run = self._run
        request = Request((), run.losses, frozenset(run.seeds), adjoints=ports)
        compiled = compile_request(program, request, NumpyEngine(()))
        for path, leaf in compiled.leaves.items():
            compiled.feed(leaf.value, self._bound(path, leaf))
        for head, seed in compiled.seeds.items():
            compiled.feed(seed, run.seeds[head])
        compiled.count(run.step)
        compiled.plan.run()
        arrays = compiled.read("adjoints")
        return {port: arrays[port] for port in ports}

    def _bound(self, path: str, leaf: Leaf) -> Array:
        if isinstance(leaf.source, PortLiteral):
            return leaf.source.tensor.array
        return self._run.values[PortPath.named(path)]

    def _row(self, system: str, path: InstancePath) -> Choice:
        """The row of the table for a block: one whose point occurs, rather of its gradient."""
        marked = [mark.choice for mark in self.marks(system) if mark.block == path]
        kind = self._program.block(path).type_name()
        rows = [c for c in choices_of(kind, system) if c.quantity in self._quantities]
        return min(marked or rows[::-1], key=lambda row: row.quantity != "gradient")


def same(a: Array | None, b: Array | None) -> bool:
    """Whether two gradients are the same but for rounding."""
    if a is None or b is None:
        return a is b
    step = min(1e3 * float(np.finfo(a.dtype).eps), _COARSEST)
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(b), b, 0)).max(initial=0.0)
        return bool(np.isclose(a, b, rtol=step, atol=step * size, equal_nan=True).all())


def _flushed(xp: Namespace, x: object) -> object:
    """A float with 0 in place of subnormal numbers; the gradient passes."""
    if not isinstance(x, Value) or not is_float(x.dtype):
        return x
    tiny = float(np.finfo(x.dtype).tiny)
    return xp.surrogate(xp.where(xp.abs(x) < tiny, xp.zeros_like(x), x), x)


def _occurs(row: Choice, site: Site) -> bool:
    """Whether a point occurs; a row about floats does not where there are none."""
    if row.quantity != "value" and not site.floats:
        return False
    return row.occurs(site)
