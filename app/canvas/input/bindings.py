"""What keys and mouse do on the canvas, as two tables that the list of shortcuts shows."""

from __future__ import annotations

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class KeyBinding:
    """Keys by their portable names, the method of ``Keys`` that they call, and its effect.

    A method reads which of several keys it was from the event, which has these names whatever the
    user's keys are. ``shown`` replaces the names in the list of shortcuts. ``action`` is the name
    of the action that the first key belongs to; the canvas does the same where that is disabled.
    ``{id}`` in a text stands for the current keys of a binding.
    """

    keys: tuple[str, ...]
    method: str
    text: str = ""
    shown: str = ""
    action: str = ""


def _arrows(modifiers: str = "") -> tuple[str, ...]:
    return tuple(f"{modifiers}{name}" for name in ("Left", "Right", "Up", "Down"))


KEYS: tuple[KeyBinding, ...] = (
    KeyBinding(_arrows(), "go",
               editor.noop("Go from block to port to block along the wires; move the selection"),
               editor.noop("Arrows")),
    KeyBinding(_arrows("Ctrl+"), "move_focus",
               editor.noop("Move the focus while something is selected"),
               editor.noop("Ctrl + arrows")),
    KeyBinding(_arrows("Shift+"), "nudge", editor.noop("Move the selection by 1 px"),
               editor.noop("Shift + arrows")),
    KeyBinding(_arrows("Ctrl+Shift+"), "resize",
               editor.noop("Resize the selected notes, or the focused one"),
               editor.noop("Ctrl + Shift + arrows")),
    KeyBinding(("Home", "End"), "jump", editor.noop("Go to the first or the last block"),
               editor.noop("Home, End")),
    KeyBinding(("N", "Shift+N"), "next_note",
               editor.noop("Go to the next or the previous note or frame"),
               editor.noop("N, Shift + N")),
    KeyBinding(("V", "Shift+V"), "next_number",
               editor.noop("Go to the next or the previous number of the selected block: Up and "
                           "Down change it (Shift fine, Ctrl coarse), Enter or digits type it, "
                           "Esc ends"), editor.noop("V, Shift + V")),
    KeyBinding(("PgUp", "PgDown", "Shift+PgUp", "Shift+PgDown"), "scroll",
               editor.noop("Scroll up and down; with Shift, sideways"),
               editor.noop("Page Up, Page Down")),
    KeyBinding(("S",), "select_focused",
               editor.noop("Add the focused block or note to the selection, or take it out")),
    KeyBinding(("Space",), "space",
               editor.noop("Begin or end a wire at the focus or the selection; while the key is "
                           "down, the mouse pans")),
    KeyBinding(("Tab",), "add",
               editor.noop("Add a block by typing: at the end of the open wire, in the selected "
                           "wire, at the pointer, or beside the selected block")),
    KeyBinding(("I",), "insert",
               editor.noop("Insert the selected block, if it has no wires, into the focused wire")),
    KeyBinding(("L",), "lift",
               editor.noop("Take the selected blocks out of their wires, which then lead past "
                           "them")),
    KeyBinding(("B",), "bend",
               editor.noop("Add a bend to the selected wire: {canvas.select_focused} selects it, "
                           "the arrows move it")),
    KeyBinding(("W",), "why",
               editor.noop("Explain the gradient: show the route from the loss to the selected "
                           "wire or variable; on a port, show its contributions")),
    KeyBinding(("T",), "trace",
               editor.noop("Show the selected wire from end to end and dim the rest, or stop")),
    KeyBinding(("X",), "preview_cuts",
               editor.noop("While the key is down, preview a cut of the wire under the pointer")),
    KeyBinding(("Return", "Enter"), "enter",
               editor.noop("Show the fields of a block, enter a page, edit a note"),
               editor.noop("Enter")),
    KeyBinding(("F2",), "rename", editor.noop("Rename the focused block, or edit the note"),
               action="rename"),
    KeyBinding(("Del", "Backspace"), "delete",
               editor.noop("Remove the marked wires, else the selection, else the focused item; "
                           "the contents of a frame stay"), action="delete"),
    KeyBinding(("C",), "mark_cut",
               editor.noop("Mark the focused wire for a cut, or unmark it; {delete} cuts all "
                           "marked wires")),
    KeyBinding(("Ctrl+A",), "select_all", action="select_all"),
    KeyBinding(("M",), "menu", editor.noop("Show the menu of the focused item")),
    KeyBinding(("Esc",), "leave",
               editor.noop("Cancel the gesture, else the evaluation under way, else clear the "
                           "selection, else the focus; in a panel, go back to the canvas")),
    KeyBinding(tuple(f"Alt+{number}" for number in range(1, 10)), "bookmark",
               editor.noop("Go to the bookmark with that number"), editor.noop("Alt + 1 … 9")),
    KeyBinding(("?",), "sheet", editor.noop("Show all shortcuts")),
)  # fmt: skip
"""Every key that the canvas handles."""


