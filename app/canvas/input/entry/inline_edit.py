"""What is being written on the canvas: the one field that is open, for a name or a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QRect, QRectF

from app.canvas.input import changes
from app.canvas.input.entry.inline_fields import NameEdit, NoteEdit
from app.canvas.input.gestures import Host
from blocks.errors import ChangeError
from runtime.diagram.layout.measures import HEADER

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class Slate(Host, Protocol):
    """The canvas as writing sees it."""

    def widget(self) -> QWidget:
        """What fields open on."""

    def block_rect(self, name: str) -> QRect:
        """Where a block is, in widget px."""


class Writing:
    """Opens and closes the field of one canvas; none is open at first."""

    def __init__(self, canvas: Slate) -> None:
        self._canvas = canvas
        self._field: NameEdit | NoteEdit | None = None

    def close(self) -> None:
        """Close the field that is open, if one is; what is written in it is dropped."""
        field, self._field = self._field, None
        if field is not None:
            field.close_field(take=False)

    def name(self, block: str) -> None:
        """Open a field on the block's face to write its name."""
        canvas = self._canvas
        if block not in canvas.view.scene.index:
            return
        self.close()
        zoom = canvas.view.camera.zoom
        box = QRectF(canvas.block_rect(block))
        box.setHeight(HEADER * zoom)
        self._field = NameEdit(
            canvas.widget(), block, box, zoom, lambda new: self._rename(block, new)
        )

    def note(self, name: str) -> None:
        """Open a field in place of a note to write its text."""
        self.close()
        canvas, view = self._canvas, self._canvas.view
        note, zoom = view.scene.page.notes[name], view.camera.zoom
        left, top = view.camera.to_widget(np.array(note.at)).tolist()
        box = QRectF(left, top, note.width * zoom, note.height * zoom)

        def accept(text: str) -> None:
            canvas.ask(changes.rewording(view, name, text))

        self._field = NoteEdit(canvas.widget(), note.text, box, zoom, accept)

    def _rename(self, old: str, new: str) -> bool:
        canvas = self._canvas
        try:
            change = changes.renaming(canvas.view, old, new)
        except ChangeError as error:
            canvas.hint(str(error))
            return False
        chosen = canvas.view.selected
        self._field = None
        canvas.ask(change)
        if old in chosen:
            canvas.select((chosen - {old}) | {new})
        return True
