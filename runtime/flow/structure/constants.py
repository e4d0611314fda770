"""Networks that a program reads and does not train, on purpose: targets, teachers, other players.

Where optimisers are known, what none of them updates, and a stop keeps from the loss, is constant
by design. Where none is known the design must show: a twin that is trained and that the loss only
compares with it, or a network that judges what the stop gives and other data as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Set
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.library.sources import Constant
from gradwire.runtime.diagram.paths import InstancePath, path_parts
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.structure.neighbours import SHAPES, neighbours_of
from gradwire.runtime.flow.words.states import PASSING, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.blocks.block import Shape
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.words.states import Cutter

Names: TypeAlias = "dict[str, tuple[str, ...]]"
"""Variables, and the stops that cut them off."""
Module: TypeAlias = "tuple[str, ...]"
"""A module by the parts of its path."""
_ALIKE = 0.5
"""Cosine of the numbers of a network and of its copy, at least."""
_CHANCE = 6.0
"""Standard deviations above chance that the cosine of few numbers is, at least."""
_ROUNDING = 1e-6
_DATA = ("Dataset", "Input")
_ADDING = ("Add", "AddN", "Sub")
_LINEAR = SHAPES | {"Add", "AddN", "Cast", "Loss", "Mean", "Neg", "Sub", "Sum"}
"""Types between a term and the loss that it is added up in."""


def held_constant(flow: Flow, owned: Collection[str] | None) -> Names:
    """The variables that stops keep constant on purpose, with these.

    ``owned`` are those that optimisers update; None if no optimiser is known.
    """
    cutters = {name: stops_of(flow, name) for name in flow.program.trainable}
    stopped: Names = {
        name: tuple(dict.fromkeys(c.named for c in found))
        for name, found in cutters.items()
        if found
    }
    if owned is not None:
        return {name: stops for name, stops in stopped.items() if name not in owned}
    if not stopped:
        return {}
    design = _Design(flow)
    groups: dict[frozenset[InstancePath], list[str]] = {}
    for name in stopped:
        blocks = frozenset(c.block for c in cutters[name])
        groups.setdefault(blocks, []).append(name)
    return {
        name: stopped[name]
        for stops, several in groups.items()
        if design.is_meant(stops, several, stopped.keys())
        for name in several
    }


def stops_of(flow: Flow, name: str) -> list[Cutter]:
    """The stops that cut a variable off from all losses; none if something else does."""
    if flow.variable(name).state is not State.STOPPED:
        return []
    verdicts = [flow.variable(name, loss) for loss in flow.losses]
    found = [cutter for verdict in verdicts for cutter in verdict.cutters[:MANY]]
    return found if all(cutter.kind == "stop" for cutter in found) else []


def passing_on(flow: Flow, unowned: Collection[str]) -> list[str]:
    """Those of the variables that no optimiser updates that belong to a network which only judges
    what another one makes, as a discriminator or a critic does in a step of the other player.
    """
    design = _Design(flow)
    groups: dict[Module, list[str]] = {}
    for name in unowned:
        if module := design.module(name, unowned):
            groups.setdefault(module, []).append(name)
    return [name for several in groups.values() if design.judges(several) for name in several]


class _Design:
    """What the networks of a program are for."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._program = flow.program
        self._near = neighbours_of(flow.program)
        self._trained = {InstancePath(name) for name in flow.program.trainable}
        self._on_route = {b for head in flow.losses for b in self._near.before(head.block)}

    # ---- modules ------------------------------------------------------------------------------

    @cached_property
    def _modules(self) -> dict[Module, list[str]]:
        """The trained variables of each module, by the parts of its path."""
        found: dict[Module, list[str]] = {}
        for name in self._program.trainable:
            parts = path_parts(name)
            for length in range(1, len(parts)):
                found.setdefault(tuple(parts[:length]), []).append(name)
        return found

    def module(self, name: str, among: Collection[str]) -> Module:
        """The largest module of a variable all of whose variables are among these; () for none."""
        parts = tuple(path_parts(name))
        around = (parts[:length] for length in range(1, len(parts)))
        return next((m for m in around if all(other in among for other in self._modules[m])), ())

    def _layers(self, module: Module) -> frozenset[tuple[Module, Shape]]:
        """The variables of a module by their paths in what is all of it, and their shapes."""
        paths = {name: tuple(path_parts(name)) for name in self._modules[module]}
        levels = zip(*(path[:-1] for path in paths.values()), strict=False)
        shared = len([*takewhile(lambda level: len(set(level)) == 1, levels)])
        return frozenset((path[shared:], self._shape(name)) for name, path in paths.items())

    def _shape(self, name: str) -> Shape:
        return self._program.leaves[InstancePath(name)].value.shape

    def _has_twin(self, name: str, stopped: Set[str]) -> bool:
        """Whether a module of the same layers as this variable's, with much the same numbers, gets
        gradient: it is a copy, or an average, of that one.
        """
        module = self.module(name, stopped)
        return bool(module) and any(
            len(names) == len(self._modules[module])
            and stopped.isdisjoint(names)
            and self._layers(other) == self._layers(module)
            and all(self._flow.variable(n).state in PASSING for n in names)
            and self._are_alike(names, self._modules[module])
            for other, names in self._modules.items()
        )

    def _are_alike(self, names: Collection[str], others: Collection[str]) -> bool:
        """Whether the numbers of variables are no more apart than a training makes them."""
        one, other = (np.concatenate([*map(self._numbers, several)]) for several in (names, others))
        if one.size != other.size or not one.size:
            return False
        sizes = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
        by_chance = _CHANCE / math.sqrt(one.size - 1 + _CHANCE**2)  # by Student's distribution
        return float(one @ other) > max(_ALIKE, by_chance) * sizes * (1 - _ROUNDING)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Those of a variable in the diagram; none where an initialiser draws them."""
        value = getattr(self._program.block(InstancePath(name)), "value", None)
        array = np.zeros(0) if value is None else np.asarray(value.array)
        return array.astype(np.float64).ravel()

    # ---- targets ------------------------------------------------------------------------------

    def is_meant(
        self, stops: Collection[InstancePath], names: Collection[str], stopped: Set[str]
    ) -> bool:
        """Whether the program shows that these stops keep these variables constant on purpose."""
        everything = self._applied_to(stops)
        applied = [each for each in everything if np.prod(self._shape(each[0])) > 1]
        if not applied:
            return any(self._has_twin(name, stopped) for name in names)
        judging = {variable for variable, _ in everything}
        return all(self._is_applied_elsewhere(*each, stops, judging) for each in applied)

    def _applied_to(
        self, stops: Collection[InstancePath]
    ) -> list[tuple[InstancePath, InstancePath]]:
        """The trained variables that are applied to what stops give, with the blocks that do so."""
        behind = self._behind(stops)
        found = []
        for block in behind - set(stops):
            for source in self._near.sources(block).values():
                origin = self._near.origin(source)
                if origin in self._trained:
                    found.append((origin, block))
        return found

    def _behind(self, blocks: Collection[InstancePath]) -> set[InstancePath]:
        """Blocks, and those behind them on the way to a loss."""
        found, pending = set(blocks), list(blocks)
        while pending:
            for wire in self._near.readers(pending.pop()):
                at = self._program.wire_targets[wire]
                if at in self._on_route and at not in found:
                    found.add(at)
                    pending.append(at)
        return found

    def _is_applied_elsewhere(
        self,
        variable: InstancePath,
        block: InstancePath,
        stops: Collection[InstancePath],
        judging: Set[InstancePath],
    ) -> bool:
        """Whether each loss that a block takes part in applies a variable of a module to plain data
        as well: to what only variables of its network have been applied to.
        """
        behind = self._behind(stops)
        others = [
            at
            for at in self._readers(variable)
            if at not in behind
            and not self._trained & set(self._near.before(at)) - judging
            and self._brings_data(at, judging)
        ]
        if len(path_parts(variable)) == 1:
            return False
        for head in self._flow.losses:
            if block not in self._near.before(head.block):
                continue
            if self._before(head.block, stops).isdisjoint(others):
                return False
        return True

    def _before(self, block: InstancePath, stops: Collection[InstancePath]) -> set[InstancePath]:
        """A block and those upstream of it by ways that don't lead through stops."""
        found, pending = {block}, [block]
        while pending:
            sources = {source.block for source in self._near.sources(pending.pop()).values()}
            further = sources - found - set(stops)
            found |= further
            pending.extend(further)
        return found

    def _readers(self, variable: InstancePath) -> list[InstancePath]:
        return [wire.block for wire in self._near.beyond(variable)]

    # ---- judges -------------------------------------------------------------------------------

    def judges(self, names: Collection[str]) -> bool:
        """Whether gradient passes through a network of several layers to what is updated, and no
        data comes in behind it, such as labels, that it would have to learn.
        """
        layers = {tuple(path_parts(name))[:-1] for name in names}
        own = {InstancePath(name) for name in names}
        readers = {at for name in own for at in self._readers(name)}
        before = {b for at in readers for b in self._near.before(at)}
        if len(layers) < 2 or not before & (self._trained - own):
            return False
        behind = self._behind(readers)
        return not any(
            self._brings_data(source.block, own)
            for block in behind - readers
            for source in self._near.sources(block).values()
            if source.block not in behind and not self._is_added_up(block)
        )

    def _brings_data(self, block: InstancePath, own: Collection[InstancePath]) -> bool:
        return any(
            self._near.kind(at) in _DATA or _differs(self._program.instances[at].block)
            for at in self._near.before(block)
            if at not in own and at in self._program.instances
        )

    def _is_added_up(self, block: InstancePath) -> bool:
        """Whether a block adds terms of a loss, and nothing else is done with them."""
        behind = self._behind([block])
        return self._near.kind(block) in _ADDING and all(
            self._near.kind(at) in _LINEAR for at in behind
        )


def _differs(block: object) -> bool:
    """Whether a constant has different numbers, as labels have."""
    if not isinstance(block, Constant) or not block.value.array.size:
        return False
    return bool(np.any(block.value.array != block.value.array.flat[0]))
