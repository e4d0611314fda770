"""Explains what is selected: the route on the canvas, the card beside it, the Why panel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal

from gradwire.app.canvas.state.marks import route_of
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.evaluation.answers import Reasons, reasons
from gradwire.app.panels.why.why import WIRE
from gradwire.app.panels.workspace import QueryingPart
from gradwire.blocks.errors import Location
from gradwire.runtime.diagram import MAIN, InstancePath, PortName, WirePath, owned_inputs

if TYPE_CHECKING:
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.why.card import Card
    from gradwire.app.panels.why.why import Why
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Page
    from gradwire.runtime.flow import Verdict

REST = 150
"""Milliseconds without another result until a number that is being dragged is explained."""


class Explanation(QueryingPart):
    """Keeps the Why panel, the card and the route on the canvas of one window up to date."""

    panelRequested = Signal()
    """The Why panel should be shown: it continues the card."""
    wireShown = Signal()
    """The panel explains another wire, and should come to the front."""

    def __init__(self, workspace: Workspace, why: Why, card: Card, reveal: Reveal) -> None:
        super().__init__(workspace)
        self._why = why
        self._card = card
        self._reveal = reveal
        self._result: EvaluationResult | None = None
        self._variable: str | None = None
        """Path of the variable whose route is shown instead of the selected wire's."""
        self._judged: tuple[EvaluationResult, str, Verdict | None] | None = None
        """A result and a variable with its verdict, the last that was found."""
        self._is_stale = False
        """Whether the answers are of another result."""
        self._is_silent = False
        """Whether the card stays away, because it would give away what is still to come."""
        self._rest = QTimer(self, singleShot=True, interval=REST)
        self._rest.timeout.connect(self._explain_again)
        self._canvas.whyRequested.connect(self.explain)
        self._canvas.whyBlockRequested.connect(self.explain_block)
        why.blockRequested.connect(self.follow_link)
        why.leafChosen.connect(self._follow_leaf)
        card.linkActivated.connect(self.follow_link)
        card.moreRequested.connect(self._continue)

    def set_result(self, result: EvaluationResult) -> None:
        """Explain another result; the answers are computed again if the numbers differ."""
        before, self._result = self._result, result
        self._is_stale |= before is None or not result.agrees_with(before)
        if self._document.is_previewing:
            self._rest.start()
        else:
            self._explain_again()

    def silence(self, is_silent: bool) -> None:  # a slot for what a toggle emits
        """Keep the card away, or show it again."""
        self._is_silent = is_silent
        self._show_card()

    def _explain_again(self) -> None:
        """Explain the last result, once a hand that drags a number rests or lets go."""
        self._rest.stop()
        if self._is_stale:
            self._is_stale = False
            self._query()
        self._draw(self._canvas.route() is not None)
        self._show_card()

    def show_selection(self, selection: Selection) -> None:
        """Explain the selected wire or variable, unless it is explained already."""
        self._show_card()
        key = selection.wire or ""
        if key == self._why.wire:
            if not key:
                self._query()  # for the card of a variable
            return
        self._why.set_wire(key)
        self._query()
        self._variable = None
        if key:
            self.wireShown.emit()
        route = self._canvas.route()
        if route is not None and route.wire != key:
            self._canvas.show_route(None)

    def explain(self, key: str) -> None:
        """Select a wire and show its route."""
        self._canvas.select_wire(key)
        self._card.reopen()
        self._draw(True)

    def explain_block(self, name: str) -> None:
        """Show the route of a block of the page if it is a variable, or of the first it owns."""
        path = self._navigation.use / name
        own = [path / target.port for target in owned_inputs(self._page, name)]
        known = () if self._result is None else self._result.gradients
        for variable in (path, *own):
            if variable in known:
                self.explain_variable(variable)
                return

    def explain_variable(self, path: str) -> None:
        """Show the route from the loss to a variable, and explain its wire on that route."""
        name = self._navigation.reveal(Location(MAIN, path))
        verdict = self._variable_verdict(path)
        if name is None or verdict is None:
            return
        self._reveal.block(name)
        wire = _first_wire(self._page, name, verdict, self._navigation.use)
        self._canvas.select_wire(wire)
        self._variable = path
        self._card.reopen()
        self._draw(True)

    def follow_link(self, target: str) -> None:
        """Go to the block or wire that a link points to."""
        if not target.startswith(WIRE):
            self._reveal.path(target)
            return
        wire = WirePath(target.removeprefix(WIRE))
        name = self._navigation.reveal(Location(MAIN, wire.block))
        if name is not None and wire.name in self._page.wires:
            self._canvas.set_selection(Selection(wire=str(wire.name)))
        elif name is not None:  # the wire of an own variable is inside its block
            self._reveal.block(name)

    def _follow_leaf(self, path: str) -> None:
        """Explain a single leaf of the wire, or the whole wire again."""
        self._query()
        self._draw(self._canvas.route() is not None)

    def _query(self) -> None:
        """Compute the fix, dialects and ledger of the selected wire in the background."""
        result, use = self._result, self._navigation.use
        key = self._wire_in_question()
        source = self._page.wires.get(PortName.parse(key)) if key else None
        self._why.show_answers(None)
        self._card.show_fix(None)
        if result is None or source is None or key is None:
            self.worker.cancel("why")
            return
        wire = WirePath(key).within(use).with_leaf(self._why.leaf)
        port = use.port_inside(source).with_leaf(self._why.leaf)
        about = partial(reasons, result=result, wire=wire, port=port)
        self.worker.query("why", result.diagram, about)

    def _take(self, kind: str, answer: object) -> None:
        if kind == "why" and isinstance(answer, Reasons):
            self._why.show_answers(answer)
            self._card.show_fix(answer.fix if answer.fix and answer.fix.sentence else None)

    def _draw(self, wanted: bool) -> None:
        verdict = self._verdict() if wanted else None
        key, use = self._canvas.selected_wire() or "", self._navigation.use
        route = None if verdict is None else route_of(verdict, key, self._page, use)
        self._canvas.show_route(route)

    def _show_card(self) -> None:
        """Show the verdict on the selected wire, or on the one selected variable, on the card."""
        result, use, selection = self._result, self._navigation.use, self._canvas.view.selection
        wire = WirePath(selection.wire).within(use) if selection.wire else ""
        if self._is_silent:
            self._card.show_verdict(None)
        elif result is not None and wire and wire in result.states:
            verdict, by_loss = result.verdict(wire), result.by_loss(result.verdict, wire)
            self._card.show_verdict(verdict, wire=selection.wire or "", by_loss=by_loss)
        elif result is not None and (name := self._selected_variable()):
            by_loss = result.by_loss(result.variable, use / name)
            self._card.show_verdict(self._variable_verdict(use / name), block=name, by_loss=by_loss)
        else:
            self._card.show_verdict(None)

    def _continue(self) -> None:
        """Show in the Why panel what the card is about."""
        if name := self._selected_variable():
            self.explain_variable(self._navigation.use / name)
        self.panelRequested.emit()

    def _selected_variable(self) -> str | None:
        """The name of the selected variable, if nothing else is selected."""
        selection = self._canvas.view.selection
        result, names = self._result, selection.blocks
        if result is None or selection.wire or selection.notes or len(names) != 1:
            return None
        (name,) = names
        return name if self._navigation.use / name in result.gradients else None

    def _wire_in_question(self) -> str | None:
        """The selected wire, or else the one that leads from the selected variable to the loss."""
        result, name = self._result, self._selected_variable()
        if result is None or name is None:
            return self._canvas.selected_wire()
        verdict = self._variable_verdict(self._navigation.use / name)
        if verdict is None:
            return None
        return _first_wire(self._page, name, verdict, self._navigation.use)

    def _variable_verdict(self, path: str) -> Verdict | None:
        """The verdict on a variable, found once: it takes a walk to the loss."""
        result, known = self._result, self._judged
        if result is None:
            return None
        if known is None or known[0] is not result or known[1] != path:
            self._judged = known = (result, path, result.variable(path))
        return known[2]

    def _verdict(self) -> Verdict | None:
        """The verdict on the explained variable, or else on the selected wire."""
        result, key = self._result, self._canvas.selected_wire()
        if result is None:
            return None
        if self._variable is not None:
            known = self._variable in result.gradients
            return self._variable_verdict(self._variable) if known else None
        wire = WirePath(key or "").within(self._navigation.use).with_leaf(self._why.leaf)
        return result.verdict(wire) if key is not None and wire in result.states else None


def _first_wire(page: Page, name: str, verdict: Verdict, use: InstancePath) -> str | None:
    """The wire from a variable towards the loss, or else any wire from it; None without one."""
    leaving = [target for target, source in page.wires.items() if source.block == name]
    on_route = [t for t in leaving if use / t.block in verdict.witness]
    return next((str(target) for target in [*on_route, *leaving]), None)
