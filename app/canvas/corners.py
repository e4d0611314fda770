"""What lies in the corners of the canvas: the legend, until it is dragged elsewhere, and a map.

The map of the whole page is shown while part of the page is hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import (
    QEvent,
    QObject,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QRegion
from PySide6.QtWidgets import QWidget

from gradwire.app.canvas.input.mouse import CLICK_DISTANCE
from gradwire.app.canvas.paint.blocks.badges import HEIGHT
from gradwire.app.canvas.paint.drawing import draw_rects
from gradwire.app.canvas.paint.legend import legend_content, legend_size, paint_legend
from gradwire.app.canvas.scene.arrays import NO_INDICES, distinct, sides_of
from gradwire.app.services.palette import shades

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import Changes, PortSlots

_MARGIN = 12
_BELOW_BADGE = round(HEIGHT) + 8
"""Extra room at the upper right for the badge of stale numbers."""


class LegendBox(QWidget):
    """Stays in place while the page scrolls. ``clicked`` requests to hide it."""

    clicked = Signal()

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        self._corner = 0
        self._dragged = False
        self._grip: QPoint | None = None
        """Where it was grabbed, relative to its corner."""
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAccessibleName(self.tr("Legend"))
        self.setToolTip(self.tr("Drag to move, click to hide."))
        self.hide()
        context.widget.installEventFilter(self)
        context.widget.jumped.connect(self._choose)

    def toggle(self) -> None:
        """Show it where it covers the least, or hide it."""
        self._dragged = False
        self.setVisible(self.isHidden())
        self._choose()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self.isHidden() and event.type() == QEvent.Type.Resize:
            self._move_to_place()
        elif not self.isHidden() and event.type() == QEvent.Type.Paint:
            if self.size() != self._size():  # other losses or thresholds
                QTimer.singleShot(0, self, self._move_to_place)
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        view, scale = self._context.view, self._context.camera.actual_zoom()
        with QPainter(self) as painter:
            painter.scale(scale, scale)
            paint_legend(painter, QPointF(), view.theme, legend_content(view.annotations))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._grip = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is None:
            return
        by = event.position().toPoint() - self._grip
        if self._dragged or by.manhattanLength() > CLICK_DISTANCE:
            self._dragged = True
            self.move(self._inside(self.pos() + by))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        grip, self._grip = self._grip, None
        by = event.position().toPoint() - (grip or QPoint())
        if grip is not None and by.manhattanLength() <= CLICK_DISTANCE and not self._dragged:
            self.clicked.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _choose(self) -> None:
        """Move to the corner that covers least, unless the user has dragged it."""
        if not self.isHidden() and not self._dragged:
            covered = [self._covered(corner) for corner in self._corners()]
            self._corner = covered.index(min(covered))
        self._move_to_place()

    def _move_to_place(self) -> None:
        self.resize(self._size())
        self.move(self._inside(self.pos()) if self._dragged else self._corners()[self._corner])

    def _size(self) -> QSize:
        content = legend_content(self._context.view.annotations)
        size = legend_size(content) * self._context.camera.actual_zoom()
        return QSize(int(size.width()) + 2, int(size.height()) + 2)

    def _corners(self) -> list[QPoint]:
        """Candidate positions of its top left corner, in order of preference."""
        room, size = self._context.widget.size(), self._size()
        right = max(room.width() - size.width() - _MARGIN, 0)
        bottom = max(room.height() - size.height() - _MARGIN, 0)
        return [
            QPoint(_MARGIN, _MARGIN),
            QPoint(_MARGIN, bottom),
            QPoint(right, _MARGIN + _BELOW_BADGE),
            QPoint(right, bottom),
        ]

    def _covered(self, corner: QPoint) -> float:
        """Area of blocks and of the mini-map that it would cover there, square px."""
        view, place = self._context.view, QRect(corner, self._size())
        low, far = np.split(sides_of(view.camera.rects_to_widget(view.scene.rects)), 2, axis=1)
        box = np.array(place.getCoords(), float)
        sides: Floats = np.minimum(far, box[2:]) - np.maximum(low, box[:2])
        maps = [child.geometry() & place for child in self._others()]
        below = np.maximum(sides, 0.0).prod(axis=1).sum()
        return float(below) + sum(one.width() * one.height() for one in maps)

    def _others(self) -> list[QWidget]:
        """The other widgets on the canvas."""
        children = [
            child for child in self._context.widget.children() if isinstance(child, QWidget)
        ]
        return [child for child in children if child is not self and child.isVisible()]

    def _inside(self, corner: QPoint) -> QPoint:
        room = self._context.widget.size() - self._size()
        return QPoint(
            min(max(corner.x(), 0), max(room.width(), 0)),
            min(max(corner.y(), 0), max(room.height(), 0)),
        )


MAP_SIZE = (180, 120)
_PAD = 8.0
_SMALLEST = 1.5
"""Least width and height of a block, px."""
_AROUND = 3
"""How far around an area blocks are looked for that are drawn larger than they are, px."""
_FEW = 64
"""Moved blocks, up to which only their surroundings are drawn anew."""


class MiniMap(QWidget):
    """Blocks as small rectangles, and a frame around the visible part. A press or drag pans there.

    It is visible while part of the page is not, unless it is turned off.
    """

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        self._wanted = True
        self._picture: QPixmap | None = None
        self._drawn: tuple[object, ...] = ()
        """What the picture depends on, but for the places of blocks."""
        self._version = -1
        self._rects: Floats = np.zeros((0, 4))
        """Where the blocks (n, 4) are on the picture."""
        self._gone: Floats = self._rects
        """Where blocks (k, 4) are on the picture that are gone from the page."""
        self._scene: Scene | None = None
        self._slots: list[PortSlots] = []
        self._families: NDArray[np.str_] = np.zeros(0, str)
        self._family: Indices = NO_INDICES
        """The number of the family of each block (n,)."""
        self.setFixedSize(*MAP_SIZE)
        self.setAccessibleName(self.tr("Mini-map"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.hide()
        context.widget.installEventFilter(self)

    @property
    def wanted(self) -> bool:
        """Whether it is turned on."""
        return self._wanted

    def toggle(self) -> None:
        """Turn it on or off."""
        self._wanted = not self._wanted
        self._update_visibility()

    def needed(self) -> bool:
        """Whether part of the page is outside the view."""
        bounds = self._context.view.scene.bounds()
        if bounds is None:
            return False
        (left, top), (right, bottom) = self._context.view.camera.to_widget(bounds.reshape(2, 2))
        return bool(
            left < 0
            or top < 0
            or right > self._context.widget.width()
            or bottom > self._context.widget.height()
        )

    def follow(self) -> None:
        """Show what an edit has changed of it."""
        self._check_visibility()
        bounds = self._context.view.scene.bounds()
        area = None if bounds is None or self.isHidden() else self._outdated(bounds)
        if area is None:
            self.update()
        else:
            self.update(area)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            room = self._context.widget.size()
            self.move(room.width() - MAP_SIZE[0] - _MARGIN, room.height() - MAP_SIZE[1] - _MARGIN)
        elif event.type() == QEvent.Type.Paint:
            self._check_visibility()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        view = self._context.view
        bounds = view.scene.bounds()
        if bounds is None:
            return
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._blocks(bounds, event.region()))
            shown = view.camera.area(
                0, 0, self._context.widget.width(), self._context.widget.height()
            )
            low, high = self._to_map(shown.reshape(2, 2), bounds).tolist()
            frame = QRectF(QPointF(*low), QPointF(*high)) & QRectF(self.rect()).adjusted(
                1, 1, -2, -2
            )
            painter.setPen(QPen(QColor(view.theme.accent), 1.5))
            painter.drawRect(frame)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._go(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go(event.position())

    def _is_due(self) -> bool:
        return self._wanted and self.needed()

    def _check_visibility(self) -> None:
        """Show or hide it, if need be, but not while the canvas is being painted."""
        if self.isHidden() == self._is_due():
            QTimer.singleShot(0, self, self._update_visibility)

    def _update_visibility(self) -> None:
        self.setVisible(self._is_due())

    def _go(self, at: QPointF) -> None:
        """Centre the canvas on a point of the map."""
        view = self._context.view
        bounds = view.scene.bounds()
        if bounds is None:
            return
        scale, corner = self._scale(bounds)
        middle = (np.array(at.toTuple()) - corner) / scale
        x, y = view.camera.to_widget(middle).tolist()
        camera = view.camera.panned(
            self._context.widget.width() / 2 - x, self._context.widget.height() / 2 - y
        )
        self._context.camera.set(camera)

    def _blocks(self, bounds: Floats, region: QRegion) -> QPixmap:
        """The blocks, redrawn when the page, the theme or the screen changes; ``region`` of them
        is being shown.
        """
        view, ratio = self._context.view, self.devicePixelRatioF()
        self._follow_members()
        drawn, version = self._depends(bounds), view.scene.version
        if self._picture is None or (drawn, version) != (self._drawn, self._version):
            area = self._outdated(bounds)
            if area is None or self._picture is None:
                self._picture = QPixmap(round(MAP_SIZE[0] * ratio), round(MAP_SIZE[1] * ratio))
                self._picture.setDevicePixelRatio(ratio)
                area = QRegion(self.rect())
            self._drawn, self._version, self._rects = drawn, version, view.scene.rects.copy()
            self._gone = self._gone[:0]
            with QPainter(self._picture) as painter:
                painter.setClipRegion(area)
                painter.fillRect(self.rect(), QColor(view.theme.surface))
                self._draw_blocks(painter, bounds, area.boundingRect())
            if not (area - region).isEmpty():
                self.update(area)
        return self._picture

    def _depends(self, bounds: Floats) -> tuple[object, ...]:
        """What the picture depends on, but for the places of blocks."""
        view = self._context.view
        looks = view.scene.page.styles, view.theme.name
        return (view.scene, *looks, bounds.tolist(), self.devicePixelRatioF())

    def _follow_members(self) -> None:
        """Follow blocks to their numbers now, and know their families; all is drawn anew where it
        is not known which have come or gone.
        """
        scene, known = self._context.view.scene, self._context.view.scene.renumbered
        if scene is self._scene and scene.slots is self._slots:
            return
        is_followed = scene is self._scene and known is not None and known.slots is self._slots
        self._scene, self._slots = scene, scene.slots
        if not (is_followed and known is not None and self._renumber(known.edit.blocks)):
            names = [type(block).family for block in scene.blocks]
            self._families, self._family = np.unique(np.array(names, str), return_inverse=True)
            self._picture = None

    def _renumber(self, blocks: Changes) -> bool:
        """Follow ``blocks`` to their numbers now; False if one is of a new family."""
        names = [type(self._context.view.scene.blocks[i]).family for i in blocks.fresh]
        numbers = {str(family): number for number, family in enumerate(self._families)}
        if self._picture is None or not numbers.keys() >= {*names}:
            return False
        self._gone = np.concatenate([self._gone, self._rects[blocks.gone]])
        self._rects = blocks.rows(self._rects, np.nan)
        self._family = blocks.rows(self._family)
        self._family[blocks.fresh] = [numbers[name] for name in names]
        return True

    def _outdated(self, bounds: Floats) -> QRegion | None:
        """The area in which the picture is of before; None if it is all of it."""
        self._follow_members()
        is_whole = self._picture is None or not self.devicePixelRatioF().is_integer()
        if is_whole or self._depends(bounds) != self._drawn:
            return None
        return self._changed(self._context.view.scene.rects, bounds)

    def _on_map(self, rects: Floats, bounds: Floats) -> Floats:
        """Left, top, width, height on the map (k, 4) of blocks at ``rects`` (k, 4)."""
        scale, corner = self._scale(bounds)
        found: Floats = rects * scale
        found[:, :2] += corner
        found[:, 2:] = np.maximum(found[:, 2:], _SMALLEST)
        return found

    def _changed(self, rects: Floats, bounds: Floats) -> QRegion | None:
        """The area in which blocks have moved, come or gone since the picture was drawn; None if
        many have.
        """
        differ = distinct(np.flatnonzero(rects.ravel() != self._rects.ravel()) // 4)
        if len(differ) > _FEW:
            return None
        both = np.concatenate([rects[differ], self._rects[differ], self._gone])
        region, both = QRegion(), both[~np.isnan(both[:, 0])]
        for x, y, w, h in self._on_map(both, bounds).tolist():
            region += QRectF(x, y, w, h).adjusted(-1.0, -1.0, 1.0, 1.0).toAlignedRect()
        return region

    def _draw_blocks(self, painter: QPainter, bounds: Floats, area: QRect) -> None:
        """Draw the blocks that touch an area."""
        view, scene_rects = self._context.view, self._context.view.scene.rects
        scale, corner = self._scale(bounds)
        sides = area.adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND).getCoords()
        near = view.scene.blocks_in((np.array(sides) - np.tile(corner, 2)) / scale)
        rects = self._on_map(scene_rects[near], bounds)
        painter.setPen(Qt.PenStyle.NoPen)
        for number, family in enumerate(self._families):
            painter.setBrush(view.theme.border(str(family)))
            draw_rects(painter, rects[self._family[near] == number])
        coloured: dict[str, list[int]] = {}
        for name, style in view.scene.page.styles.items():
            if style.colour and name in view.scene.index:
                coloured.setdefault(style.colour, []).append(view.scene.index[name])
        for colour, blocks in coloured.items():
            if (chosen := shades(view.theme, colour)) is not None:
                painter.setBrush(chosen.edge)
                draw_rects(painter, self._on_map(scene_rects[blocks], bounds))
        painter.setPen(QPen(QColor(view.theme.hairline), 1.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(0.5, 0.5, MAP_SIZE[0] - 1.0, MAP_SIZE[1] - 1.0))

    def _to_map(self, points: Floats, bounds: Floats) -> Floats:
        scale, corner = self._scale(bounds)
        return points * scale + corner

    def _scale(self, bounds: Floats) -> tuple[float, Floats]:
        """Map px per scene unit, and the position of the scene's origin on the map."""
        size = np.maximum(bounds[2:] - bounds[:2], 1.0)
        scale = float(((np.array(MAP_SIZE) - 2 * _PAD) / size).min())
        return scale, np.array(MAP_SIZE) / 2.0 - scale * (bounds[:2] + bounds[2:]) / 2.0
