"""What the mouse needs of the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gradwire.app.canvas.input.gestures.base import Host

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF, Qt

    from gradwire.app.canvas.input.entry.inline_edit import InlineEditor
    from gradwire.app.canvas.input.keyboard_focus import KeyboardFocus
    from gradwire.app.canvas.input.numbers import Numbers
    from gradwire.app.document.numbers import Number


class MouseHost(Host, Protocol):
    """The canvas, as the mouse uses it."""

    keyboard_focus: KeyboardFocus
    numbers: Numbers
    inline_editor: InlineEditor

    def select_wire(self, key: str | None) -> None:
        """Select a wire, or none."""

    def leave_explanation(self) -> bool:
        """Hide the route, or end the trial; False if there is neither."""

    def bend_wire(self, at: QPointF | None = None) -> None:
        """Add a bend to the selected wire, and select it."""

    def start_number(self, number: Number) -> None:
        """Edit a number."""

    def start_note(self, name: str) -> None:
        """Edit the text of a note."""

    def enter_page(self, name: str) -> None:
        """Show the page of a page block."""

    def zoom_at(self, factor: float, at: QPointF) -> None:
        """Zoom about the point ``at``."""

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Offer blocks to add, at a point or where there is room."""

    def explain(self, wire: str) -> None:
        """Explain why a wire carries gradient or not."""

    def explain_port(self, port: int) -> None:
        """Show the contributions at a port."""

    def try_cut(self) -> bool:
        """Try a cut of the wire under the pointer; False unless cuts are previewed."""

    def is_on_stop(self, at: QPointF) -> bool:
        """Whether the symbol of a StopGradient is there."""

    def try_stop(self, name: str) -> None:
        """Toggle a StopGradient in a trial."""

    def symbol_at(self, at: QPointF) -> str | None:
        """Name of the block whose symbol is there."""

    def show_derivative(self, name: str) -> None:
        """Show the derivative card of a block."""

    def trace(self, wire: str | None) -> None:
        """Trace a wire once the pointer rests on it; None ends tracing at once."""

    def show_menu(self, at: QPointF) -> None:
        """Show the menu of the selection."""

    def show_cursor(self, cursor: Qt.CursorShape) -> None:
        """Change the shape of the pointer."""
