"""What if: stops open, wires cut and repairs made, without touching the document until Apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from app.canvas.state.trial import TrialMarks
from app.evaluation.badges import Badges, badges_of
from app.evaluation.worker import SessionWorker
from app.panels.bars.trial_bar import TrialBar
from blocks.library.gradient import StopGradient
from runtime.diagram import MAIN
from runtime.diagram.model import same_meaning
from runtime.diagram.paths import InstancePath, WirePath
from runtime.flow import Comparison, Difference, Fix, Thresholds, WhatIf
from runtime.flow.tools.interventions import (
    Bridge,
    CloseStop,
    CutWire,
    Freeze,
    Intervention,
    OpenStop,
    Train,
    open_stops,
)
from runtime.flow.words.formatting import size

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation
    from app.evaluation.result import Result
    from app.panels.tables.losses import Losses
    from app.panels.why.why import Why
    from app.services.settings import Settings
    from runtime.diagram import Diagram
    from runtime.engine import Session

HOVER, TRIAL = "hover", "trial"


class TrialResult(NamedTuple):
    """What runs say of a trial."""

    comparison: Comparison
    badges: Badges


class Trial(QObject):
    """One trial of one window: the steps that are tried, and what runs say of them."""

    changed = Signal()
    """Results are to be shown with another trial, or without."""

    def __init__(
        self,
        document: Document,
        navigation: Navigation,
        canvas: CanvasView,
        losses: Losses,
        why: Why,
        settings: Settings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._navigation = navigation
        self._canvas = canvas
        self._losses = losses
        self._settings = settings
        self.bar = TrialBar(parent)
        self.worker = SessionWorker(self)
        self._result: Result | None = None
        self._steps: tuple[Intervention, ...] = ()
        self._hovered = ""
        self._diagram: Diagram | None = None
        self._found: dict[str, TrialResult] = {}
        self.worker.finished.connect(self._take)
        self.bar.applied.connect(self.apply)
        self.bar.discarded.connect(self.discard)
        canvas.cutHovered.connect(self.hover)
        canvas.cutTried.connect(self.cut)
        canvas.stopTried.connect(self.toggle)
        canvas.trialLeft.connect(self.discard)
        losses.lossChosen.connect(self._update_loss)
        why.repairTried.connect(self.repair)
        why.repairRequested.connect(self.apply_repair)

    @property
    def active(self) -> bool:
        """Something is tried."""
        return bool(self._steps)

    def overlay(self, result: Result) -> Result:
        """What shall be shown in place of ``result``: what the trial made of it."""
        self._result = result
        if self.active and not (self._diagram and same_meaning(self._diagram, result.diagram)):
            self._clear()
        found = self._found.get(TRIAL)
        return result if found is None else result.after(found.comparison.after, found.badges)

    def hover(self, key: str) -> None:
        """Show what a cut of this wire of the page would change; an empty key is no wire."""
        self._hovered = WirePath(key).within(self._navigation.use) if key else ""
        self._found.pop(HOVER, None)
        if self._hovered:
            self._query(HOVER, (*self._steps, CutWire(self._hovered)))
        else:
            self.worker.cancel(HOVER)
        self._show_marks()

    def cut(self, key: str) -> None:
        """Try a cut of this wire of the page, or no more."""
        if self._is_unused_page():
            return
        self._toggle([CutWire(WirePath(key).within(self._navigation.use))])

    def toggle(self, name: str) -> None:
        """Try a StopGradient of the page open (or closed, where it is open), or as it was."""
        if self._is_unused_page():
            return
        path = self._navigation.use / name
        tried = [s for s in self._steps if isinstance(s, OpenStop | CloseStop) and s.block == path]
        is_open = bool(open_stops(self._document.diagram, [path]))
        self._toggle(tried or [CloseStop(path) if is_open else OpenStop(path)])

    def repair(self, found: Fix) -> None:
        """Try what a repair would do, or no more."""
        self._toggle(found.steps)

    def apply_repair(self, found: Fix) -> None:
        """Make a repair a change of the document it was found for, as one undo."""
        result, now = self._result, self._document.diagram
        alike = result is not None and same_meaning(result.diagram, now)
        if found.change is not None and alike:
            self.discard()
            self._document.apply(found.change)

    def _is_unused_page(self) -> bool:
        """Whether nothing of the page runs, so that there is nothing to try."""
        idle = self._navigation.root != MAIN
        if idle:
            text = self.tr("Nothing uses this page, so there is nothing to try.")
            self._canvas.hint(text)
        return idle

    def try_selected(self) -> None:
        """Try the selected stops open (or closed again), or a cut on the selected wire."""
        canvas = self._canvas
        blocks = canvas.view.scene.page.blocks
        stops = [n for n in canvas.selection() if isinstance(blocks[n], StopGradient)]
        for name in sorted(stops):
            self.toggle(name)
        wire = canvas.selected_wire()
        if wire is not None and not stops:
            self.cut(wire)
        elif not stops:
            canvas.hint(self.tr("Select a StopGradient to try it open, or a wire to try a cut."))

    def apply(self) -> None:
        """Make the trial a change of the document, as one undo."""
        found = self._found.get(TRIAL)
        if found is not None:
            self.discard()
            self._document.apply(found.comparison.change)

    def discard(self) -> None:
        """Try nothing any more."""
        self._clear()
        self.changed.emit()

    def _toggle(self, steps: Sequence[Intervention]) -> None:
        """Try these steps besides, or none of them where all are tried already."""
        new = [step for step in steps if step not in self._steps]
        kept = tuple(step for step in self._steps if new or step not in steps)
        self._steps = (*kept, *new)
        self._try()

    def _try(self) -> None:
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
            self.bar.show_trial(self.tr("This can not be tried. {0}").format(answer), ready=False)
            return
        if kind == TRIAL:
            self._update_bar()
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

    def _update_bar(self) -> None:
        parts = [self._step_text(step) for step in self._steps]
        found = self._found.get(TRIAL)
        changes = [] if found is None else [f"{n}: {t}" for n, t in self._changes(found).items()]
        said = ", ".join(changes[:3]) or self.tr("no gradient changes")
        if found is None:
            said = self.tr("computing …")
        elif len(changes) > 3:
            said += self.tr(", and {0} more").format(len(changes) - 3)
        text = self.tr("A trial: {0}. {1}. The diagram is as it was.")
        self.bar.show_trial(text.format(", ".join(parts), said), ready=found is not None)

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
        """Tell what the trial changes for another loss."""
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
        """Those of the blocks that are on the page, by their names there."""
        use = self._navigation.use
        return tuple(path.name for path in map(InstancePath, paths) if path.use == use)

    def _wires_here(self, wires: Iterable[str]) -> tuple[str, ...]:
        """Those of the wires that are on the page, by their targets there."""
        use = self._navigation.use
        return tuple(str(wire.name) for wire in map(WirePath, wires) if wire.block.use == use)

    def _changes(self, found: TrialResult) -> dict[str, str]:
        about = found.comparison.variables(self._losses.chosen)
        return {name: change_text(both) for name, both in about.items() if both.changed}


def change_text(both: Difference) -> str:
    """``6.00 → 3.00 (−50 %)``; without a share from or to None, and from 0."""
    text = f"{size(both.before)} → {size(both.after)}"
    if both.percent is None:
        return text
    return f"{text} ({both.percent:+.0f} %)".replace("(-", "(−")


def _compare(
    session: Session, steps: tuple[Intervention, ...], thresholds: Thresholds
) -> TrialResult:
    """All of it here, so that no window has to wait for it."""
    found = WhatIf(session, thresholds=thresholds).take(*steps).compare()
    found.after.flow.prepare()
    return TrialResult(found, badges_of(found.after))
