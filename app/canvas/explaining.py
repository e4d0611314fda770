"""The canvas when it explains: the route of a verdict, and keys that ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal

from app.canvas.stage import Stage

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

    from app.canvas.route import Route


class Explaining(Stage):
    """Shows a route over all else, dimmed, and says what shall be explained."""

    whyRequested = Signal(str)
    """Key of the wire whose route is wanted."""
    routeLeft = Signal()
    """No route is shown any more."""

    def route(self) -> Route | None:
        """The route that is shown."""
        return self.view.route

    def show_route(self, route: Route | None) -> None:
        """Show a route in place of another, or none."""
        if route != self.view.route:
            self.view.route = route
            self.update()

    def leave_route(self) -> bool:
        """Show no route any more; False if none was shown."""
        if self.view.route is None:
            return False
        self.show_route(None)
        self.routeLeft.emit()
        return True

    def explain(self, wire: str) -> None:
        """Ask why a wire carries its gradient or not."""
        self.whyRequested.emit(wire)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if event.key() == Qt.Key.Key_W and plain and self.view.wire is not None:
            self.explain(self.view.wire)
        else:
            super().keyPressEvent(event)
