"""Finds and marks the numbers on faces that can be changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPen

from gradwire.app.canvas.paint.blocks.faces import (
    numbers_room,
    port_texts,
    section_places,
    slider_place,
    track_of,
)
from gradwire.app.canvas.paint.blocks.grids import grid_of
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.document.numbers import NumberCell, array_of
from gradwire.blocks.block import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.canvas.state.view_state import ViewState

_PAD = 3.0
"""Room beside a number that belongs to it, widget px."""
_LEAST = 22.0
"""Least width of a number that stands alone, widget px."""


def number_boxes(annotations: Annotations, i: int, zoom: float) -> dict[NumberCell, QRectF]:
    """The numbers of block ``i`` that can be changed, with their places on its face."""
    scene = annotations.scene
    name, block, look = scene.names[i], scene.blocks[i], annotations.look(i)
    found = _values if isinstance(block, Source) else _literals
    shown = annotations.page.value(name, "out") if isinstance(block, Source) else None
    boxes: dict[NumberCell, QRectF] = {}
    for key, index, box in found(look, zoom):
        array = array_of(block, key, shown)
        if array is not None and array.size and len(index) >= array.ndim:
            cell = index[len(index) - array.ndim :]
            if all(n < length for n, length in zip(cell, array.shape, strict=True)):
                boxes[NumberCell(name, key, cell)] = box
    return boxes


def number_box(view: ViewState, number: NumberCell) -> QRectF | None:
    """The place of a number in widget px; None if it is not shown."""
    i = view.scene.index.get(number.block)
    if i is None or view.camera.zoom < NUMBERS:
        return None
    return _on_widget(view, i).get(number)


def number_at(view: ViewState, i: int, at: QPointF) -> NumberCell | None:
    """The number of block ``i`` at a point of the widget, if there is one."""
    if view.camera.zoom < NUMBERS:
        return None
    return next((number for number, box in _on_widget(view, i).items() if box.contains(at)), None)


def only_number(view: ViewState, i: int) -> NumberCell | None:
    """The number of a source that shows no other one."""
    if view.camera.zoom < NUMBERS or not isinstance(view.scene.blocks[i], Source):
        return None
    numbers = [*_on_widget(view, i)]
    return numbers[0] if len(numbers) == 1 else None


def slider_track(view: ViewState, block: str) -> QRectF | None:
    """Where the knob of a block's slider may stand, widget px; None if it shows no slider."""
    i = view.scene.index.get(block)
    if i is None or view.camera.zoom < NUMBERS:
        return None
    look, zoom = view.annotations.look(i), view.camera.zoom
    if look.slider is None:
        return None
    track = track_of(slider_place(look, *numbers_room(look, zoom)))
    corner = QPointF(*view.camera.to_widget(view.scene.rects[i, :2]).tolist())
    return QRectF(corner + track.topLeft() * zoom, track.size() * zoom)


def paint_numbers(painter: QPainter, view: ViewState) -> None:
    """Mark the number under the pointer, and the one that the keyboard changes."""
    for number, is_active in ((view.near_number, False), (view.number, True)):
        box = None if number is None else number_box(view, number)
        if box is None:
            continue
        wash = QColor(view.theme.accent)
        wash.setAlphaF(0.14)
        painter.setBrush(wash)
        edge = QPen(QColor(view.theme.accent), 1.5)
        painter.setPen(edge if is_active else QPen(Qt.PenStyle.NoPen))
        painter.drawRoundedRect(box, 3.0, 3.0)


def _values(look: Look, zoom: float) -> Iterator[tuple[str, tuple[int, ...], QRectF]]:
    """The cells of the value of a source."""
    for section, place in section_places(look, *numbers_room(look, zoom)):
        if section.mark or section.readout.prose:
            return
        grid = grid_of(section, place, zoom)
        for r, row in enumerate(grid.cells if grid else ()):
            for c, text in enumerate(row):
                if grid is not None and text != "…":
                    box = grid.placed(r, c)
                    if look.slider is not None:
                        box.setLeft(slider_place(look, *numbers_room(look, zoom)).left())
                    yield "value", (r, c), box


def _literals(look: Look, zoom: float) -> Iterator[tuple[str, tuple[int, ...], QRectF]]:
    """The numbers of unwired inputs."""
    for port, side, place in port_texts(look, zoom):
        if side == 0 and port.kind == "open":
            yield port.text.partition(" = ")[0], (), place


def _on_widget(view: ViewState, i: int) -> dict[NumberCell, QRectF]:
    """The numbers of block ``i`` with their places in widget px, as large as a hand needs."""
    zoom = view.camera.zoom
    boxes = number_boxes(view.annotations, i, zoom)
    corner = QPointF(*view.camera.to_widget(view.scene.rects[i, :2]).tolist())
    placed: dict[NumberCell, QRectF] = {}
    for number, box in boxes.items():
        pad = max(_PAD, (_LEAST - box.width() * zoom) / 2.0) if len(boxes) == 1 else _PAD
        found = QRectF(corner + box.topLeft() * zoom, box.size() * zoom)
        placed[number] = found.adjusted(-pad, 0.0, pad, 0.0)
    return placed
