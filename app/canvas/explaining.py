"""The canvas when it explains: the route of a verdict, trials, and keys that ask for both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Signal

from app.canvas.paint.blocks.faces import GUTTER, SYMBOL
from app.canvas.paint.trial import Ghosts, paint_ghosts
from app.canvas.scene.hits import block_at
from app.canvas.stage import Stage
from blocks.library.gradient import StopGradient
from runtime.diagram.layout.measures import HEADER

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QWidget

    from app.canvas.paint.route import Route


class Explaining(Stage):
    """Shows a route over all else, dimmed, and trials; says what shall be explained or tried."""

    whyRequested = Signal(str)
    """Key of the wire whose route is wanted."""
    whyBlockRequested = Signal(str)
    """Name of the block whose route is wanted."""
    cutHovered = Signal(str)
    """Key of the wire under the pointer while X is held; empty for none."""
    cutTried = Signal(str)
    """Key of a wire that was clicked while X is held."""
    stopTried = Signal(str)
    """Name of the StopGradient whose ⊣ was clicked."""
    trialLeft = Signal()
    """Nothing shall be tried any more."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ghosts: Ghosts | None = None
        self._over: str | None = None
        self._cutting = False

    def route(self) -> Route | None:
        """The route that is shown."""
        return self.view.route

    def show_route(self, route: Route | None) -> None:
        """Show a route in place of another, or none."""
        if route != self.view.route:
            self.view.route = route
            self.update()

    def ghosts(self) -> Ghosts | None:
        """The trial that is shown."""
        return self._ghosts

    def show_ghosts(self, ghosts: Ghosts | None) -> None:
        """Show a trial in place of another, or none."""
        if ghosts != self._ghosts:
            self._ghosts = ghosts
            self.update()

    def leave_explanation(self) -> bool:
        """Leave the route, else the trial; False if neither was shown."""
        if self.view.route is not None:
            self.show_route(None)
        elif self._ghosts is not None:
            self.trialLeft.emit()
        else:
            return False
        return True

    def explain(self, wire: str) -> None:
        """Ask why a wire carries its gradient or not."""
        self.whyRequested.emit(wire)

    def explain_block(self, name: str) -> None:
        """Ask for the route of a variable."""
        self.whyBlockRequested.emit(name)

    def explain_port(self, port: int) -> None:
        """Ask about the wire into an input, or the first out of an output: its ledger is told."""
        scene = self.view.scene
        ends = scene.wire_ports[:, 1 if scene.port_is_input[port] else 0]
        for wire in (ends == port).nonzero()[0][:1].tolist():
            self.explain(scene.wire_keys[wire])

    def try_cut(self) -> bool:
        """Ask to try a cut on the wire under the pointer, if X is held; False if it is not."""
        if self._cutting and self._over is not None:
            self.cutTried.emit(self._over)
        return self._cutting

    def try_stop(self, name: str) -> None:
        """Ask to try a StopGradient open, or closed again."""
        self.stopTried.emit(name)

    def on_stop(self, at: QPointF) -> bool:
        """Whether the ⊣ of a StopGradient is at a widget position."""
        scene, camera = self.view.scene, self.view.camera
        block = block_at(scene, camera, at.x(), at.y())
        if block is None or not isinstance(scene.blocks[block], StopGradient):
            return False
        x, y = self.scene_position(at.toPoint())
        left, top = scene.rects[block, :2].tolist()
        return bool(GUTTER - 4.0 <= x - left <= GUTTER + SYMBOL and y - top <= HEADER)

    def hover(self, wire: str | None) -> None:
        """The pointer is over a wire, or over none."""
        self._over = wire
        if self._cutting:
            self.cutHovered.emit(wire or "")

    def paint_over(self, painter: QPainter) -> None:
        super().paint_over(painter)
        if self._ghosts is not None:
            paint_ghosts(painter, self.view, self._ghosts)

    def hold_cut(self, *, held: bool) -> None:
        """Show what a cut of the wire under the pointer would change, or no more."""
        if held != self._cutting:
            self._cutting = held
            self.cutHovered.emit((self._over or "") if held else "")
