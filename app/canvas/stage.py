"""The canvas without input: shows a page of a diagram and its result through a camera."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QImage, QPainter, QPaintEvent, QResizeEvent, QShowEvent

from gradwire.app.canvas.cameras import Cameras
from gradwire.app.canvas.computing import SHOWN_AFTER, Computing
from gradwire.app.canvas.paint.blocks.badges import HEIGHT, badge_width, draw_badges
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
from gradwire.app.canvas.paint.kept import Kept
from gradwire.app.canvas.paint.painter import Limits, paint, paint_fitted
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scrolled import ScrolledPage
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.badge_labels import badge_label
from gradwire.app.canvas.state.codes import STATE_OF
from gradwire.app.canvas.state.look_cache import LookCache
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.canvas.travel import Travel
from gradwire.app.services.theme import Theme, system
from gradwire.runtime.diagram import MAIN, ROOT, Diagram, InstancePath
from gradwire.runtime.flow import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.state.costs import PageCosts
    from gradwire.app.canvas.state.wire_numbers import WireNumbers
    from gradwire.app.evaluation.result import Result

_FACE_BUDGET = 0.008
"""Seconds per frame for drawing new faces; the rest follow in the next frames."""
_USUAL = 1600 * 1000
"""Device px of a window, beyond which frames take longer and more faces are drawn in each."""
_CUT_BUDGET = 0.004
"""Seconds per frame for finding out where gradient is cut; the rest follow as well."""
_FOLLOW_AFTER = 30
"""Milliseconds until new numbers of blocks are painted without the result that follows."""
_FLOW_EVERY = 50
"""Milliseconds between animation steps of the selected wire's chevrons."""
_FLOW_STEP = 0.05
_REFINED = 32
"""Wires for which detours are looked for between two frames."""
_WAIT = 200
"""Milliseconds until it is looked again whether a gesture has ended."""


