"""The contributions of one loss, followed from a wire towards the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.norms import all_finite
from gradwire.runtime.engine.plan.sparse_rows import compact
from gradwire.runtime.flow.numbers.flat_spots import ZeroSpot
from gradwire.runtime.flow.numbers.magnitudes import (
    ArraySizes,
    LossScale,
    SizesLayout,
    layout_of,
    measure,
    measure_each,
    scale_of,
)
from gradwire.runtime.flow.numbers.origins import Values
from gradwire.runtime.flow.structure.neighbours import neighbours_of, outputs_of
from gradwire.runtime.flow.words.phrases import FACTORS

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine import Run
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Program

_MOST_FACTORS = 16
"""Blocks that are looked at for zeros behind a product, at most."""
SQUASHING = ("Sigmoid", "Softmax", "Tanh")
SHOWN = 5
"""Squashing blocks on a route that are kept by name."""
STEADY = 5e-5
"""Factors nearer to 1 than this are written as 1: they neither shrink nor grow."""
_TIE = 1e-5
"""Factors that differ by less, as a share, may differ by the rounding of float32 alone."""
_SLACK = 1e-3
"""By how much norms, good to five digits, may mislead about what cancels, as a share."""


class Blame(NamedTuple):
    """The block responsible for what happened to a gradient, and the ``wire`` into it.

    ``local``: it is the block that the wire in question enters. ``cancelled``: terms cancelled at
    an output of the block. ``derived``: it is a Gradient block that differentiates through the
    wire, and its derivative is responsible.
    """

    block: InstancePath
    wire: WirePath
    local: bool = True
    cancelled: bool = False
    derived: bool = False


class Squashing(NamedTuple):
    """The blocks on a route that squash into an interval: what they multiply the size of the
    gradient by together, the least of these factors, how many they are, and the nearest ones.
    """

    factor: float = 1.0
    least: float = math.inf
    blocks: int = 0
    nearest: tuple[InstancePath, ...] = ()

    def behind(self, block: InstancePath, factor: float) -> Squashing:
        """With one block more."""
        nearest = (block, *self.nearest)[:SHOWN]
        return Squashing(self.factor * factor, min(self.least, factor), self.blocks + 1, nearest)


class RouteFactors(NamedTuple):
    """The blocks on a route: how many, by how much they multiply the size of the gradient
    together, and the wires into the two that do so least and most, each with its factor.
    """

    blocks: int = 0
    factor: float = 1.0
    least: tuple[float, WirePath | None] = (math.inf, None)
    most: tuple[float, WirePath | None] = (-math.inf, None)
    squashing: Squashing = Squashing()

    def changes(self, grows: bool) -> bool:
        """Whether the gradient grows, or else shrinks, over the route."""
        return self.factor > 1 + STEADY if grows else self.factor < 1 - STEADY

    def behind(self, wire: WirePath, factor: float, squashes: bool) -> RouteFactors:
        """With one block more; of equals the one nearest the wire is the worst."""
        own = factor, wire
        return RouteFactors(
            self.blocks + 1,
            self.factor * factor,
            own if factor <= self.least[0] * (1 + _TIE) else self.least,
            own if factor >= self.most[0] * (1 - _TIE) else self.most,
            self.squashing.behind(wire.block, factor) if squashes else self.squashing,
        )


@by_identity
class _Forks(NamedTuple):
    """Ports that several wires leave; the wires of each follow one another from ``starts`` on."""

    ports: tuple[PortPath, ...]
    wires: tuple[WirePath, ...]
    starts: NDArray[np.int64]


def _wires_leaving(program: Program) -> dict[PortPath, list[WirePath]]:
    """The wires that leave each port."""

    def found() -> dict[PortPath, list[WirePath]]:
        leaving: dict[PortPath, list[WirePath]] = {}
        for wire, source in program.wire_sources.items():
            leaving.setdefault(source, []).append(wire)
        return leaving

    return program.derived("wires leaving ports", found)


def _forks(program: Program) -> _Forks:
    return program.derived("forks", lambda: _find_forks(program))


def _find_forks(program: Program) -> _Forks:
    leaving: dict[PortPath, list[WirePath]] = {port: [] for port in program.ports}
    for wire in program.wires:
        leaving[program.wire_sources[wire]].append(wire)
    forks = {port: wires for port, wires in leaving.items() if len(wires) > 1}
    starts = np.cumsum([0, *map(len, forks.values())])[:-1]
    return _Forks(tuple(forks), tuple(w for wires in forks.values() for w in wires), starts)


class Contributions:
    """The contributions of one run, which has one loss or is the sum of several."""

    def __init__(self, program: Program, run: Run) -> None:
        self.program = program
        self.run = run
        self._blames: dict[str, dict[WirePath, Blame]] = {}
        self._route_factors: dict[WirePath, RouteFactors] = {}

    @cached_property
    def sizes(self) -> ArraySizes:
        """The size of every contribution there is."""
        known, layout = self._known
        return measure_each(known, layout)

    @cached_property
    def are_finite(self) -> bool:
        """Whether no contribution has NaN or an infinity."""
        if "sizes" in self.__dict__:
            return bool(self.sizes.finite.all())
        known, layout = self._known
        return all_finite(list(known.values()), layout.batches)

    @cached_property
    def _known(self) -> tuple[dict[str, Array | SparseRows], SizesLayout]:
        """The contributions there are, and their layout."""
        known = {wire: c for wire, c in compact(self.run.contributions).items() if c is not None}
        # Dtypes follow from the program, but feeds may have other sizes.
        about = "layout of contributions", tuple(known), tuple([c.size for c in known.values()])
        return known, self.program.derived(about, lambda: layout_of(known))

    @cached_property
    def tree_sizes(self) -> ArraySizes:
        """The size of what comes back through every wire with a tree, over all of its leaves."""
        trees = self.program.wire_trees.items()
        return self.sizes.combined({wire: tree.arrays.values() for wire, tree in trees})

    @cached_property
    def norms(self) -> dict[str, float | None]:
        """The root mean square of every contribution; None where nothing is carried back."""
        found: dict[str, float | None] = dict.fromkeys(self.run.contributions)
        for sizes in (self.sizes, self.tree_sizes):
            found |= zip(sizes, sizes.rms.tolist(), strict=True)
        return found

    def zero_shares(self, wires: Iterable[str]) -> dict[str, float]:
        """The share of exact zeros in the contributions of those of ``wires`` that have one."""
        sizes, index = self.sizes, self.sizes.index
        known = [wire for wire in wires if wire in index]
        at = [index[wire] for wire in known]
        shares = sizes.zeros[at] / np.maximum(sizes.total[at], 1)
        return dict(zip(known, shares.tolist(), strict=True))

    @cached_property
    def scale(self) -> LossScale:
        """What sizes of this loss are compared with."""
        return scale_of(self.sizes, self._seed)

    @property
    def _seed(self) -> float:
        """The size of the gradient that leaves the losses: what their Loss blocks send back."""
        heads = [loss.block for loss in self.run.losses]
        wires = [
            leaf
            for path in heads
            if self.program.block(path).head
            for wire, _ in self.program.instances[path].wires.values()
            for leaf in self.program.leaf_wires(wire)
        ]
        found = [self.sizes[wire].rms for wire in wires if wire in self.sizes]
        return max((size for size in found if 0.0 < size < math.inf), default=1.0)

    @cached_property
    def _heads(self) -> set[InstancePath]:
        return {loss.block for loss in self.run.losses}

    @cached_property
    def values(self) -> Values:
        """The values of the run, as far as they are not finite."""
        return Values(self.program, self.run.values)

    def leaving(self, port: PortPath) -> list[WirePath]:
        """The wires that leave a port and bring something back."""
        wires = _wires_leaving(self.program).get(port, ())
        return [wire for wire in wires if self.run.contributions.get(wire) is not None]

    def cancelling(self, share: float) -> Iterator[tuple[PortPath, float]]:
        """Ports whose wires may cancel to less than a share of the largest, each with the size of
        that one: all others bring back nearly as much together, or more, or it is a loss.
        """
        forks, sizes, losses = _forks(self.program), self.sizes, set(self.run.losses)
        if not forks.ports:
            return
        at = np.array([sizes.index.get(wire, -1) for wire in forks.wires])
        norms, finite = np.append(sizes.rms, 0.0)[at], np.append(sizes.finite, True)[at]
        with np.errstate(invalid="ignore"):
            largest = np.maximum.reduceat(norms, forks.starts)
            others = np.add.reduceat(norms, forks.starts) - largest
            near = largest - others <= (share + _SLACK) * largest
        near |= [port in losses for port in forks.ports]
        near &= (largest > 0.0) & (others > 0.0)
        for place in np.flatnonzero(near & np.logical_and.reduceat(finite, forks.starts)).tolist():
            yield forks.ports[place], float(largest[place])

    def arriving(self, port: PortPath) -> Array | None:
        """The adjoint of a port, None where nothing arrives."""
        if self.run.adjoints.get(port) is not None:
            return self.run.adjoints[port]
        parts = [c for w in self.leaving(port) if (c := self.run.contributions[w]) is not None]
        if port in self.run.losses:
            parts.append(np.ones(self.program.ports[port].shape, self.program.ports[port].dtype))
        with np.errstate(all="ignore"):
            return sum(parts[1:], parts[0]) if parts else None

    def outputs(self, path: InstancePath) -> list[PortPath]:
        """The output ports of a block, those with trees by leaf."""
        instance = self.program.instances[path]
        names = (instance.port(output) for output in instance.block.output_names())
        return [leaf for port in names for leaf in self.program.leaf_ports(port)]

    def arrivals(self, wire: WirePath) -> list[Array]:
        """The adjoints of what a block makes of a wire into it, where something arrives."""
        found = (self.arriving(port) for port in outputs_of(self.program, wire))
        return [array for array in found if array is not None]

    def zero_spot(self, blame: Blame) -> ZeroSpot:
        """Where the block that is responsible sends 0 back."""
        instance, found = self.program.instances[blame.block], {}
        inputs = self.values.inputs(blame.block)
        for name in instance.block.output_names():
            if (array := self.arriving(instance.port(name))) is not None:
                found[name] = array
        wired = {name: inputs[name] for name in instance.wires if name in inputs}
        port = blame.wire.within_block
        near = neighbours_of(self.program)
        others = (
            maker
            for name, (_, source) in instance.wires.items()
            if name not in (port, "bias") and name in wired and not np.any(wired[name])
            for maker in self._zeros_behind(source)
        )
        stuck: dict[str, bool] = {
            name: bool(np.any(gradient))
            for name in others
            if name in self.program.trainable
            and (gradient := self.run.gradients.get(name)) is not None
        }
        readers = {near.kind(wire.block) for wire in near.beyond(blame.block)}
        return ZeroSpot(instance.block, wired, port, found, stuck, readers <= {"Mean", "Sum"})

    def _zeros_behind(self, port: PortPath) -> Iterator[InstancePath]:
        """The variables of zeros that make a port's numbers 0: it is one, arranged, or a product
        with some.
        """
        near = neighbours_of(self.program)
        pending = [self.program.flat.source(port)]
        seen: set[InstancePath] = set()
        while pending and len(seen) < _MOST_FACTORS:
            path = near.origin(pending.pop())
            if path in seen:
                continue
            seen.add(path)
            if near.kind(path) == "Variable":
                yield path
            elif near.kind(path) in FACTORS:
                sources = near.sources(path)
                values = {name: self.run.values.get(s) for name, s in sources.items()}
                pending += [
                    sources[name] for name, v in values.items() if v is not None and not np.any(v)
                ]

    def blame(
        self, wire: WirePath, how: str, bad: Callable[[Array], bool], every: bool = False
    ) -> Blame:
        """The first block towards the loss whose arriving gradient is not ``bad`` already.

        ``every`` requires all outputs of a block to be bad, not just one. ``how`` names the
        criterion: answers are cached under it, since wires further back share them.
        """
        known = self._blames.setdefault(how, {})
        passed: list[WirePath] = []
        at = wire
        while at not in known:
            passed.append(at)
            further = self._further(at, bad, every)
            if isinstance(further, Blame):
                known[at] = further
            else:
                at = further
        for behind in reversed(passed):
            if behind not in known:
                known[behind] = known[at]._replace(local=False)
        return known[wire]

    def zeroed_by(self, wire: WirePath) -> Blame:
        """The block that makes what a wire brings back 0."""
        return self.blame(wire, "zero", lambda array: not np.any(array), every=True)

    def _further(
        self, wire: WirePath, bad: Callable[[Array], bool], every: bool
    ) -> WirePath | Blame:
        """The next wire towards the loss that is bad as well, or who made this one so."""
        path = self.program.wire_targets[wire]
        arrived = self.arrivals(wire)
        ahead = self._ahead(wire)
        through = self._through(path) if every and not ahead else []
        if through:
            ahead = [
                wire
                for gradient in through
                for port in self.outputs(gradient)
                for wire in self.leaving(port)
            ]
        spoilt = all(map(bad, arrived)) if every else any(map(bad, arrived))
        ends = not arrived or not spoilt or self.program.block(path).head
        if ends and not (through and spoilt):
            return Blame(path, wire)
        further = next((w for w in ahead if bad(self._of(w))), None)
        sums = every and not all(bad(self._of(w)) for w in ahead)
        if further is not None and not sums:
            return further
        if through:
            return Blame(through[0], wire, False, derived=True)
        cancelled = not self._is_head(path)
        return Blame(path, wire, not cancelled, cancelled)

    def _through(self, path: InstancePath) -> list[InstancePath]:
        """The Gradient blocks through which all comes back that comes to a block."""
        return [] if self._is_head(path) else neighbours_of(self.program).differentiating(path)

    def route_factors(self, wire: WirePath) -> RouteFactors:
        """The blocks from a wire to the loss, along the largest contributions.

        The loss block itself is left out: what it sends back is where the route begins.
        """
        route: list[tuple[WirePath, InstancePath]] = []
        at = wire
        while at not in self._route_factors:
            path = self.program.wire_targets[at]
            ahead = self._ahead(at)
            if not ahead or self._is_head(path):
                self._route_factors[at] = RouteFactors()
                break
            route.append((at, path))
            at = max(ahead, key=lambda w: self.sizes[w].rms)
        for behind, path in reversed(route):
            arrived = max(measure(a).rms for a in self.arrivals(behind))
            factor = self.sizes[behind].rms / arrived if arrived else 0.0
            squashes = factor < 1.0 and self.program.block(path).type_name() in SQUASHING
            self._route_factors[behind] = self._route_factors[at].behind(behind, factor, squashes)
            at = behind
        return self._route_factors[wire]

    def _ahead(self, wire: WirePath) -> list[WirePath]:
        """The wires that carry on what a block makes of a wire."""
        return [x for port in outputs_of(self.program, wire) for x in self.leaving(port)]

    def _of(self, wire: WirePath) -> Array:
        array = self.run.contributions[wire]
        assert array is not None  # wires that bring nothing back are not followed
        return array

    def _is_head(self, path: InstancePath) -> bool:
        return path in self._heads

    def route(self, wire: WirePath) -> Iterator[WirePath]:
        """The wires from a wire on to the loss, along the largest contributions."""
        while True:
            yield wire
            path = self.program.wire_targets[wire]
            ahead = self._ahead(wire)
            if not ahead or self._is_head(path):
                return
            wire = max(ahead, key=lambda w: self.sizes[w].rms)

    def behind(self, wire: WirePath) -> Iterator[WirePath]:
        """The wires into the block that a wire leaves, those with trees by leaf."""
        path = self.program.wire_sources[wire].block
        for key, _ in self.program.instances[path].wires.values():
            yield from self.program.leaf_wires(key)
