"""What context menus do to one block, port or wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.entry.candidates import type_candidate
from gradwire.app.canvas.input.gestures.cutting import cut_change
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.scene.focus import port_number
from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import SetParameters

if TYPE_CHECKING:
    from gradwire.blocks.block import Block


class TargetCommands(WindowPart):
    """Acts on the one selected block, the focused port or the selected wire of a canvas."""

    def explain(self) -> None:
        """Explain the gradient of the selected wire, the focused port, or the selected block."""
        wire = self._canvas.view.selection.wire
        if wire is not None:
            self._canvas.explain(wire)
        elif (port := self._port()) is not None:
            self._canvas.explain_port(port)
        elif (name := self._block()) is not None:
            self._canvas.explain_block(name)
        else:
            self._canvas.hint(self.tr("Select a wire or a variable to explain."))

    def inspect(self) -> None:
        """Show the fields of the selected block."""
        if (name := self._block()) is not None:
            self._canvas.inspect(name)

    def enter_page(self) -> None:
        """Show the page that the selected block uses."""
        if (name := self._block(PageBlock)) is not None:
            self._canvas.pageEntered.emit(name)

    def edit_formula(self) -> None:
        """Edit the expression of the selected Formula block on its face."""
        if (name := self._block(Formula)) is not None:
            self._canvas.inline_editor.edit_expression(name)
        else:
            self._canvas.hint(self.tr("Select a Formula block."))

    def switch_stop(self) -> None:
        """Open the selected StopGradient, or close it if it is open, as one undo."""
        if (name := self._block(StopGradient)) is None:
            self._canvas.hint(self.tr("Select a StopGradient to open or close."))
            return
        scene = self._canvas.view.scene
        stop = scene.page.blocks[name]
        assert isinstance(stop, StopGradient)
        self._canvas.request(SetParameters(name, {"open": not stop.open}, page=scene.page_name))

    def stop_wire(self) -> None:
        """Insert a StopGradient into the selected wire, with room for it, as one undo."""
        canvas, scene = self._canvas, self._canvas.view.scene
        wire = canvas.view.selection.wire
        if wire is None:
            canvas.hint(self.tr("Select a wire to stop."))
            return
        candidate = type_candidate(StopGradient.type_name())
        corner = changes.vacancy_in(scene, wire)
        inserted = changes.inserting(canvas.view, candidate, corner, wire)
        if inserted is not None:
            name, change = inserted
            canvas.request(make_space(scene, change, [name]))
            canvas.select([name])

    def wire_port(self) -> None:
        """Begin a wire at the focused port; arrow keys and Space end it."""
        self._canvas.keyboard_focus.act()

    def add_at_port(self) -> None:
        """Offer blocks to wire to the focused port."""
        if (port := self._port()) is not None:
            self._canvas.quick_add(None, port)

    def disconnect_port(self) -> None:
        """Remove the wires of the focused port."""
        scene, port = self._canvas.view.scene, self._port()
        if port is None:
            self._canvas.hint(self.tr("Go to a port with the arrow keys."))
            return
        wires = (scene.wire_ports == port).any(axis=1).nonzero()[0].tolist()
        keys = [scene.wire_keys[wire] for wire in wires]
        self._canvas.request(cut_change(scene, keys) if keys else None)

    def _port(self) -> int | None:
        """Number of the focused port."""
        view = self._canvas.view
        return None if view.focus is None else port_number(view.scene, view.focus)

    def _block(self, kind: type[Block] | None = None) -> str | None:
        """Name of the one selected block, if it is of that kind."""
        view = self._canvas.view
        if len(view.selection.blocks) != 1:
            return None
        (name,) = view.selection.blocks
        return name if kind is None or isinstance(view.scene.page.blocks[name], kind) else None
