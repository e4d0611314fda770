"""What-ifs in the texts of a page: which of them it can try, and the numbers of the others."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.tools.interventions import CloseStop, CutWire, OpenStop
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.expressions.grammar import WHAT_IFS
from gradwire.runtime.lessons.expressions.trials import trials_in
from gradwire.runtime.publish.living.computing.switches import upstream_of_gradients

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.tools.interventions import Intervention
    from gradwire.runtime.lessons.texts import TextSlot
    from gradwire.runtime.publish.living.computing.switches import Switches


class PageTrials:
    """What a page with these switches can try: it opens and closes whole stops, and cuts wires that
    no Gradient block differentiates through.
    """

    def __init__(self, switches: Switches, program: Program) -> None:
        self._switches = switches
        self._program = program

    @cached_property
    def untried(self) -> list[str]:
        """The stops and wires that a page has, and can't open, close or cut for a what-if; none
        for a diagram that asks no such thing.
        """
        diagram, program = self._switches.diagram, self._program
        texts = [note.text for page in diagram.pages.values() for note in page.notes.values()]
        asked = [*texts, diagram.lesson.model_dump_json() if diagram.lesson else ""]
        if not any(f"{name}(" in text for name in WHAT_IFS for text in asked):
            return []
        differentiated = upstream_of_gradients(program)
        uses = Counter((each.page, each.name) for each in program.instances.values())
        wires = []
        for wire, target in program.wire_targets.items():
            markers = {program.wires.get(leaf) for leaf in program.leaf_wires(wire)}
            block = program.instances[target]
            if not markers.isdisjoint(differentiated) or uses[block.page, block.name] > 1:
                wires.append(wire)
        return sorted([*filter(self._spares, self._switches.paths), *wires])

    def _spares(self, stop: InstancePath) -> bool:
        block = self._program.block(stop)
        return isinstance(block, StopGradient) and bool(block.spare)

    def published(self, slot: TextSlot) -> str | None:
        """What an expression is worth that a page can't compute; None for the others."""
        steps = (step for trial in trials_in(slot.condition.tree) for step in trial)
        if all(map(self._follows, steps)):
            return None
        try:
            return slot.text(Facts(Session(self._switches.diagram)))
        except GradwireError:
            return "?"

    def _follows(self, step: Intervention) -> bool:
        if isinstance(step, CutWire):
            return step.wire in self._program.wire_sources and step.wire not in self.untried
        if not isinstance(step, OpenStop | CloseStop) or (isinstance(step, OpenStop) and step.leaf):
            return False
        return step.block in self._switches.paths and step.block not in self.untried
