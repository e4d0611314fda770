"""Dropping blocks and pages from the palette, and data files, onto the canvas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.entry.candidates import (
    Candidate,
    page_candidate,
    page_refusal,
    type_candidate,
)
from gradwire.blocks.errors import BlockError, FileError
from gradwire.runtime.data import allow_data, kind_of, suggested

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.runtime.diagram import Point

BLOCK_MIME = "application/x-gradwire-block"
"""The type name of a block in UTF-8."""
PASSES_DROPS = "passesDrops"
"""The property of a widget on the canvas that lets drops through."""
PAGE_MIME = "application/x-gradwire-page"
"""The name of a page of the diagram in UTF-8."""


class DropTarget:
    """Accepts blocks dragged onto one canvas; marks the wire they would be inserted into."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context

    def enter(self, event: QDragEnterEvent) -> None:
        """Accept blocks, pages and a data file, nothing else."""
        mime = event.mimeData()
        if mime.hasFormat(BLOCK_MIME) or mime.hasFormat(PAGE_MIME) or _data_file(mime):
            event.acceptProposedAction()

    def move(self, event: QDragMoveEvent) -> None:
        """Mark the wire that the block would be inserted into, or hint why it can't be added."""
        is_covered = self._is_covered(event)
        if _data_file(event.mimeData()) and not is_covered:
            event.acceptProposedAction()
            return
        candidate = None if is_covered else self._candidate(event)
        if candidate is None:
            self._mark({})
            event.ignore()
            return
        event.acceptProposedAction()
        wire = changes.dropping(self._context.view, candidate, self._at(event))[2]
        self._mark({wire: "accent"} if wire else {})

    def leave(self) -> None:
        """The drag leaves the canvas."""
        self._mark({})
        self._context.hint("")

    def drop(self, event: QDropEvent) -> None:
        """Add what is dropped."""
        self._mark({})
        candidate = None if self._is_covered(event) else self._candidate(event)
        if candidate is None:
            event.ignore()
            return
        self._context.edits.add(candidate, self._at(event))
        event.acceptProposedAction()
        self._context.widget.setFocus()

    def _candidate(self, event: QDropEvent) -> Candidate | None:
        """The dragged block; None, with a hint why, if it can't be added."""
        scene, mime = self._context.view.scene, event.mimeData()
        try:
            if (path := _data_file(mime)) is not None:
                return _data_candidate(path, scene.diagram.folder)
            if not mime.hasFormat(PAGE_MIME):
                return type_candidate(_text(mime, BLOCK_MIME))
        except (BlockError, FileError) as error:
            self._context.hint(str(error))
            return None
        page = _text(mime, PAGE_MIME)
        reason = page_refusal(scene.diagram, scene.page_name, page)
        self._context.hint(reason or "")
        return None if reason else page_candidate(scene.diagram, page)

    def _is_covered(self, event: QDropEvent) -> bool:
        """Whether something lies on the canvas there that would hide what is dropped."""
        canvas = self._context.widget
        hit = canvas.childAt(event.position().toPoint())
        while hit is not None and hit.parentWidget() is not canvas:
            hit = hit.parentWidget()
        return hit is not None and not hit.property(PASSES_DROPS)

    def _at(self, event: QDropEvent) -> Point:
        return self._context.places.scene_position(event.position().toPoint())

    def _mark(self, wires: dict[str, str]) -> None:
        self._context.show(marks=wires)


def _data_file(mime: QMimeData) -> Path | None:
    """The data file that is dragged, if it is one."""
    names = [url.toLocalFile() for url in mime.urls() if url.isLocalFile()]
    path = Path(names[0]) if len(names) == 1 else None
    return path if path is not None and kind_of(path) else None


def _data_candidate(path: Path, folder: Path | None) -> Candidate:
    """A data set of a file, which the diagram may read from now on; raises FileError."""
    block = suggested(path, folder)
    allow_data(path)
    return Candidate(block.type_name(), block, "", next(iter(block.output_names()), ""))


def _text(mime: QMimeData, kind: str) -> str:
    return bytes(mime.data(kind).data()).decode()
