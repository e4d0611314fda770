"""Edits of the page, requested by the Edit menu and the panels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.app.canvas.input.entry.candidates import type_candidate
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import (
    PLAIN,
    AddBlock,
    Arrange,
    Batch,
    Change,
    RenameBlock,
    SetNote,
    SetParameters,
    ShownSizes,
    StyleBlocks,
    move_out,
    own_variables,
    ownable_inputs,
    owned_inputs,
)
from gradwire.runtime.formulas import add_formula

if TYPE_CHECKING:
    from collections.abc import Collection


class EditCommands(WindowPart):
    """Turns requests into changes of the document."""

    def change(self, change: Change) -> bool:
        """Apply a change and return whether it was accepted; a renamed block stays selected."""
        selected = self._canvas.selection()
        if not self._document.apply(change):
            return False
        if isinstance(change, RenameBlock) and change.old in selected:
            self._canvas.select(selected - {change.old} | {change.new})
        return True

    def add_block(self, type_name: str) -> None:
        """Add a new block of that type where there is room in view."""
        self._canvas.put(type_candidate(type_name))
        self._canvas.setFocus()

    def own_parameters(self) -> None:
        """Move variables into the selected blocks, or the selected Variables into their blocks."""
        page = self._page
        wanted = dict.fromkeys(
            target for name in self._chosen for target in ownable_inputs(page, name)
        )
        for name in self._chosen:
            for target in page.ends.outward.get(name, ()):
                if target in ownable_inputs(page, target.block):
                    wanted[target] = None
        if not wanted:
            self._canvas.hint(self.tr("No selected block has an input that could own a variable."))
            return
        change = own_variables(self._document.diagram, self._navigation.page, list(wanted))
        if self._document.apply(change):
            self._canvas.select({target.block for target in wanted})

    def bypass(self) -> None:
        """Bypass the selected blocks; if all are bypassed, let them work again."""
        blocks = {name: self._page.blocks[name] for name in self._chosen}
        able = [name for name, block in blocks.items() if type(block).can_be_bypassed()]
        if not able:
            self._canvas.hint(self.tr("No selected block has an input that could go through."))
            return
        wanted = not all(blocks[name].bypassed for name in able)
        changes = tuple(
            SetParameters(name, {"bypassed": wanted}, self._navigation.page)
            for name in able
            if blocks[name].bypassed is not wanted
        )
        label = self.tr("Bypass {0}") if wanted else self.tr("Stop bypassing {0}")
        self._document.apply(Batch(label.format(self._few(able)), changes))

    def collapse(self) -> None:
        """Shrink the selected blocks to their titles; if all are, show them in full, with room."""
        styles = {name: self._page.styles.get(name, PLAIN) for name in self._chosen}
        if not styles:
            self._canvas.hint(self.tr("Select a block to collapse."))
            return
        wanted = not all(style.collapsed for style in styles.values())
        changed = {
            name: style._replace(collapsed=wanted)
            for name, style in styles.items()
            if style.collapsed is not wanted
        }
        label = (self.tr("Collapse {0}") if wanted else self.tr("Expand {0}")).format(
            self._few(changed)
        )
        change = Batch(label, (StyleBlocks(changed, self._navigation.page),))
        scene = self._canvas.view.scene
        self._document.apply(change if wanted else make_space(scene, change, changed))

    def colour(self, name: str) -> None:
        """Give the selected blocks, frames and notes a colour; an empty name takes it away."""
        chosen, page = self._canvas.view.selection, self._navigation.page
        styles = {
            block: style._replace(colour=name)
            for block in sorted(chosen.blocks)
            if (style := self._page.styles.get(block, PLAIN)).colour != name
        }
        notes = {
            note: replace(self._page.notes[note], colour=name)
            for note in sorted(chosen.notes)
            if self._page.notes[note].colour != name
        }
        if not (chosen.blocks or chosen.notes):
            self._canvas.hint(self.tr("Select a block, a frame or a note to colour."))
        if not (styles or notes):
            return
        changes: list[Change] = [StyleBlocks(styles, page)] if styles else []
        changes += [SetNote(note, after, page) for note, after in notes.items()]
        label = self.tr("Colour {0}") if name else self.tr("Take the colour from {0}")
        self._document.apply(Batch(label.format(self._few([*styles, *notes])), tuple(changes)))

    def move_out_parameters(self) -> None:
        """Move the own variables of the selected blocks out to Variables."""
        owned = [target for name in self._chosen for target in owned_inputs(self._page, name)]
        if not owned:
            self._canvas.hint(self.tr("No selected block owns a variable."))
            return
        change = move_out(self._document.diagram, self._navigation.page, owned)
        added = [part.name for part in change.changes if isinstance(part, AddBlock)]
        scene = self._canvas.view.scene
        if self._document.apply(make_space(scene, change, added)):
            self._canvas.select(added)

    def _few(self, names: Collection[str]) -> str:
        """Names for the label of an undo."""
        return ", ".join(names) if len(names) <= 3 else self.tr("{0} items").format(len(names))

    @property
    def _chosen(self) -> list[str]:
        return sorted(self._canvas.selection())

    def add_formula(self, text: str) -> str:
        """Add the blocks of a formula to the page; return why not, empty if they were added."""
        try:
            added = add_formula(self._document.diagram, text, page=self._navigation.page)
        except GradwireError as error:
            return str(error)
        self._document.apply(added.change)
        return ""

    def arrange(self) -> None:
        """Arrange the page, or only the selected blocks if there are several."""
        chosen = self._canvas.selection()
        names = tuple(sorted(chosen)) if len(chosen) > 1 else ()
        view = self._canvas.view
        shown = ShownSizes(view.scene.face_lines(), view.annotations.lane_counts())
        self._document.apply(Arrange(self._navigation.page, names, shown))