class Stage(Cameras):
    """Shows a page of a diagram with a result of it, through a camera."""

    _changed = Signal()
    """The page looks different; what of it is found once all that has changed is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        scene = Scene(Diagram(), MAIN)
        self.view = ViewState(scene, resolve(scene, None), Camera(), system())
        self._result: Result | None = None
        self._use = ROOT
        self._faces = FaceCache(_FACE_BUDGET)
        self._looks = LookCache()
        self._kept = Kept()
        self._limits = Limits(_CUT_BUDGET)
        self._page = ScrolledPage()
        self._motion = True
        self.computing = Computing(self)
        self.computing.changed.connect(self._show_computing)
        self._followed: set[str] = set()
        """Blocks with new numbers that are not painted yet."""
        self._follow_timer = QTimer(self, singleShot=True, interval=_FOLLOW_AFTER)
        self._follow_timer.timeout.connect(self._show_followed)
        self._stale_timer = QTimer(self, singleShot=True, interval=SHOWN_AFTER)
        self._stale_timer.timeout.connect(self._dim)
        self._flow_timer = QTimer(self, interval=_FLOW_EVERY)
        self._flow_timer.timeout.connect(self._flow)
        self._refine_timer = QTimer(self, singleShot=True)
        self._refine_timer.timeout.connect(self._refine)
        self._travel = Travel(self)
        self._travel.ended.connect(self.update)
        self._is_changed = False
        """Whether what looks different is not found yet."""
        self._changed.connect(self._paint_changed, Qt.ConnectionType.QueuedConnection)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(200, 150)
        self.setAccessibleName(self.tr("Diagram"))

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show a page of ``diagram``. Each page keeps its own camera."""
        scene = self.view.scene
        if page == scene.page_name:
            changed = None if self.view.annotations.dimmed else scene.follow_numbers(diagram)
            if changed is not None:
                self._follow(changed)
                return
            self._rename_cameras(diagram)
            self._remember()
            if not scene.update(diagram):
                self._resolve()
        else:
            self._cameras[scene.page_name] = self.view.camera
            self._rename_cameras(diagram)
            self.view = replace(self.view, scene=Scene(diagram, page))
            self._resolve()
            known = self._cameras.get(page)
            if known is not None:
                self.set_camera(known)
                self.jumped.emit()
            self._fit_wanted = known is None
        self._fit_if_wanted()
        self._update_changed()

    def _follow(self, changed: list[int]) -> None:
        """Show the new numbers of blocks with the result that follows, or soon without it."""
        for i in changed:
            self.view.annotations.forget(i)
            self._followed.add(self.view.scene.names[i])
        if self._result is None:
            self._show_followed()
        else:
            self._follow_timer.start()
            self._stale_timer.start()

    def _show_followed(self) -> None:
        self._followed.clear()
        self._update_changed()

    def set_result(self, result: Result | None, use: InstancePath = ROOT) -> None:
        """Show values, lanes and problems; ``use`` is the path of the shown page's use."""
        if result is self._result and use == self._use:
            return
        self._result, self._use = result, use
        self._follow_timer.stop()
        self._followed.clear()
        self._resolve()
        self._update_changed()

    def set_costs(self, costs: PageCosts | None) -> None:
        """Show what blocks cost, or nothing of it."""
        self.view = replace(self.view, costs=costs)
        self.update()

    def _show_computing(self, computing: bool) -> None:
        self.view = replace(self.view, computing=computing)
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self.view = replace(self.view, theme=theme)
        self.update()

    def mark_culprits(self, severities: Mapping[InstancePath, str]) -> None:
        """Mark the blocks at fault for what the doctor found, each with its severity."""
        self.view = replace(self.view, culprits=severities)
        self.update()

    def set_wire_numbers(self, numbers: WireNumbers) -> None:
        """Choose the numbers beside wires."""
        self.view = replace(self.view, numbers=numbers)
        self.update()

    def set_reduced_motion(self, reduced: bool) -> None:
        """Turn animation off or on."""
        self._motion = not reduced
        self.update_flow()
        self.update()

    def update(self, *area: Any) -> None:
        """Paint the widget, or an area of it, anew."""
        self._page.drop()
        if not area:
            self._kept.forget()
        super().update(*area)

    def _update_changed(self) -> None:
        """Paint what looks different with the result, or new numbers, before the next frame.

        An edit is often followed at once by its result.
        """
        if self._page.is_panning:
            self.update()
        self._page.drop()
        if not self._is_changed:
            self._is_changed = True
            self._changed.emit()

    def _remember(self, version: int | None = None) -> None:
        """Know what is seen before it changes, or of what only wires have changed since a
        ``version`` of the scene.
        """
        if not (self._followed or self._is_changed):  # of which the old may still be seen
            self._kept.remember(self.view, self.size(), version)

    def _paint_changed(self) -> None:
        self._is_changed = False
        area = self._kept.changed_area(self.view, self.size(), self._limits.cut_budget)
        super().update(*[] if area is None else [area])

    def set_camera(self, camera: Camera) -> None:
        """Show the page through another camera."""
        before = self.view.camera
        super().set_camera(camera)
        if camera == before:
            return
        self._travel.move()
        if camera.zoom == before.zoom:
            self._page.pan()
            super().update()
        else:
            self.update()
            self.zoomChanged.emit(camera.zoom)

    def render_to(
        self,
        target: QImage | QPainter,
        area: QRectF | None = None,
        *,
        theme: Theme | None = None,
    ) -> None:
        """Draw the whole page, fitted into ``area`` or the whole target, with nothing selected."""
        if isinstance(target, QImage):
            size = target.deviceIndependentSize()
            with QPainter(target) as painter:
                box = area or QRectF(0.0, 0.0, size.width(), size.height())
                self.render_to(painter, box, theme=theme)
            return
        box = area or QRectF(target.viewport())
        paint_fitted(target, self.view, box, theme or self.view.theme)

    def paint_over(self, painter: QPainter) -> None:
        """Draw over the page."""

    def paintEvent(self, event: QPaintEvent) -> None:
        view, ratio, pans = self.view, self.devicePixelRatioF(), self._page.is_panning
        pixels = self.width() * self.height() * ratio**2
        zooms = self._travel.is_going_on and not pans
        self._faces.begin(view.camera.zoom, ratio, view.theme, round(12 * pixels),
                          share=max(1.0, pixels / _USUAL), hurried=pans, zooming=zooms)  # fmt: skip
        self._kept.begin(event.region(), self.size(), ratio)

        def draw(to: QPainter, area: QRectF) -> bool:
            kept = None if pans else self._kept  # it would be painted whole
            complete = paint(to, view, area, self._faces, ratio, self._limits, kept)
            return complete and not (self._faces.blank if zooms else self._faces.behind)

        with QPainter(self) as painter:
            complete = self._page.paint(painter, view, event.region(), self.size(), ratio, draw)
            self.paint_over(painter)
            painter.scale(self._actual, self._actual)
            if view.annotations.dimmed:
                stale = badge_label(Mark.STALE)
                left = self.width() / self._actual - 12.0 - badge_width(stale)
                draw_badges(painter, [stale], QPointF(left, 12.0 + HEIGHT / 2.0), view.theme)
        if not complete:  # the next frame goes on, of a picture that pans where parts are missing
            QTimer.singleShot(0, self, super().update if pans else self.update)
        self._travel.shown()
        is_done = view.scene.is_refined() or self._travel.is_going_on
        if not (is_done or self._refine_timer.isActive()):
            self._refine_timer.start(0)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.update_flow()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.update_flow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_if_wanted()

    def _resolve(self, *, dimmed: bool = False) -> None:
        """Resolve the result for the current scene."""
        scene, before = self.view.scene, self.view.annotations
        annotations = resolve(scene, self._result, self._use, dimmed=dimmed or before.dimmed,
                              cache=self._looks, before=before)  # fmt: skip
        self.view = replace(self.view, annotations=annotations)
        scene.set_rows(self._looks.row_counts(annotations.page))
        if annotations.page.stale and not annotations.dimmed:
            self._stale_timer.start()
        else:
            self._stale_timer.stop()
        self.update_flow()

    def update_flow(self) -> None:
        """Animate the chevrons of the selected wire while gradient passes it."""
        view = self.view
        wire = view.scene.wire_index.get(view.selection.wire or "")
        state = None if wire is None else STATE_OF.get(int(view.annotations.total.codes[wire]))
        flows = state is not None and state.row.passes
        if flows and self.isVisible() and self._motion:
            self._flow_timer.start()
        else:
            self._flow_timer.stop()
            self.view = replace(view, phase=0.0)

    def _flow(self) -> None:
        if self._travel.is_going_on:  # the page would have to be painted whole
            return
        view = self.view
        self.view = replace(view, phase=(view.phase + _FLOW_STEP) % 1.0)
        bounds = view.scene.wire_bounds[[view.scene.wire_index[view.selection.wire or ""]]]
        x0, y0, x1, y1 = view.camera.rows_to_widget(bounds)[0].tolist()
        self.update(QRectF(x0, y0, x1 - x0, y1 - y0).toAlignedRect())

    def is_held(self) -> bool:
        """Whether a gesture is going on, which is to be followed at once."""
        return False

    def _refine(self) -> None:
        """Look for the next detours of wires while nothing else is to be done, first in view."""
        scene, before = self.view.scene, self.view.scene.version
        area = self.view.camera.area(0.0, 0.0, self.width(), self.height())
        is_seen = not scene.is_refined(area)
        if self.is_held() and not is_seen:
            self._refine_timer.start(_WAIT)
            return
        if scene.refine(_REFINED, area if is_seen else None):
            self._remember(before)
            self._update_changed()
        if not (scene.is_refined() or self._travel.is_going_on):
            self._refine_timer.start(0)

    def _dim(self) -> None:
        """Dim the stale result."""
        self._resolve(dimmed=True)
        self.update()
