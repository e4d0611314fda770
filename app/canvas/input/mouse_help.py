"""What the mouse does on the canvas and beside it, and how the keyboard does the same.

Texts are English here; translations find them in the context ``keys``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the mouse, its effect, and the keys that have the same effect."""

    mouse: str
    text: str
    keys: str


MOUSE: tuple[Action, ...] = (
    Action("Click", "Select a block, a note or a wire; Shift or Ctrl adds", "Arrows, S"),
    Action(
        "Click on a port",
        "Show what each wire contributes to the gradient of the port, and the sum",
        "Arrows to the port, W",
    ),
    Action("Click on ⊣", "Try without the StopGradient, or with it again", "S on it, Ctrl+T"),
    Action(
        "Double-click",
        "Enter a page, edit a name or a note; on the background, add a block",
        "Enter, F2, Tab",
    ),
    Action("Double-click on a wire", "Add a reroute point to drag", "Arrows to it, B, S"),
    Action("Right click", "Show the menu of the item there", "M"),
    Action(
        "Drag",
        "Move the selection; a frame moves with its contents",
        "S, arrows",
    ),
    Action(
        "Drag on the background",
        "Select what a rectangle touches; Shift adds",
        "S on one after the other",
    ),
    Action("Alt + drag", "Select what a drawn line encloses", "S on one after the other"),
    Action("Drag a note's corner", "Resize it", "Ctrl + Shift + arrows"),
    Action("Drag from a port", "Draw a wire", "Space, arrows, Space"),
    Action(
        "Drag from a port onto a block",
        "Connect its first free port that fits",
        "Space, arrows, Space",
    ),
    Action("Drag from a port onto the background", "Choose a block to connect", "Space, Tab"),
    Action(
        "Drag a wire off its input", "Connect it elsewhere, or drop it", "Delete on the wire, Space"
    ),
    Action(
        "Drop a block on a wire",
        "Insert it into the wire",
        "Ctrl + arrows to the wire, I; for a new block, Tab on the wire",
    ),
    Action(
        "Ctrl + Shift + drag, right drag",
        "Cut the wires that the line crosses",
        "C on each wire, Delete",
    ),
    Action("X held, click on a wire", "Try to cut it", "Ctrl+T on the wire"),
    Action("Rest on a wire", "Show it from end to end and dim the rest", "T"),
    Action("Wheel", "Zoom at the pointer; two fingers on a touchpad pan", "Ctrl++, Ctrl+-"),
    Action("Space + drag, middle drag", "Pan", "Page Up, Page Down, with Shift aside"),
    Action("Click in the mini-map", "Show that part of the page", "Page Up, Home, End"),
    Action("Drag the legend", "Move it; click it to close it", "Ctrl+L"),
    Action("Click on a page above the canvas", "Go back there", "Alt+Up"),
    Action(
        "Drag from the palette",
        "Add a block, or another use of a page",
        "Ctrl+Space, letters, Enter",
    ),
    Action("Click on ★", "Make a block a favourite, in the palette or in quick add", "Ctrl+B"),
    Action(
        "Click on a page of the palette",
        "Use, show, rename or remove it",
        "Enter, Ctrl+Enter, F2, Delete",
    ),
    Action("Click into a panel", "Move the keyboard to it", "F6, Shift+F6"),
    Action(
        "Drag the edge of a panel",
        "Resize it",
        "F6, Alt+Shift+Right, Alt+Shift+Left",
    ),
    Action("Drag the title of a panel", "Move it to another side", "F6, View: Move Panel"),
)
"""Every action of the mouse."""
