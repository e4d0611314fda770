"""The StopGradients of a diagram as switches that a reader of the page opens and closes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.gradient import Gradient, StopGradient
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.flow.structure.disagreements import carried

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program

MOST_INNER = 4
"""Switches inside Gradient blocks: each combination of them is traced on its own."""
LOCKED = (
    "This stop is inside a Gradient block, and the page has room for four such stops that can be "
    "switched."
)


@dataclass(frozen=True, slots=True)
class Switch:
    """A StopGradient of the document: it switches all uses of its page together.

    ``inner``: a Gradient block may differentiate through it, so that opening it changes values.
    ``locked`` is the reason why it can't be switched; empty if it can.
    """

    page: str
    name: str
    open: bool
    inner: bool = False
    locked: str = ""


@dataclass(frozen=True)
class Switches:
    """The switches of a diagram, in document order, and where their blocks run."""

    diagram: Diagram
    all: tuple[Switch, ...]
    paths: Mapping[InstancePath, int]
    """The switch of every StopGradient that runs and is not locked, by its path."""

    def __len__(self) -> int:
        return len(self.all)

    @property
    def inner(self) -> list[int]:
        """The places of the switches that need a trace for each combination."""
        return [k for k, switch in enumerate(self.all) if switch.inner and not switch.locked]

    @property
    def open(self) -> tuple[bool, ...]:
        """How the diagram has them."""
        return tuple(switch.open for switch in self.all)

    def settings(self, most: int) -> Iterator[tuple[bool, ...]]:
        """Every combination, locked ones as they are; only that of the diagram beyond ``most``."""
        free = [k for k, switch in enumerate(self.all) if not switch.locked]
        if 2 ** len(free) > most:
            yield self.open
            return
        for chosen in product((False, True), repeat=len(free)):
            setting = list(self.open)
            for place, is_open in zip(free, chosen, strict=True):
                setting[place] = is_open
            yield tuple(setting)

    def inner_settings(self) -> Iterator[tuple[bool, ...]]:
        """The combinations of the inner switches, the others closed: one trace for each."""
        start = [switch.open if switch.locked else False for switch in self.all]
        for chosen in product((False, True), repeat=len(self.inner)):
            setting = list(start)
            for place, is_open in zip(self.inner, chosen, strict=True):
                setting[place] = is_open
            yield tuple(setting)

    def switched(self, setting: Sequence[bool]) -> Diagram:
        """The diagram with its stops open or closed, one boolean for each switch."""
        pages = dict(self.diagram.pages)
        for switch, is_open in zip(self.all, setting, strict=True):
            page = pages[switch.page]
            block = page.blocks[switch.name]
            assert isinstance(block, StopGradient)
            if block.open != is_open:
                changed = block.model_copy(update={"open": is_open})
                blocks = {**page.blocks, switch.name: changed}
                pages[switch.page] = replace(page, blocks=blocks)
        made = replace(self.diagram, pages=pages)
        return made if self.diagram.comparison is None else carried(self._program, made)

    @cached_property
    def _program(self) -> Program:
        return lower(self.diagram)


def switches_of(diagram: Diagram) -> Switches:
    """The switches of a diagram."""
    found = [
        Switch(page, name, block.open)
        for page, content in diagram.pages.items()
        for name, block in content.blocks.items()
        if isinstance(block, StopGradient) and not block.bypassed
    ]
    every = Switches(diagram, tuple(found), {})
    if not found:
        return every
    program = lower(every.switched([False] * len(found)))
    places = {(switch.page, switch.name): k for k, switch in enumerate(found)}
    paths = {
        path: places[instance.page, instance.name]
        for path, instance in program.instances.items()
        if isinstance(instance.block, StopGradient) and not instance.part
    }
    differentiated = {v.owner for v in upstream_of_gradients(program) if v.primitive.stops}
    inner = sorted({paths[path] for path in differentiated if path in paths})
    for count, place in enumerate(inner):
        locked = LOCKED if count >= MOST_INNER else ""
        found[place] = replace(found[place], inner=True, locked=locked)
    free = {path: place for path, place in paths.items() if not found[place].locked}
    return Switches(diagram, tuple(found), free)


def upstream_of_gradients(program: Program) -> set[Value]:
    """The values through which a Gradient block may differentiate."""
    pending: list[Value] = [
        marker
        for path, instance in program.instances.items()
        if isinstance(instance.block, Gradient)
        for _, marker in program.markers(path)
    ]
    seen = set(pending)
    while pending:
        for source in pending.pop().inputs:
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return seen
