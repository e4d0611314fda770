"""The canvas widget: shows one page of a diagram, handles input, and requests changes.

Tooltips, Tab and pinches are handled by a filter and not by an override of ``event``, because
PySide kills the process if an exception from C code, such as numpy's, propagates through an
``event`` method written in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from gradwire.app.canvas import accessibility
from gradwire.app.canvas.context import CanvasContext
from gradwire.app.canvas.corners import LegendBox, MiniMap
from gradwire.app.canvas.state.tooltips import block_tip, port_tip, wire_tip
from gradwire.app.canvas.widget import CanvasWidget
from gradwire.app.services.plain_text import tooltip
from gradwire.runtime.diagram import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtCore import QChildEvent, QPoint
    from PySide6.QtGui import QHelpEvent, QNativeGestureEvent

    from gradwire.app.canvas.state.costs import PageCosts
    from gradwire.app.canvas.state.view_state import ViewState, WireNumbers
    from gradwire.app.services.favourites import Favourites
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Diagram, InstancePath


class EventFilter(QObject):
    """Filters the events of one canvas."""

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        context.widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.ToolTip:
                at, widget = cast("QHelpEvent", event), self._context.widget
                tip = "" if self._is_covered(at.globalPos()) else self._tip(QPointF(at.pos()))
                QToolTip.showText(at.globalPos(), tooltip(tip), widget)
                return True
            case QEvent.Type.KeyPress:
                key = cast("QKeyEvent", event)
                return key.key() == Qt.Key.Key_Tab and self._context.keys.press(key)
            case QEvent.Type.ChildPolished:
                child = cast("QChildEvent", event).child()
                if isinstance(child, QWidget):  # what hits it ends there
                    child.setAttribute(Qt.WidgetAttribute.WA_NoMousePropagation)
            case QEvent.Type.NativeGesture:
                gesture = cast("QNativeGestureEvent", event)
                if self._is_covered(gesture.globalPosition().toPoint()):
                    return True
                if gesture.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                    self._context.camera.zoom_at(1.0 + gesture.value(), gesture.position())
                    return True
        return False

    def _is_covered(self, at: QPoint) -> bool:
        """Whether something lies on the canvas at a point of the screen, which did not take an
        event that reaches the canvas nevertheless.
        """
        widget = self._context.widget
        return widget.childAt(widget.mapFromGlobal(at)) is not None

    def _tip(self, at: QPointF) -> str:
        view = self._context.view
        scene, annotations, places = view.scene, view.annotations, self._context.places
        if (port := places.port_at(at)) is not None:
            return port_tip(annotations.page, port)
        if (block := places.block_at(at)) is not None:
            known = scene.names[block] == self._context.explained
            return (
                "" if known else block_tip(annotations.page, block, view.status(scene.names[block]))
            )
        wire = places.wire_at(at)
        known = wire is None or scene.wire_keys[wire] == self._context.explained
        return "" if wire is None or known else wire_tip(annotations, wire)


_EVERYWHERE = (Qt.Key.Key_Escape, Qt.Key.Key_Question)
"""Keys that reach the canvas also from a button or a field that lies on it."""


class CanvasView(CanvasWidget):
    """Shows a page of a diagram. Never changes it, but emits ``changeRequested``.

    Its parts do the work and share its :class:`CanvasContext`; what the rest of the editor asks of
    them goes by the names that ``_publish`` lists.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = CanvasContext(self)
        self._publish(self.context)
        accessibility.install()
        EventFilter(self.context)
        self.minimap = MiniMap(self.context)
        self.legend = LegendBox(self.context)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(200, 150)
        self.setAccessibleName(self.tr("Diagram"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)

    def _publish(self, context: CanvasContext) -> None:
        """Make known what the editor asks of the parts."""
        self.request, self.hint = context.request, context.hint
        self.computing, self.numbers = context.computing, context.numbers
        self.keyboard_focus, self.inline_editor = context.keyboard_focus, context.inline_editor
        self.set_keys = context.keys.rebind
        self.set_result = context.content.set_result
        self.render_to = context.painter.render_to
        self.set_reduced_motion = context.animation.set_reduced_motion

        places = context.places
        self.scene_position, self.middle = places.scene_position, places.middle
        self.block_rect = places.block_rect
        self.port_position, self.wire_position = places.port_position, places.wire_position

        camera = context.camera
        self.set_camera, self.reveal, self.show_at = camera.set, camera.reveal, camera.show_at
        self.zoom, self.set_zoom, self.zoom_at = camera.zoom, camera.set_zoom, camera.zoom_at
        self.actual_zoom, self.set_actual_zoom = camera.actual_zoom, camera.set_actual_zoom
        self.fit, self.limit_fit = camera.fit, camera.limit_fit
        self.zoom_to_fit, self.zoom_to_selection = camera.zoom_to_fit, camera.zoom_to_selection
        self.cameras, self.restore_cameras = camera.all, camera.restore

        selection = context.selection
        self.selection, self.selected_wire = selection.blocks, selection.wire
        self.set_selection, self.select_wire = selection.set, selection.select_wire
        self.select, self.select_all = selection.select, selection.select_all

        overlays, explaining = context.overlays, context.explaining
        self.route, self.show_route = overlays.route, overlays.show_route
        self.trial_marks, self.show_trial = overlays.trial_marks, overlays.show_trial
        self.guess_marks, self.show_guesses = overlays.guess_marks, overlays.show_guesses
        self.leave_explanation = overlays.leave_explanation
        self.explain, self.explain_block = explaining.explain, explaining.explain_block
        self.explain_port = explaining.explain_port

        edits = context.edits
        self.align, self.nudge, self.rename = edits.align, edits.nudge, edits.rename
        self.add, self.put, self.quick_add = edits.add, edits.put, edits.quick_add
        self.add_note, self.bend_wire = edits.add_note, edits.bend_wire
        self.delete_selection, self.inspect = edits.delete_selection, edits.inspect

    @property
    def view(self) -> ViewState:
        """What is shown."""
        return self.context.view

    @property
    def favourites(self) -> Favourites:
        """The blocks that are offered first."""
        return self.context.favourites

    @favourites.setter
    def favourites(self, favourites: Favourites) -> None:
        self.context.favourites = favourites

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show a page of ``diagram``.

        Each page keeps its own camera. Selected items stay selected if they still exist.
        """
        context, before = self.context, self.view.scene.page
        if not context.previews.is_showing:
            if context.mouse.cancel() or context.keyboard_focus.wire is not None:
                self.update()
            context.adder.close()
            context.inline_editor.close()
        context.content.set_diagram(diagram, page)
        context.overlays.follow(len(before.blocks))
        context.selection.follow(before)
        context.explaining.trace(None)
        context.keyboard_focus.update()
        context.numbers.update()
        self.minimap.follow()

    def set_costs(self, costs: PageCosts | None) -> None:
        """Show what blocks cost, or nothing of it."""
        self.context.show(costs=costs)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self.context.show(theme=theme)

    def mark_culprits(self, severities: Mapping[InstancePath, str]) -> None:
        """Mark the blocks at fault for what the doctor found, each with its severity."""
        self.context.show(culprits=severities)

    def set_wire_numbers(self, numbers: WireNumbers) -> None:
        """Choose the numbers beside wires."""
        self.context.show(numbers=numbers)

    def update(self, *area: Any) -> None:
        """Paint the widget, or an area of it, anew."""
        self.context.painter.update(*area)

    # Events

    def paintEvent(self, event: QPaintEvent) -> None:
        self.context.painter.paint(event.region())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.context.camera.fit_if_wanted()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.context.animation.update()

    def hideEvent(self, event: QHideEvent) -> None:
        self.context.mouse.cancel()
        super().hideEvent(event)
        self.context.animation.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.inline_editor.close()
        self.context.mouse.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.context.mouse.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.context.mouse.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.context.mouse.double_click(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.context.mouse.wheel(event)
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self.context.mouse.leave()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        focus = QApplication.focusWidget()
        is_within = focus is not None and focus is not self and self.isAncestorOf(focus)
        if (is_within and event.key() not in _EVERYWHERE) or not self.context.keys.press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self.context.keys.release(event)
        super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.context.keys.release_all()
        super().focusOutEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.context.drop_target.enter(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self.context.drop_target.move(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.context.drop_target.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        self.context.drop_target.drop(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.context.keys.show_menu()
