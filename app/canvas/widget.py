"""The signals of a canvas, which its parts emit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext


class CanvasWidget(QWidget):
    """The widget of a canvas, with its signals; the parts of the canvas emit them."""

    changeRequested = Signal(object)
    """A Change for the document; each is one undo."""
    previewRequested = Signal(object)
    """A Change to show without making it, or None to show the diagram without one."""
    pageEntered = Signal(str)
    """Name of the page block that was double-clicked."""
    inspectRequested = Signal(str)
    """Name of the block to show in the inspector; it is selected."""
    menuRequested = Signal(QPoint)
    """Where in the widget to open the context menu."""
    bookmarkRequested = Signal(int)
    """The number of a bookmark to go to, from 1 on."""
    sheetRequested = Signal()
    """The user wants to see all shortcuts."""
    statusMessage = Signal(str)
    """A hint for the status bar; empty to clear it."""
    selectionChanged = Signal(object)
    """The new Selection: blocks, notes, bends and wire; emitted once for each click or key."""
    zoomChanged = Signal(float)
    """Widget px per scene unit."""
    cameraChanged = Signal(object)
    """The Camera through which the page is shown now."""
    jumped = Signal()
    """The view has jumped: to another page, or by fitting the zoom."""
    whyRequested = Signal(str)
    """Key of the wire to explain."""
    whyBlockRequested = Signal(str)
    """Name of the block to explain."""
    cutHovered = Signal(str)
    """Key of the wire under the pointer while cuts are previewed; empty for none."""
    cutTried = Signal(str)
    """Key of a wire that was clicked while cuts are previewed."""
    derivativeRequested = Signal(str)
    """Name of the block whose symbol was double-clicked."""
    stopTried = Signal(str)
    """Name of a StopGradient whose symbol was clicked."""
    explanationLeft = Signal()
    """The user pressed Esc, which closes what explains the selection."""
    trialLeft = Signal()
    """The user wants to end the trial."""

    context: CanvasContext
