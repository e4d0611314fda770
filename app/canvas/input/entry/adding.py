"""Adds blocks with a search box, at the pointer or at the end of an open wire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.entry.candidates import Candidate, candidates
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.paint.wires.open_wire import draw_open_wire
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import Change
from gradwire.runtime.formulas import Addition, add_formula

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.runtime.diagram import Point


_Add: TypeAlias = Callable[[Candidate], tuple[str, Change]]
"""Gives the name of a new block, and the change that adds it."""


class BlockAdder:
    """Opens and closes the search box of one canvas."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self.box: QuickAdd | None = None
        self._wire: tuple[int, QPointF] | None = None

    def open(self, at: QPointF, port: int | None = None) -> None:
        """Open the box at a widget point, for a block there, wired to ``port`` if given."""
        view = self._context.view
        corner = view.camera.to_scene(np.array([at.x(), at.y()]))
        offered = self._offered() if port is None else self._fitting(port)
        place = corner if port is None else None
        self._open(
            at, offered, lambda c: changes.placing(view, c, corner, port), port, formula_at=place
        )

    def open_at(self, corner: Floats) -> None:
        """Open the box for a block with its top left at a scene point (2,)."""
        view = self._context.view
        self._open_there(
            corner,
            self._offered(),
            lambda c: changes.placing(view, c, corner, None),
            formula_at=corner,
        )

    def open_for_port(self, port: int) -> None:
        """Open the box for a block at the other end of a wire from ``port``."""
        view = self._context.view
        corner = changes.vacancy_for(view.scene, port)
        end = corner + changes.port_offset(from_output=not view.scene.port_is_input[port])
        self._open_there(
            end, self._fitting(port), lambda c: changes.placing(view, c, end, port), port
        )

    def open_for_wire(self, wire: str) -> None:
        """Open the box for a block that is inserted into a wire."""
        view, context = self._context.view, self._context
        corner = changes.vacancy_in(view.scene, wire)
        offered = [c for c in self._offered() if c.input and c.output]

        def place(candidate: Candidate) -> tuple[str, Change]:
            inserted = changes.inserting(view, candidate, corner, wire)
            if inserted is None:
                text = editor.tr("{0} can't be inserted into the wire to {1}.")
                context.hint(text.format(candidate.title, wire))
            return inserted or changes.placing(view, candidate, corner, None)

        self._open_there(corner, offered, place)

    def _offered(self) -> list[Candidate]:
        scene = self._context.view.scene
        return candidates(scene.diagram, scene.page_name)

    def _fitting(self, port: int) -> list[Candidate]:
        from_output = not self._context.view.scene.port_is_input[port]
        return [c for c in self._offered() if c.fits(from_output=from_output)]

    def _open_there(
        self,
        place: Floats,
        offered: list[Candidate],
        add: _Add,
        port: int | None = None,
        formula_at: Floats | None = None,
    ) -> None:
        """Open the box at a scene point; the added block is brought into view."""
        at = QPointF(*self._context.view.camera.to_widget(place).tolist())
        self._open(at, offered, add, port, shown=True, formula_at=formula_at)

    def _open(
        self,
        at: QPointF,
        offered: list[Candidate],
        add: _Add,
        port: int | None,
        *,
        shown: bool = False,
        formula_at: Floats | None = None,
    ) -> None:
        self.close()
        context = self._context
        self._wire = None if port is None else (port, at)

        def done(chosen: Candidate | Addition | None) -> None:
            self.box = self._wire = None
            context.widget.setFocus()
            context.redraw()
            if isinstance(chosen, Addition):
                is_first = not context.view.scene.names
                self._put(chosen.change, chosen.blocks, shown=True)
                if is_first:
                    context.camera.zoom_to_fit()
            elif chosen is not None:
                context.favourites.use(chosen.kind)
                name, change = add(chosen)
                self._put(change, [name], shown=shown)

        self.box = QuickAdd(
            context.widget,
            at.toPoint(),
            offered,
            context.view.theme,
            context.favourites,
            done,
            None if formula_at is None else partial(self._compose, changes.on_grid(formula_at)),
        )
        context.redraw()

    def _compose(self, at: Point, text: str) -> Addition:
        """The change that adds a formula; raises BuildError."""
        scene = self._context.view.scene
        return add_formula(scene.diagram, text, at, scene.page_name)

    def _put(self, change: Change, names: Sequence[str], *, shown: bool) -> None:
        """Make the change, and room for its blocks; select them."""
        context = self._context
        context.request(make_space(context.view.scene, change, names))
        context.selection.select(names)
        context.view = replace(context.view, focus=None)  # keys continue from the selection
        bounds = context.view.scene.bounds_of(names)
        if shown and bounds is not None:
            context.camera.reveal(bounds)

    def close(self) -> None:
        """Close the box if it is open; nothing is added."""
        if self.box is not None:
            self.box.close_box()

    def paint(self, painter: QPainter) -> None:
        """Draw the open wire while the box is open."""
        if self._wire is not None:
            port, at = self._wire
            draw_open_wire(painter, self._context.view, port, np.array([at.x(), at.y()]))
