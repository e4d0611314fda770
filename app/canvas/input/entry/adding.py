"""Adding blocks where the pointer is: the search box, and the wire that waits for its block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF

from app.canvas.input import changes
from app.canvas.input.entry.candidates import Choice, choices
from app.canvas.input.entry.quick_add import QuickAdd
from app.canvas.input.gestures import Host
from app.canvas.paint.open_wire import draw_loose_wire
from runtime.diagram import Change

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QWidget

    from app.canvas.scene.geometry import Floats
    from app.services.favourites import Favourites


_Add: TypeAlias = Callable[[Choice], tuple[str, Change]]
"""Gives the name of a chosen block and the change that adds it."""


class Board(Host, Protocol):
    """The canvas as adding sees it."""

    favourites: Favourites

    def widget(self) -> QWidget:
        """What the search box opens on."""

    def see(self, bounds: Floats) -> None:
        """Pan as far as it takes to see a part of the page."""


class Adding:
    """The search box of one canvas; none is open at first."""

    def __init__(self, canvas: Board) -> None:
        self._canvas = canvas
        self.box: QuickAdd | None = None
        self._wire: tuple[int, QPointF] | None = None

    def open(self, at: QPointF, port: int | None = None) -> None:
        """Open the box at ``at``, for a block there and for the wire from ``port``, if any."""
        view = self._canvas.view
        corner = view.camera.to_scene(np.array([at.x(), at.y()]))
        offered = self._offered() if port is None else self._fitting(port)
        self._open(at, offered, lambda choice: changes.placing(view, choice, corner, port), port)

    def open_there(self, corner: Floats) -> None:
        """Open the box for a block with its top left at a point of the page (2,)."""
        view = self._canvas.view
        self._open_there(corner, self._offered(), lambda c: changes.placing(view, c, corner, None))

    def open_for_port(self, port: int) -> None:
        """Open the box for a block at the other end of a wire from ``port``."""
        view = self._canvas.view
        corner = changes.vacancy_for(view.scene, port)
        end = corner + changes.port_offset(from_output=not view.scene.port_is_input[port])
        self._open_there(
            end, self._fitting(port), lambda c: changes.placing(view, c, end, port), port
        )

    def open_for_wire(self, wire: str) -> None:
        """Open the box for a block that is put into a wire."""
        view, canvas = self._canvas.view, self._canvas
        corner = changes.vacancy_in(view.scene, wire)
        offered = [choice for choice in self._offered() if choice.input and choice.output]

        def place(choice: Choice) -> tuple[str, Change]:
            inserted = changes.inserting(view, choice, corner, wire)
            if inserted is None:
                told = _tr("{0} does not fit into the wire to {1}.")
                canvas.hint(told.format(choice.title, wire))
            return inserted or changes.placing(view, choice, corner, None)

        self._open_there(corner, offered, place)

    def _offered(self) -> list[Choice]:
        scene = self._canvas.view.scene
        return choices(scene.diagram, scene.page_name)

    def _fitting(self, port: int) -> list[Choice]:
        from_output = not self._canvas.view.scene.port_is_input[port]
        return [choice for choice in self._offered() if choice.fits(from_output=from_output)]

    def _open_there(
        self, place: Floats, offered: list[Choice], add: _Add, port: int | None = None
    ) -> None:
        """Open the box at a point of the page; what is added is brought into view."""
        at = QPointF(*self._canvas.view.camera.to_widget(place).tolist())
        self._open(at, offered, add, port, shown=True)

    def _open(
        self,
        at: QPointF,
        offered: list[Choice],
        add: _Add,
        port: int | None,
        *,
        shown: bool = False,
    ) -> None:
        self.close()
        canvas = self._canvas
        self._wire = None if port is None else (port, at)

        def done(choice: Choice | None) -> None:
            self.box = self._wire = None
            canvas.widget().setFocus()
            canvas.redraw()
            if choice is not None:
                canvas.favourites.use(choice.kind)
                name, change = add(choice)
                canvas.ask(change)
                canvas.select([name])
                canvas.view.focus = None  # keys go on from what is selected
                bounds = canvas.view.scene.bounds_of([name])
                if shown and bounds is not None:
                    canvas.see(bounds)

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
