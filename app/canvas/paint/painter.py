"""Paints a page: notes, wires, faces and highlights. Independent of widgets and events."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint.blocks.badges import paint_status
from gradwire.app.canvas.paint.blocks.costs import paint_costs
from gradwire.app.canvas.paint.blocks.faces import CORNER, draw_face, paint_badges_over
from gradwire.app.canvas.paint.blocks.numbers import paint_numbers
from gradwire.app.canvas.paint.blocks.symbols import (
    draw_scaled_symbol,
    symbol_picture,
    symbol_scale,
)
from gradwire.app.canvas.paint.drawing import (
    LEAST,
    box_between,
    draw_lines,
    draw_rects,
    placed,
    snapped,
)
from gradwire.app.canvas.paint.highlights import (
    paint_bends,
    paint_covered_ports,
    paint_port_types,
    paint_problems,
    paint_route,
    paint_siblings,
    paint_wire_ends,
)
from gradwire.app.canvas.paint.notes import paint_notes
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.paint.wires.labels import (
    LabelLayout,
    draw_labels,
    place_labels,
    visible_wires,
)
from gradwire.app.canvas.paint.wires.lanes import Bundle
from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN, Camera
from gradwire.app.canvas.scene.curves import strokes
from gradwire.app.canvas.scene.focus import FocusKind, exists, focus_bounds
from gradwire.app.canvas.scene.lane_paths import GAP, STEPS
from gradwire.app.canvas.state.marks import Route
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.services.colours import contrast
from gradwire.app.services.palette import shades
from gradwire.app.services.theme import font
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Page as PageBlock

if TYPE_CHECKING:
    from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
    from gradwire.app.canvas.paint.frame_cache import FrameCache
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.flow import State

_LEAST_HEIGHT = 11.0
"""Height of a block from which it has a symbol or name, widget px."""
_PLAIN_PAD = 2.0


def paint_plain_blocks(
    painter: QPainter, view: ViewState, blocks: Indices, *, ratio: float, vector: bool
) -> None:
    """Paint ``blocks`` in the colours of their families.

    A page with a wire of concern inside has the colour of the wire's state.
    """
    scene, theme = view.scene, view.theme
    rects = view.camera.rects_to_widget(scene.rects[blocks])
    families = np.array([type(scene.blocks[i]).family for i in blocks.tolist()])
    styles = scene.page.styles
    chosen: dict[int, QColor] = {}
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    pages = np.zeros(0, np.intp)
    for family in np.unique(families):
        alike = families == family
        painter.setBrush(theme.border(str(family)))
        draw_rects(painter, rects[alike])
        if family == PageBlock.family:
            pages = np.flatnonzero(alike)
    for number, i in enumerate(blocks.tolist() if styles else ()):
        style = styles.get(scene.names[i])
        shade = shades(theme, style.colour) if style else None
        if shade is not None:
            chosen[number] = shade.edge
    for number, state in _concerned(view, blocks, pages).items():
        chosen[number] = theme.lane(state)
    alike_numbers: dict[int, list[int]] = {}
    for number, colour in chosen.items():
        alike_numbers.setdefault(colour.rgba(), []).append(number)
    for numbers in alike_numbers.values():
        painter.setBrush(chosen[numbers[0]])
        draw_rects(painter, rects[numbers])
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    for number in np.flatnonzero(rects[:, 3] >= _LEAST_HEIGHT).tolist():
        block = scene.blocks[int(blocks[number])]
        place = QRectF(*rects[number].tolist()).adjusted(_PLAIN_PAD, 0.0, -_PLAIN_PAD, 0.0)
        fill = chosen.get(number) or theme.border(str(families[number]))
        ink = _ink_on(fill.rgb(), theme.ink, theme.canvas)
        if not isinstance(block, PageBlock) or not _paint_name(painter, block.page, place, ink):
            symbol = type(block).symbol or type(block).type_name()[:1]
            _paint_symbol(painter, symbol, place, ink, ratio=ratio, vector=vector)


def _concerned(view: ViewState, blocks: Indices, pages: Indices) -> dict[int, State]:
    """The states of most concern inside the blocks with the positions ``pages`` in ``blocks``."""
    if not len(pages):  # what is inside is found by a search through all wires
        return {}
    worst, names = view.annotations.page.worst_inside, view.scene.names
    inside = {number: worst.get(names[int(blocks[number])]) for number in pages.tolist()}
    return {number: state for number, state in inside.items() if state is not None}


@lru_cache(maxsize=128)
def _ink_on(fill: int, *inks: str) -> str:
    """The ink that stands out most from a fill."""
    return max(inks, key=lambda ink: contrast(ink, QColor(fill)))


def _paint_name(painter: QPainter, name: str, place: QRectF, ink: str) -> bool:
    """Paint a page's name, cut if need be; return whether there is room for it."""
    letters = font(LEAST, bold=True)
    metrics = QFontMetricsF(letters)
    if place.width() < metrics.horizontalAdvance("123…") or place.height() < metrics.height():
        return False
    painter.setFont(letters)
    painter.setPen(QColor(ink))
    shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, place.width())
    painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter), shown)
    return True