@dataclass(frozen=True, slots=True)
class MouseAction:
    """An action of the mouse, its effect, and the keys with the same effect, as in KeyBinding."""

    mouse: str
    text: str
    keys: str


MOUSE: tuple[MouseAction, ...] = (
    MouseAction(editor.noop("Click"),
                editor.noop("Select a block, a note or a wire; Shift or Ctrl adds"),
                editor.noop("Arrows, {canvas.select_focused}")),
    MouseAction(editor.noop("Click on a port"),
                editor.noop("Show what each wire contributes to the gradient of the port, and "
                            "the sum"), editor.noop("Arrows to the port, {canvas.why}")),
    MouseAction(editor.noop("Click on ⊣"),
                editor.noop("Try without the StopGradient, or with it again"),
                editor.noop("{canvas.select_focused} on it, {try_selected}")),
    MouseAction(editor.noop("Double-click"),
                editor.noop("Enter a page, edit a name or a note; on the background, add a block"),
                editor.noop("Enter, {rename}, {canvas.add}")),
    MouseAction(editor.noop("Double-click on the symbol of a block"),
                editor.noop("Show its derivative card"), editor.noop("{derivative}")),
    MouseAction(editor.noop("Double-click on a wire"), editor.noop("Add a bend, and drag it"),
                editor.noop("Arrows to it, {canvas.bend}, {canvas.select_focused}")),
    MouseAction(editor.noop("Right click"), editor.noop("Show the menu of the item there"),
                editor.noop("{canvas.menu}")),
    MouseAction(editor.noop("Drag"),
                editor.noop("Move the selection; a frame moves with its contents"),
                editor.noop("{canvas.select_focused}, arrows")),
    MouseAction(editor.noop("Drag a number sideways"),
                editor.noop("Change it; Shift makes the steps fine, Ctrl coarse, Esc takes it "
                            "back"), editor.noop("{canvas.next_number}, Up, Down")),
    MouseAction(editor.noop("Click on a number"), editor.noop("Let arrows and wheel change it"),
                editor.noop("{canvas.next_number}")),
    MouseAction(editor.noop("Double-click on a number"), editor.noop("Type it"),
                editor.noop("{canvas.next_number}, Enter")),
    MouseAction(editor.noop("Drag on the background"),
                editor.noop("Select what a rectangle touches; Shift adds"),
                editor.noop("{canvas.select_focused} on one after the other")),
    MouseAction(editor.noop("Alt + drag on a block"),
                editor.noop("Take the selection out of its wires, which then lead past it"),
                editor.noop("{canvas.lift}, then arrows")),
    MouseAction(editor.noop("Drag from the square of a block's own variable"),
                editor.noop("Move it out to a Variable there; dropped on its block it moves in "
                            "again"), editor.noop("{move_out}, {own_parameters}")),
    MouseAction(editor.noop("Alt + drag on the background"),
                editor.noop("Select what a drawn line encloses"),
                editor.noop("{canvas.select_focused} on one after the other")),
    MouseAction(editor.noop("Drag a note's corner"), editor.noop("Resize it"),
                editor.noop("Ctrl + Shift + arrows")),
    MouseAction(editor.noop("Drag from a port"), editor.noop("Draw a wire"),
                editor.noop("{canvas.space}, arrows, {canvas.space}")),
    MouseAction(editor.noop("Drag from a port onto a block"),
                editor.noop("Connect its first free port that fits"),
                editor.noop("{canvas.space}, arrows, {canvas.space}")),
    MouseAction(editor.noop("Drag from an output of several selected blocks onto a block"),
                editor.noop("Connect an output of each to its free inputs, from top to bottom"),
                editor.noop("{canvas.space}, arrows, {canvas.space} for each")),
    MouseAction(editor.noop("Drag from a port onto the background"),
                editor.noop("Choose a block to connect"),
                editor.noop("{canvas.space}, {canvas.add}")),
    MouseAction(editor.noop("Drag a wire off its input, or the selected wire off its output"),
                editor.noop("Connect it elsewhere, or drop it"),
                editor.noop("{delete} on the wire, {canvas.space}")),
    MouseAction(editor.noop("Drop a block on a wire"), editor.noop("Insert it into the wire"),
                editor.noop("Ctrl + arrows to the wire, {canvas.insert}; for a new block, "
                            "{canvas.add} on the wire")),
    MouseAction(editor.noop("Ctrl + Shift + drag, right drag"),
                editor.noop("Cut the wires that the line crosses"),
                editor.noop("{canvas.mark_cut} on each wire, {delete}")),
    MouseAction(editor.noop("{canvas.preview_cuts} held, click on a wire"),
                editor.noop("Try to cut it"), editor.noop("{try_selected} on the wire")),
    MouseAction(editor.noop("Rest on a wire"),
                editor.noop("Show it from end to end and dim the rest"),
                editor.noop("{canvas.trace}")),
    MouseAction(editor.noop("Wheel"),
                editor.noop("Zoom at the pointer; two fingers on a touchpad pan"),
                editor.noop("{zoom_in}, {zoom_out}")),
    MouseAction(editor.noop("{canvas.space} + drag, middle drag"), editor.noop("Pan"),
                editor.noop("Page Up, Page Down; with Shift, sideways")),
    MouseAction(editor.noop("Click in the mini-map"), editor.noop("Show that part of the page"),
                editor.noop("Page Up, Home, End")),
    MouseAction(editor.noop("Drag the legend"), editor.noop("Move it; click it to close it"),
                editor.noop("{legend}")),
    MouseAction(editor.noop("Click on a page above the canvas"), editor.noop("Go back to it"),
                editor.noop("{leave_page}")),
    MouseAction(editor.noop("Drag from the palette"), editor.noop("Add a block, or use a page"),
                editor.noop("{add}, letters, Enter")),
    MouseAction(editor.noop("Click on ★"),
                editor.noop("Make a block a favourite, in the palette or in quick add"),
                editor.noop("Ctrl+B")),
    MouseAction(editor.noop("Click on a page of the palette"),
                editor.noop("Use, show, rename or remove it"),
                editor.noop("Enter, Ctrl+Enter, {rename}, {delete}")),
    MouseAction(editor.noop("Click into a panel"), editor.noop("Give it the keyboard focus"),
                editor.noop("{next_panel}, {previous_panel}")),
    MouseAction(editor.noop("Drag the edge of a panel"), editor.noop("Resize it"),
                editor.noop("{next_panel}, {larger_panel}, {smaller_panel}")),
    MouseAction(editor.noop("Drag the title of a panel"), editor.noop("Move it to another side"),
                editor.noop("{next_panel}, View, Panels: Move Panel")),
)  # fmt: skip
"""Every action of the mouse."""
