"""Follows the wire that is asked about: its route on the canvas, and answers that take runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.asking import Asker
from app.canvas.route import route_of
from app.panels.answers import WIRE
from app.reasons import Reasons, reasons
from blocks.errors import Location
from runtime.diagram import MAIN, PortName

if TYPE_CHECKING:
    from app.main_window import MainWindow
    from app.reading import Reading


class Insight(QObject):
    """Keeps the Why panel and the route on the canvas to the newest reading of one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._reading: Reading | None = None
        self.asker = Asker(self)
        window.closed.connect(self.asker.shutdown)
        self.asker.answered.connect(self._take)
        window.canvas.whyRequested.connect(self.explain)
        window.why.blockRequested.connect(self.follow_link)

    def show_reading(self, reading: Reading) -> None:
        """Go over to another reading; what was said of the wire before it is asked again."""
        if reading is not self._reading:
            self._reading = reading
            self.ask()
        self._draw(self._window.canvas.route() is not None)

    def show_wire(self, key: str) -> None:
        """Let panel and answers be about another wire of the page; an empty key is none."""
        self._window.why.set_wire(key)
        self.ask()
        if key:
            self._window.docks["why"].show()
            self._window.docks["why"].raise_()
        route = self._window.canvas.route()
        if route is not None and route.wire != key:
            self._window.canvas.show_route(None)

    def explain(self, key: str) -> None:
        """Show the route of a wire, and the panel."""
        self._window.canvas.select_wire(key)
        self._draw(True)

    def follow_link(self, target: str) -> None:
        """Go to the block or the wire that a link names."""
        path = target.removeprefix(WIRE)
        if path == target:
            self._window.commands.reveal_path(path)
            return
        block, _, port = path.rpartition(".")
        name = self._window.place.reveal(Location(MAIN, block))
        if name is not None:
            self._window.canvas.select(())
            self._window.canvas.select_wire(f"{name}.{port}")

    def ask(self) -> None:
        """Have the fix, the dialects and the ledger of the selected wire worked out."""
        window, reading = self._window, self._reading
        key, prefix = window.canvas.selected_wire(), window.place.prefix
        page = window.document.diagram.pages[window.place.page]
        source = page.wires.get(PortName.parse(key)) if key else None
        window.why.show_answers(None)
        if reading is None or source is None:
            self.asker.forget("why")
            return
        wire, port = f"{prefix}{key}", f"{prefix}{source}"
        about = partial(reasons, reading=reading, wire=wire, port=port)
        self.asker.ask("why", reading.diagram, about)

    def _take(self, kind: str, answer: object) -> None:
        if kind == "why" and isinstance(answer, Reasons):
            self._window.why.show_answers(answer)

    def _draw(self, wanted: bool) -> None:
        window, reading = self._window, self._reading
        key, prefix = window.canvas.selected_wire(), window.place.prefix
        known = reading is not None and key is not None and f"{prefix}{key}" in reading.states
        verdict = reading.verdict(f"{prefix}{key}") if wanted and known and reading else None
        page = window.document.diagram.pages[window.place.page]
        route = None if verdict is None else route_of(verdict, key or "", page, prefix)
        window.canvas.show_route(route)