def _paint_symbol(
    painter: QPainter, symbol: str, place: QRectF, colour: str, *, ratio: float, vector: bool
) -> None:
    scale = symbol_scale(symbol, place.size())
    if scale is None:
        return
    if vector:
        draw_scaled_symbol(painter, symbol, place, scale, QColor(colour))
        return
    picture = symbol_picture(symbol, round(scale, 2), colour, ratio)
    half = picture.deviceIndependentSize() / 2.0
    painter.drawPixmap(place.center() - QPointF(half.width(), half.height()), picture)


Progress: TypeAlias = Callable[[float], object]

_PIECE = 64
"""Number of wires or blocks painted between two reports of progress."""
_DOT = 3.0
"""Size of a port that an open wire fits, from afar, px."""
_VEIL = 0.72
"""Opacity of the veil over everything that is not traced."""


@dataclass(frozen=True)
class PaintLimits:
    """Limits of one painting."""

    cut_budget: float = math.inf
    """Seconds for finding out where gradient is cut."""
    progress: Progress | None = None
    """Called with the share that is painted; an exception from it ends the painting."""


def paint(
    painter: QPainter,
    view: ViewState,
    area: QRectF,
    faces: FaceCache | None,
    ratio: float = 1.0,
    limits: PaintLimits | None = None,
    cache: FrameCache | None = None,
) -> bool:
    """Paint ``area`` of the widget; without a cache of faces, everything as vectors.

    ``ratio`` is device px per widget px; ``cache`` keeps wires and labels from frame to frame.
    Returns whether the painting is complete: with a limited ``cut_budget``, some labels may be left
    out.
    """
    return _PagePainter(painter, view, area, faces, ratio, limits or PaintLimits(), cache).paint()


def paint_fitted(
    painter: QPainter,
    view: ViewState,
    area: QRectF,
    theme: Theme,
    *,
    progress: Progress | None = None,
) -> None:
    """Paint the whole page, fitted into ``area``, with nothing selected.

    ``progress`` is called with the share that is painted; an exception from it ends the painting.
    """
    view.scene.refine()
    camera = fitted_camera(view, area)
    plain = ViewState(view.scene, view.annotations, camera, theme, numbers=view.numbers)
    paint(painter, plain, area, None, limits=PaintLimits(progress=progress))


def fitted_camera(view: ViewState, area: QRectF) -> Camera:
    """The camera of :func:`paint_fitted`."""
    bounds, camera = view.scene.bounds(), Camera()
    if bounds is not None:
        camera = Camera.fitting(bounds, area.width(), area.height(), margin=24.0, most=4.0)
    return camera.panned(area.left(), area.top())


