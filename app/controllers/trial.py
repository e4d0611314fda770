"""Trials: open stops, cut wires and repairs, without changing the document until Apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Signal

from gradwire.app.canvas.state.marks import TrialMarks
from gradwire.app.evaluation.badges import Badges, badges_of
from gradwire.app.panels.bars.banner import TrialBar
from gradwire.app.panels.workspace import QueryingPart
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.diagram import MAIN, InstancePath, WirePath, same_meaning
from gradwire.runtime.flow import (
    Bridge,
    CloseStop,
    Comparison,
    CutWire,
    Difference,
    Fix,
    Freeze,
    Intervention,
    OpenStop,
    Thresholds,
    Train,
    WhatIf,
    open_stops,
    size,
)

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.why.card import Card
    from gradwire.app.panels.why.why import Why
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session

HOVER, TRIAL = "hover", "trial"


class TrialResult(NamedTuple):
    """The outcome of a trial."""

    comparison: Comparison
    badges: Badges


class Trial(QueryingPart):
    """The trial of one window: its steps and their effect."""

    changed = Signal()
    """The trial to overlay on results has changed, or ended."""

    def __init__(self, workspace: Workspace, why: Why, card: Card) -> None:
        super().__init__(workspace)
        self.bar = TrialBar(self._frame)
        self._result: EvaluationResult | None = None
        self._steps: tuple[Intervention, ...] = ()
        self._hovered = ""
        self._diagram: Diagram | None = None
        self._found: dict[str, TrialResult] = {}
        self._is_locked = False
        self.bar.applied.connect(self.apply)
        self.bar.discarded.connect(self.discard)
        self._canvas.cutHovered.connect(self.hover)
        self._canvas.cutTried.connect(self.cut)
        self._canvas.stopTried.connect(self.toggle)
        self._canvas.trialLeft.connect(self.discard)
        self._losses.lossChosen.connect(self._update_loss)
        self._speakers = (why, card)
        for speaker in self._speakers:
            speaker.repairTried.connect(self.repair)
            speaker.repairRequested.connect(self.apply_repair)
        card.trialApplied.connect(self.apply)
        card.trialDiscarded.connect(self.discard)

    @property
    def active(self) -> bool:
        """Whether a trial is going on."""
        return bool(self._steps)

    def lock(self, *, locked: bool) -> None:
        """Refuse trials, since they would show what a learner is to predict; or allow them."""
        if locked and not self._is_locked:
            self.discard()
        self._is_locked = locked

    def overlay(self, result: EvaluationResult) -> EvaluationResult:
        """``result`` as the trial changes it."""
        self._result = result
        if self.active and not (self._diagram and same_meaning(self._diagram, result.diagram)):
            self._clear()
        found = self._found.get(TRIAL)
        return result if found is None else result.after(found.comparison.after, found.badges)

    def hover(self, key: str) -> None:
        """Preview a cut of a wire of the page; an empty key ends the preview."""
        is_shown = bool(key) and not self._is_locked
        self._hovered = WirePath(key).within(self._navigation.use) if is_shown else ""
        self._found.pop(HOVER, None)
        if self._hovered:
            self._query(HOVER, (*self._steps, CutWire(self._hovered)))
        else:
            self.worker.cancel(HOVER)
        self._show_marks()

    def cut(self, key: str) -> None:
        """Toggle a cut of a wire of the page in the trial."""
        if self._is_refused():
            return
        self._toggle([CutWire(WirePath(key).within(self._navigation.use))])

    def toggle(self, name: str) -> None:
        """Toggle in the trial whether a StopGradient of the page lets gradient through."""
        if self._is_refused():
            return
        path = self._navigation.use / name
        tried = [s for s in self._steps if isinstance(s, OpenStop | CloseStop) and s.block == path]
        is_open = bool(open_stops(self._document.diagram, [path]))
        self._toggle(tried or [CloseStop(path) if is_open else OpenStop(path)])

    def repair(self, found: Fix) -> None:
        """Toggle a repair in the trial."""
        self._toggle(found.steps)

    def apply_repair(self, found: Fix) -> None:
        """Apply a repair to the document, as one undo, if it is still the one it was found for."""
        result, now = self._result, self._document.diagram
        same = result is not None and same_meaning(result.diagram, now)
        if found.change is not None and same:
            self.discard()
            self._document.apply(found.change)

    def _is_refused(self) -> bool:
        """Whether nothing can be tried here; shows a hint if so."""
        if self._is_locked:
            self._canvas.hint(self.tr("Nothing can be tried while you predict."))
            return True
        unused = self._navigation.root != MAIN
        if unused:
            text = self.tr("Nothing uses this page, so there is nothing to try.")
            self._canvas.hint(text)
        return unused

    def try_selected(self) -> None:
        """Toggle the selected stops in the trial, or else a cut of the selected wire."""
        canvas = self._canvas
        blocks = canvas.view.scene.page.blocks
        stops = [n for n in canvas.selection() if isinstance(blocks[n], StopGradient)]
        for name in sorted(stops):
            self.toggle(name)
        wire = canvas.selected_wire()
        if wire is not None and not stops:
            self.cut(wire)
        elif not stops:
            canvas.hint(self.tr("Select a StopGradient to open, or a wire to cut."))

    def apply(self) -> None:
        """Apply the trial to the document, as one undo."""
        found = self._found.get(TRIAL)
        if found is not None:
            self.discard()
            self._document.apply(found.comparison.change)

    def discard(self) -> None:
        """End the trial."""
        self._clear()
        self.changed.emit()

    def _toggle(self, steps: Sequence[Intervention]) -> None:
        """Add these steps to the trial, or remove them if it has all of them."""
        new = [step for step in steps if step not in self._steps]
        kept = tuple(step for step in self._steps if new or step not in steps)
        self._steps = (*kept, *new)
        self._run()

    def _run(self) -> None:
        self._found.pop(TRIAL, None)
        self._hovered = ""
        if not self.active:
            self.discard()
            return
        self._diagram = self._document.diagram
        self._query(TRIAL, self._steps)
        self._update_bar()
        self._show_marks()

    def _query(self, kind: str, steps: Sequence[Intervention]) -> None:
        job = partial(_compare, steps=tuple(steps), thresholds=self._settings.thresholds)
        self.worker.query(kind, self._document.diagram, job)

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, TrialResult):
            self._found[kind] = answer
        elif kind == TRIAL:
            self.bar.show_trial(self.tr("This can't be tried. {0}").format(answer), ready=False)
            return
        if kind == TRIAL:
            self._update_bar()
            self._name_steps(", ".join(map(self._step_text, self._steps)))
            self.changed.emit()
        self._show_marks()

    def _clear(self) -> None:
        self._steps = ()
        self._hovered, self._diagram = "", None
        self._found.clear()
        self.worker.cancel(TRIAL)
        self.worker.cancel(HOVER)
        self.bar.hide()
        self._canvas.show_trial(None)
        self._name_steps("")

    def _name_steps(self, steps: str) -> None:
        """Say beside the verdicts that they are those of the trial; empty without one."""
        for speaker in self._speakers:
            speaker.show_trial(steps)

    def _update_bar(self) -> None:
        parts = [self._step_text(step) for step in self._steps]
        found = self._found.get(TRIAL)
        changes = [] if found is None else [f"{n}: {t}" for n, t in self._changes(found).items()]
        effect = ", ".join(changes[:3]) or self.tr("no gradient changes")
        if found is None:
            effect = self.tr("computing …")
        elif len(changes) > 3:
            effect += self.tr(", and {0} more").format(len(changes) - 3)
        text = self.tr("Trial: {0}. Effect: {1}. The diagram itself is unchanged.")
        self.bar.show_trial(text.format(", ".join(parts), effect), ready=found is not None)

    def _step_text(self, step: Intervention) -> str:
        match step:
            case OpenStop():
                return self.tr("{0} open").format(step)
            case CloseStop():
                return self.tr("{0} closed").format(step.block)
            case CutWire():
                return self.tr("{0} cut").format(step.wire)
            case Train():
                return self.tr("{0} trained").format(step.variable)
            case Freeze():
                return self.tr("{0} frozen").format(step.variable)
            case Bridge():
                return self.tr("straight through {0}").format(step.hard)

    def _update_loss(self) -> None:
        """Show the effect on another loss."""
        if self.active:
            self._update_bar()
            self._show_marks()

    def _show_marks(self) -> None:
        if not (self.active or self._hovered):
            self._canvas.show_trial(None)
            return
        found = self._found.get(HOVER if self._hovered else TRIAL)
        changes = {} if found is None else self._changes(found)
        tried = [step.wire for step in self._steps if isinstance(step, CutWire)]
        cuts = dict.fromkeys([*tried, *([self._hovered] if self._hovered else [])])
        shown = {name: text for path, text in changes.items() for name in self._blocks_here([path])}
        opened = self._blocks_here(step.block for step in self._steps if isinstance(step, OpenStop))
        self._canvas.show_trial(TrialMarks(self._wires_here(cuts), opened, shown))

    def _blocks_here(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The names of those of the blocks that are on the page."""
        use = self._navigation.use
        return tuple(path.name for path in map(InstancePath, paths) if path.use == use)

    def _wires_here(self, wires: Iterable[str]) -> tuple[str, ...]:
        """The targets of those of the wires that are on the page."""
        use = self._navigation.use
        return tuple(str(wire.name) for wire in map(WirePath, wires) if wire.block.use == use)

    def _changes(self, found: TrialResult) -> dict[str, str]:
        differences = found.comparison.variables(self._losses.chosen)
        return {name: change_text(both) for name, both in differences.items() if both.changed}


def change_text(both: Difference) -> str:
    """``6.00 → 3.00 (−50 %)``; without the percentage if either is None or the first is 0."""
    text = f"{size(both.before)} → {size(both.after)}"
    if both.percent is None:
        return text
    return f"{text} ({both.percent:+.0f} %)".replace("(-", "(−")


def _compare(
    session: Session, steps: tuple[Intervention, ...], thresholds: Thresholds
) -> TrialResult:
    """Compute everything here, so that the window need not wait."""
    found = WhatIf(session, thresholds=thresholds).take(*steps).compare()
    found.after.flow.prepare()
    return TrialResult(found, badges_of(found.after))
