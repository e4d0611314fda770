"""What a canvas shows: a page of a diagram, a result of it, and whether a run is going on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.looks import LookCache
from gradwire.runtime.diagram import ROOT

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import Diagram, InstancePath

SHOWN_AFTER = 150
"""Milliseconds after which a run is shown; most end sooner, and would only flicker."""


class Computing(QObject):
    """Follows the runs of an evaluator."""

    changed = Signal(bool)
    """A run is shown from now on, or no longer."""
    cancelRequested = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = False
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_AFTER)
        self._timer.timeout.connect(lambda: self._show(shown=True))

    def set_busy(self, busy: bool) -> None:
        """Follow the beginning or the end of a run."""
        if busy:
            self._timer.start()
        else:
            self._timer.stop()
            self._show(shown=False)

    def cancel(self) -> bool:
        """Ask for the end of the run; False while none is shown, since nobody could mean it."""
        if self._shown:
            self.cancelRequested.emit()
            return True
        return False

    def _show(self, *, shown: bool) -> None:
        if shown != self._shown:
            self._shown = shown
            self.changed.emit(shown)


_FOLLOW_AFTER = 30
"""Milliseconds until new numbers of blocks are painted without the result that follows."""
_REFINED = 32
"""Wires for which detours are looked for between two frames."""
_WAIT = 200
"""Milliseconds until it is looked again whether a gesture has ended."""


class CanvasContent:
    """Follows the diagram and its results, and refines the wires while nothing else is to be
    done.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._result: EvaluationResult | None = None
        self._use = ROOT
        self._looks = LookCache()
        self._followed: set[str] = set()
        """Blocks with new numbers that are not painted yet."""
        parent = context.widget
        self.follow_timer = QTimer(parent, singleShot=True, interval=_FOLLOW_AFTER)
        self.follow_timer.timeout.connect(self._show_followed)
        self.stale_timer = QTimer(parent, singleShot=True, interval=SHOWN_AFTER)
        self.stale_timer.timeout.connect(self._dim)
        self.refine_timer = QTimer(parent, singleShot=True)
        self.refine_timer.timeout.connect(self.refine)

    def set_diagram(self, diagram: Diagram, page: str) -> None:
        """Show a page of ``diagram``. Each page keeps its own camera."""
        context, scene = self._context, self._context.view.scene
        if page == scene.page_name:
            changed = None if context.view.annotations.dimmed else scene.follow_numbers(diagram)
            if changed is not None:
                self._follow(changed)
                return
            context.camera.rename(diagram)
            self.remember()
            if not scene.update(diagram):
                self._resolve()
        else:
            context.camera.keep()
            context.camera.rename(diagram)
            context.view = replace(context.view, scene=Scene(diagram, page))
            self._resolve()
            context.camera.enter()
        context.camera.fit_if_wanted()
        context.painter.update_changed()

    def set_result(self, result: EvaluationResult | None, use: InstancePath = ROOT) -> None:
        """Show values, lanes and problems; ``use`` is the path of the shown page's use."""
        if result is not self._result or use != self._use:
            self._result, self._use = result, use
            self.follow_timer.stop()
            self._followed.clear()
            self._resolve()
            self._context.painter.update_changed()
        if not self._context.view.annotations.page.stale:
            self._context.previews.result_shown()

    def remember(self, version: int | None = None) -> None:
        """Know what is seen before it changes, or of what only wires have changed since a
        ``version`` of the scene.
        """
        if not self._followed:  # of which the old may still be seen
            self._context.painter.remember(version)

    def refine_soon(self) -> None:
        """Go on refining the wires once nothing else is to be done."""
        is_done = self._context.view.scene.is_refined() or self._context.painter.is_travelling
        if not (is_done or self.refine_timer.isActive()):
            self.refine_timer.start(0)

    def _follow(self, changed: list[int]) -> None:
        """Show the new numbers of blocks with the result that follows, or soon without it."""
        view = self._context.view
        for i in changed:
            view.annotations.forget(i)
            self._followed.add(view.scene.names[i])
        if self._result is None:
            self._show_followed()
        else:
            self.follow_timer.start()
            self.stale_timer.start()

    def _show_followed(self) -> None:
        self._followed.clear()
        self._context.painter.update_changed()

    def _resolve(self, *, dimmed: bool = False) -> None:
        """Resolve the result for the current scene."""
        context = self._context
        scene, before = context.view.scene, context.view.annotations
        annotations = resolve(scene, self._result, self._use, dimmed=dimmed or before.dimmed,
                              cache=self._looks, before=before)  # fmt: skip
        context.view = replace(context.view, annotations=annotations)
        scene.set_rows(self._looks.row_counts(annotations.page))
        if annotations.page.stale and not annotations.dimmed:
            self.stale_timer.start()
        else:
            self.stale_timer.stop()
        context.animation.update()

    def _dim(self) -> None:
        """Dim the stale result."""
        self._resolve(dimmed=True)
        self._context.painter.update()

    def refine(self) -> None:
        """Look for the next detours of wires while nothing else is to be done, first in view."""
        context, widget = self._context, self._context.widget
        scene, before = context.view.scene, context.view.scene.version
        area = context.view.camera.area(0.0, 0.0, widget.width(), widget.height())
        is_seen = not scene.is_refined(area)
        if context.mouse.gesture is not None and not is_seen:
            self.refine_timer.start(_WAIT)
            return
        if scene.refine(_REFINED, area if is_seen else None):
            self.remember(before)
            context.painter.update_changed()
        if not (scene.is_refined() or context.painter.is_travelling):
            self.refine_timer.start(0)