class _PagePainter:
    """One painting of a page."""

    def __init__(
        self,
        painter: QPainter,
        view: ViewState,
        area: QRectF,
        faces: FaceCache | None,
        ratio: float,
        limits: PaintLimits,
        cache: FrameCache | None,
    ) -> None:
        self.painter = painter
        self.view = view
        self.area = area
        self.faces = faces
        self.ratio = ratio
        self.limits = limits
        self.cache = cache
        self.complete = True
        camera = view.camera
        self.visible: Floats = camera.area(area.x(), area.y(), area.width(), area.height())
        self.layout = LabelLayout(view, self.visible)

    def paint(self) -> bool:
        painter, view = self.painter, self.view
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        blocks = self._visible_blocks()
        wires = visible_wires(view, self.visible)
        is_near = view.camera.zoom >= PLAIN and self.faces is not None
        if self.cache is not None and is_near:
            ground = self.cache.ground
            ground.paint(painter, view, self.area, self.cache.share, self._paint_ground)
        else:
            self._ground(wires, with_wires=is_near)
        if view.camera.zoom < PLAIN:
            self._plain_wires(wires)
            self._plain_blocks(blocks)
        elif self.faces is None:
            self._vectors(wires, blocks)
        else:
            paint_port_types(painter, view, self.visible)
            self._faces(blocks, self.faces)
            paint_covered_ports(painter, view, blocks)
            if view.route is None:  # the veil would hide them
                self._page_labels(wires)
            paint_bends(painter, view, self.visible)
        paint_notes(painter, view, self.visible, frames=False, grips=self.faces is not None)
        self._trace()
        self._marks()
        self._selection(blocks)
        self._ports()
        whole = self.visible if self.cache is None else self.cache.visible(view)
        paint_problems(painter, view, whole, ratio=self.ratio, vector=self.faces is None)
        if view.computing or view.annotations.outdated:
            paint_status(painter, view, blocks)
        if view.costs is not None:
            paint_costs(painter, view, view.costs, blocks)
        self._focus()
        paint_numbers(painter, view)
        paint_route(painter, view)
        return self.complete

    def _visible_blocks(self) -> Indices:
        blocks = self.view.scene.blocks_in(self.visible)
        return blocks if self.cache is None else self.cache.blocks(self.view, blocks)

    # Wires

    def _paint_ground(self, painter: QPainter, area: QRectF) -> None:
        """Paint the ground of an area, all of it with another painter."""
        other = _PagePainter(painter, self.view, area, self.faces, self.ratio, self.limits, None)
        wires = visible_wires(self.view, other.visible)
        if self.cache is not None and painter is self.painter:
            wires = self.cache.wires(self.view, wires)
        other._ground(wires, with_wires=True)

    def _ground(self, wires: Indices, *, with_wires: bool) -> None:
        """Paint what lies behind the faces: the canvas, frames and, if wanted, wires."""
        self.painter.fillRect(self.area, QColor(self.view.theme.canvas))
        grips = self.faces is not None
        paint_notes(self.painter, self.view, self.visible, frames=True, grips=grips)
        if with_wires:
            self._wires(wires)

    def _wires(self, wires: Indices) -> None:
        """All wires; the selected one last, on a wash."""
        view, painter = self.view, self.painter
        unit, theme = view.camera.unit, view.theme
        number = view.scene.wire_index.get(view.selection.wire or "", -1)
        others, selected = wires[wires != number], wires[wires == number]
        self._lanes(others)
        if not len(selected):
            return
        line = self._line(view.scene.wire_keys[number])
        wash = QPen(QColor(theme.accent_wash), (2 * GAP + 10.0) * unit)
        wash.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(wash)
        draw_lines(painter, line)
        self._lanes(selected, view.phase)
        painter.setPen(QPen(QColor(theme.ink), 2.2 * unit))
        draw_lines(painter, line)

    def _lanes(self, wires: Indices, phase: float = 0.0) -> None:
        """Wires with all their lanes."""
        view, annotations = self.view, self.view.annotations
        area = None if self.faces is None else np.array(self.area.getCoords())
        for alike, courses in view.scene.courses(wires):
            points = courses.to_widget(view.camera)
            parts = view.scene.fork_points(alike) * view.camera.zoom
            several = len(annotations.lanes) > 1
            for number, loss in enumerate(annotations.lanes):
                bundle = Bundle(points, loss.drawn[alike], loss.widths[alike], parts)
                for position in distinct(loss.positions[alike]).tolist():
                    lanes.draw_curves(
                        self.painter,
                        bundle.only(loss.positions[alike] == position),
                        view.theme,
                        view.camera.unit,
                        faded=annotations.dimmed,
                        phase=phase,
                        position=position,
                        bare=number > 0,
                        loss=number if several else None,
                        area=area,
                    )

    def _page_labels(self, wires: Indices) -> None:
        """The labels of ``wires``, which are all in view; all of the page's where they are kept."""
        if self.cache is None:
            self._labels(wires)
            return
        labels = self.cache.labels(self.view, self.limits.cut_budget)
        self.complete &= labels.are_complete
        seen = self.cache.touches(labels.boxes)
        draw_labels(self.painter, compress(labels.placed, seen), self.ratio, vector=False)

    def _labels(self, wires: Indices) -> None:
        labels = place_labels(self.layout, self.view, wires, self.limits.cut_budget)
        self.complete &= labels.are_complete
        draw_labels(self.painter, labels.placed, self.ratio, vector=self.faces is None)

    def _plain_wires(self, wires: Indices) -> None:
        view, total = self.view, self.view.annotations.total
        for alike, courses in view.scene.courses(wires):
            points = courses.to_widget(view.camera)
            bundle = Bundle(points, total.codes[alike], total.widths[alike])
            lanes.draw_plain(self.painter, bundle, view.theme)
        if view.selection.wire in view.scene.wire_index:
            self.painter.setPen(QPen(QColor(view.theme.ink), 2.0))
            course = view.scene.course_of(view.selection.wire)
            draw_lines(self.painter, course.to_widget(view.camera).lines())

    def _line(self, key: str) -> Floats:
        """The segments of one wire."""
        course = self.view.scene.course_of(key).to_widget(self.view.camera)
        return strokes(course.flatten(STEPS))

    # Blocks

    def _look_of(self) -> Callable[[int], Look]:
        annotations = self.view.annotations
        return annotations.look if self.view.camera.zoom >= NUMBERS else annotations.plain_look

    def _faces(self, blocks: Indices, faces: FaceCache) -> None:
        view, painter, ratio = self.view, self.painter, self.ratio
        look_of = self._look_of()
        corners = snapped(view.camera.to_widget(view.scene.rects[blocks, :2]), ratio)
        for i, (x, y) in zip(blocks.tolist(), corners.tolist(), strict=True):
            faces.paint(painter, look_of(i), x, y)

    def _plain_blocks(self, blocks: Indices) -> None:
        vector = self.faces is None
        paint_plain_blocks(self.painter, self.view, blocks, ratio=self.ratio, vector=vector)

    def _vectors(self, wires: Indices, blocks: Indices) -> None:
        """Paint everything piece by piece, so that a large picture can be cancelled."""
        steps = [
            *((self._wires, piece) for piece in _pieces(wires)),
            *((self._vector_faces, piece) for piece in _pieces(blocks)),
            *((self._labels, piece) for piece in _pieces(wires)),
        ]
        for number, (paint_piece, piece) in enumerate(steps):
            if self.limits.progress is not None:
                self.limits.progress(number / len(steps))
            paint_piece(piece)

    def _vector_faces(self, blocks: Indices) -> None:
        view, camera, painter = self.view, self.view.camera, self.painter
        look_of = self._look_of()
        corners = camera.to_widget(view.scene.rects[blocks, :2]).tolist()
        for i, (x, y) in zip(blocks.tolist(), corners, strict=True):
            with placed(painter, x, y, camera.zoom):
                draw_face(painter, look_of(i), view.theme, camera.zoom)

    # Highlights

    def _trace(self) -> None:
        """The route that is explained, or the traced wire, over a veil on everything else."""
        view, painter = self.view, self.painter
        route = view.route or (Route(view.traced) if view.traced else None)
        if route is None:
            return
        wires, blocks = route.parts(view.scene)
        veil = QColor(view.theme.canvas)
        veil.setAlphaF(_VEIL)
        painter.fillRect(self.area, veil)
        if view.route is None:
            paint_siblings(painter, view, route.wire)
        self._lanes(wires)
        painter.setPen(QPen(QColor(view.theme.ink), 2.2 * view.camera.unit))
        for _, courses in view.scene.courses(wires):
            points = courses.to_widget(view.camera).flatten(STEPS)
            draw_lines(painter, strokes(points))
        if view.camera.zoom < PLAIN:
            self._plain_blocks(blocks)
        elif self.faces is not None:
            self._faces(blocks, self.faces)
        self.layout = LabelLayout(view, self.visible)  # the veil hides the labels painted before
        self._labels(wires)
        if view.route is None:
            paint_wire_ends(painter, view, route.wire, QRectF(painter.window()))

    def _marks(self) -> None:
        view = self.view
        alike: dict[str, list[Floats]] = {}
        for key, colour in view.marks.items():
            if key in view.scene.wire_index:
                alike.setdefault(colour, []).append(self._line(key))
        for colour, lines in alike.items():
            pen = QPen(QColor(getattr(view.theme, colour)), 3.0 * view.camera.unit)
            self.painter.setPen(pen)
            draw_lines(self.painter, np.concatenate(lines))

    def _selection(self, blocks: Indices) -> None:
        view, scene, painter = self.view, self.view.scene, self.painter
        if not view.selection.blocks:
            return
        selected = [i for i in blocks.tolist() if scene.names[i] in view.selection.blocks]
        rects = view.camera.rects_to_widget(scene.rects[selected])
        rects[:, :2] = snapped(rects[:, :2], self.ratio) - 2.5
        rects[:, 2:] += 5.0
        if view.camera.zoom < PLAIN:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(view.theme.accent))
            draw_rects(painter, rects)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            return
        painter.setPen(QPen(QColor(view.theme.accent), 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        corner = CORNER * view.camera.zoom + 2.0
        for x, y, w, h in rects.tolist():
            painter.drawRoundedRect(QRectF(x, y, w, h), corner, corner)
        paint_badges_over(painter, view, selected)

    def _ports(self) -> None:
        """Ports that the open wire fits; the one that it snaps to is larger."""
        view, painter = self.view, self.painter
        radii = dict.fromkeys(view.fitting_ports, 6.0)
        if view.near_port is not None:
            radii[view.near_port] = 8.0 if radii else 6.0
        if not radii:
            return
        theme, unit = view.theme, view.camera.unit
        points = view.camera.to_widget(view.scene.port_points(np.fromiter(radii, np.intp)))
        if view.camera.zoom < PLAIN:  # they would lie on each other, and hide the blocks
            self._plain_ports(points)
            radii = {port: radius for port, radius in radii.items() if port == view.near_port}
            points = view.camera.to_widget(view.scene.port_points(np.fromiter(radii, np.intp)))
        painter.setPen(QPen(QColor(theme.accent), 2.0))
        for (x, y), radius in zip(points.tolist(), radii.values(), strict=True):
            painter.setBrush(QColor(theme.accent if radius > 6.0 else theme.accent_wash))
            painter.drawEllipse(QPointF(x, y), radius * unit, radius * unit)

    def _plain_ports(self, points: Floats) -> None:
        """Ports from afar: dots, of those that would lie on each other one."""
        low, high = np.array(self.area.getCoords()).reshape(2, 2)
        inside = points[((points >= low) & (points <= high)).all(axis=1)]
        _, first = np.unique(inside // _DOT, axis=0, return_index=True)
        corners = inside[first] - _DOT / 2.0
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(QColor(self.view.theme.accent))
        draw_rects(self.painter, np.column_stack([corners, np.full_like(corners, _DOT)]))

    def _focus(self) -> None:
        """A dashed ring around the focused item; a focused wire is thick."""
        view, painter, focus = self.view, self.painter, self.view.focus
        if focus is None or not exists(view.scene, focus):
            return
        if focus.kind is FocusKind.WIRE:
            painter.setPen(QPen(QColor(view.theme.accent), 3.0))
            draw_lines(painter, self._line(focus.name))
            return
        painter.setPen(QPen(QColor(view.theme.ink), 2.0, Qt.PenStyle.DashLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        corners = view.camera.to_widget(focus_bounds(view.scene, focus).reshape(2, 2))
        box = box_between(*corners.ravel().tolist()).adjusted(-5, -5, 5, 5)
        painter.drawRoundedRect(box, CORNER + 2.0, CORNER + 2.0)


def _pieces(items: Indices) -> list[Indices]:
    return [items[start : start + _PIECE] for start in range(0, len(items), _PIECE)]
