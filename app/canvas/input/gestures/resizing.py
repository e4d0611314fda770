"""Pulling a view by its lower right corner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt

from gradwire.app.canvas.input.frames import GRIP
from gradwire.app.canvas.input.gestures.base import GRID, Gesture
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.services.translation import editor
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import LEAST_SIZE, MOST_SIZE, Batch, Size, StyleBlocks
from gradwire.runtime.diagram import PLAIN as USUAL

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.runtime.diagram import Change


def view_grip_at(scene: Scene, camera: Camera, x: float, y: float) -> int | None:
    """The view whose lower right corner is at widget (x, y); None below zoom :data:`PLAIN`."""
    if camera.zoom < PLAIN:
        return None
    px, py = camera.to_scene(np.array([x, y])).tolist()
    inside, outside = GRIP / camera.zoom, 2.0 / camera.zoom
    blocks = scene.blocks_in(np.array([px - outside, py - outside, px + inside, py + inside]))
    left, top, width, height = scene.rects[blocks].T
    right, down = left + width - px, top + height - py
    near = (right <= inside) & (right >= -outside) & (down <= inside) & (down >= -outside)
    for block in reversed(blocks[near].tolist()):
        if isinstance(scene.blocks[block], ViewBlock) and not scene.is_collapsed[block]:
            return int(block)
    return None


class ResizeView(Gesture):
    """Moves the lower right corner of a view, on the grid; what it comes to cover makes room."""

    cursor = Qt.CursorShape.SizeFDiagCursor

    def __init__(self, context: CanvasContext, start: QPointF, block: int) -> None:
        super().__init__(context, start)
        scene = context.view.scene
        self._name, self._page = scene.names[block], scene.page_name
        self._style = scene.page.styles.get(self._name, USUAL)
        self._before: Floats = scene.rects[block, 2:].copy()
        self._size: Size | None = None

    def move(self, at: QPointF) -> None:
        wanted = np.round((self._before + self.shift(at)) / GRID) * GRID
        size = Size(*np.clip(wanted, LEAST_SIZE, MOST_SIZE).tolist())
        if size != self._size:
            self._size = size
            self.context.previews.put(self._change(size))

    def finish(self, at: QPointF) -> None:
        size = self._size
        self.cancel()
        if size is not None and not np.array_equal(size, self._before):
            scene = self.context.view.scene
            self.context.request(make_space(scene, self._change(size), [self._name]))

    def cancel(self) -> None:
        if self._size is not None:
            self.context.previews.put(None)

    def _change(self, size: Size) -> Change:
        styles = {self._name: self._style._replace(size=size)}
        label = editor.tr("Resize {0}").format(self._name)
        return Batch(label, (StyleBlocks(styles, self._page),))
