"""Adding blocks where the pointer is: the search box, and the wire that waits for its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QCoreApplication

from app.canvas import edits
from app.canvas.choices import Choice, choices
from app.canvas.gestures import Host
from app.canvas.loose import draw_loose_wire
from app.canvas.quick_add import QuickAdd
from runtime.diagram.measures import WIDTH, block_height

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QWidget

    from app.favourites import Favourites
    from runtime.diagram import Change


class Board(Host, Protocol):
    """The canvas as adding sees it."""

    favourites: Favourites

    def widget(self) -> QWidget:
        """What the search box opens on."""


class Adding:
    """The search box of one canvas; none is open at first."""

    def __init__(self, canvas: Board) -> None:
        self._canvas = canvas
        self.box: QuickAdd | None = None
        self._wire: tuple[int, QPointF] | None = None

    def open(self, at: QPointF, port: int | None = None, *, make_room: bool = False) -> None:
        """Open the box at ``at``, filtered to what a wire from ``port`` fits, if there is one.

        ``make_room``: the block goes to the nearest place where none is in its way.
        """
        self.close()
        view = self._canvas.view
        corner = view.camera.to_scene(np.array([at.x(), at.y()]))
        offered = choices(view.scene.diagram, view.scene.page_name)
        if port is not None:
            from_output = not view.scene.port_is_input[port]
            offered = [choice for choice in offered if choice.fits(from_output=from_output)]
            self._wire = (port, at)
        if make_room:
            corner = edits.free_corner(view.scene, corner)
        self._open(at, offered, lambda choice: edits.placing(view, choice, corner, port))

    def open_for_wire(self, at: QPointF, wire: str) -> None:
        """Open the box at ``at`` for a block that is put into a wire."""
        self.close()
        view = self._canvas.view
        middle = view.camera.to_scene(np.array([at.x(), at.y()]))
        corner = edits.free_corner(view.scene, middle - (WIDTH / 2.0, block_height(1) / 2.0))
        everything = choices(view.scene.diagram, view.scene.page_name)
        offered = [choice for choice in everything if choice.input and choice.output]

        def place(choice: Choice) -> tuple[str, Change]:
            inserted = edits.inserting(view, choice, corner, wire)
            if inserted is None:
                told = _tr("{0} does not fit into the wire to {1}.")
                self._canvas.hint(told.format(choice.title, wire))
            return inserted or edits.placing(view, choice, corner, None)

        self._open(at, offered, place)

    def _open(
        self,
        at: QPointF,
        offered: Sequence[Choice],
        place: Callable[[Choice], tuple[str, Change]],
    ) -> None:
        canvas = self._canvas

        def done(choice: Choice | None) -> None:
            self.box = self._wire = None
            canvas.widget().setFocus()
            canvas.redraw()
            if choice is not None:
                canvas.favourites.use(choice.kind)
                name, change = place(choice)
                canvas.ask(change)
                canvas.select([name])

        self.box = QuickAdd(
            canvas.widget(), at.toPoint(), offered, canvas.view.theme, canvas.favourites, done
        )
        canvas.redraw()

    def close(self) -> None:
        """Close the box, if it is open; nothing is added."""
        if self.box is not None:
            self.box.close_box()

    def paint(self, painter: QPainter) -> None:
        """Draw the wire that waits for its block."""
        if self._wire is not None:
            port, at = self._wire
            draw_loose_wire(painter, self._canvas.view, port, np.array([at.x(), at.y()]), "accent")


def _tr(text: str) -> str:
    return QCoreApplication.translate("adding", text)
