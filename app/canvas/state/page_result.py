"""The result for the blocks and ports of one page, by their names there."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradwire.app.evaluation.badges import NONE, Badges
from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Composite
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram import ROOT, InstancePath, WirePath, same_meaning
from gradwire.runtime.flow import State
from gradwire.runtime.lessons import FlowFacts, asks, note_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagnostic, Note, PortPath
    from gradwire.runtime.views import Picture


SEVERITIES = ("error", "warning", "info")
"""Severities of problems, the worst first."""


@dataclass(frozen=True, eq=False)
class PageResult:
    """A result, or none, for one page at its use ``use``."""

    scene: Scene
    result: EvaluationResult | None
    use: InstancePath = ROOT

    @cached_property
    def stale(self) -> bool:
        """Whether the result is of an older diagram."""
        result = self.result
        return result is not None and not same_meaning(result.diagram, self.scene.diagram)

    @property
    def badges(self) -> Badges:
        """The badges of the result, unless it is stale."""
        return NONE if self.result is None or self.stale else self.result.badges

    @property
    def notes(self) -> Mapping[str, Note]:
        """The notes of the page with the numbers of the result; … while there is none."""
        notes = self.scene.page.notes  # of now: edits change the page while the result stays
        if not any(asks(note.text) for note in notes.values()):
            return notes
        return {name: replace(note, text=self._written(note.text)) for name, note in notes.items()}

    def _written(self, text: str) -> str:
        """The text of a note with its numbers."""
        if text not in self._texts:
            self._texts[text] = note_text(text, self._facts)
        return self._texts[text]

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The texts of notes that were written already, by what they ask for."""
        return {}

    @cached_property
    def _facts(self) -> FlowFacts | None:
        result = self.result
        flow = None if result is None or result.is_partial else result.flow
        if result is None or flow is None:
            return None
        return FlowFacts(flow, result.diagram, trials=result.trials)

    @property
    def leaf_ports(self) -> Mapping[PortPath, Any]:
        """Shapes and dtypes by port, those of the leaves of trees included."""
        return {} if self.result is None else self.result.ports

    def value(self, block: str, port: str) -> Array | None:
        """The value of an output if it is known; of a page or formula, that of its inner output.

        A source shows what it is given, which may be newer than the result.
        """
        if self.result is None:
            return None
        known: Array | None = self._output(self.result.values, block, port)
        source = self.scene.page.blocks.get(block)
        given = getattr(source, "value", None) if isinstance(source, Source) else None
        if known is None or not isinstance(given, Tensor):
            return known
        return given.array if given.shape == known.shape else known

    def picture(self, block: str) -> Picture | None:
        """What a view shows; None where some of its values are not known, or hidden."""
        result = self.result
        if result is None or result.hidden:
            return None
        if result.is_partial:
            page = self.scene.page
            sources = [page.wires[target] for target in page.ends.inward.get(block, ())]
            if any(self.value(*source) is None for source in sources):
                return None
        return result.pictures.get(self.use / block)

    def tree(self, block: str, port: str) -> Tree | None:
        """The tree of an output that gives one, found like :meth:`value`."""
        return None if self.result is None else self._output(self.result.trees, block, port)

    def _output(self, known: Mapping[str, Any], block: str, port: str) -> Any:
        path = self.use / block
        found = known.get(path.port(port))
        if found is None and isinstance(self.scene.page.blocks.get(block), Composite):
            found = known.get((path / port).port("out"))
        return found

    def variable(self, block: str, port: str = "") -> InstancePath:
        """The path of a variable, or of the own variable of an input."""
        return self.use / block / port if port else self.use / block

    def gradient(self, block: str, port: str = "") -> Array | None:
        """The gradient of a variable, or of the own variable of an input."""
        path = self.variable(block, port)
        return None if self.result is None else self.result.gradients.get(path)

    def knows_gradient(self, block: str, port: str = "") -> bool:
        """Whether the gradient of a variable is known, be it None.

        A timeline hides it at first; and the program that the diagram comes from may be known to
        have another.
        """
        result, path = self.result, self.variable(block, port)
        if result is None:
            return True
        if result.flow is not None and result.flow.flow.doubts(path):
            return False
        return not result.is_partial or path in result.gradients

    @cached_property
    def problems(self) -> Mapping[tuple[str, str], list[Diagnostic]]:
        """Diagnostics by block and port; the port is empty for a block as a whole.

        Those of blocks inside a page belong to the page block.
        """
        found: dict[tuple[str, str], list[Diagnostic]] = {}
        for diagnostic in () if self.result is None else self.result.diagnostics:
            place = diagnostic.location
            path = InstancePath(place.block or "")
            if self.use and path.is_inside(self.use):
                path = path.relative_to(self.use)
            elif (place.page or "main") != self.scene.page_name:
                continue
            block = path.block_below(ROOT)
            if block in self.scene.index:
                port = (place.port or "") if path == block else ""
                found.setdefault((block, port), []).append(diagnostic)
        return found

    @cached_property
    def severities(self) -> Mapping[str, str]:
        """By block with a problem, the severity of its worst one."""
        worst: dict[str, str] = {}
        for (block, _), found in self.problems.items():
            known = [worst[block]] if block in worst else []
            worst[block] = min([*known, *(d.severity for d in found)], key=SEVERITIES.index)
        return worst

    def problems_of(self, block: str) -> list[Diagnostic]:
        """All diagnostics of a block and its ports."""
        return [d for (name, _), found in self.problems.items() if name == block for d in found]

    @cached_property
    def worst_inside(self) -> Mapping[str, State]:
        """By page block, the state of most concern of a wire inside it; absent if none is."""
        worst: dict[str, State] = {}
        if not self.scene.has_insides:
            return worst
        calm = self.result is None or self.result.is_lossless
        states = {} if self.result is None or calm else self.result.states
        shown = frozenset() if self.result is None else self.result.shown
        for key, state in states.items():
            wire = WirePath(key)
            concern = state.row.concern and wire not in shown
            block = wire.block_below(self.use) if concern else None
            if block is not None and wire.is_inside(self.use / block):
                known = worst.get(block)
                if known is None or state.row.concern > known.row.concern:
                    worst[block] = state
        return worst

    def sign_inside(self, name: str) -> str:
        """The sign of the state of most concern inside a page block; empty if none is."""
        state = self.worst_inside.get(name)
        if state is State.NONFINITE:
            return self._wild_inside.get(name, state.row.sign)
        return "" if state is None else state.row.sign

    @cached_property
    def _wild_inside(self) -> Mapping[str, str]:
        """By page block, ``NaN`` if a wire inside it has any, else its infinities."""
        found: dict[str, str] = {}
        if self.result is not None:
            for key, state in self.result.states.items():
                block = WirePath(key).block_below(self.use) if state is State.NONFINITE else None
                if block is not None and found.get(block) != "NaN":
                    found[block] = self.result.wild(key)
        return found
