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
        "Σ: what each wire brings back to the port, and what it adds up to",
        "Arrows to the port, W",
    ),
    Action("Click on ⊣", "Try a StopGradient open, or closed again", "S on it, Ctrl+T"),
    Action(
        "Double-click",
        "Enter a page, write a name or a note; on nothing, add a block",
        "Enter, F2, Tab",
    ),
    Action("Double-click on a wire", "Bend it: a reroute point to drag", "Arrows to it, B, S"),
    Action("Right click", "The menu of what lies there", "M"),
    Action(
        "Drag",
        "Move what is selected; a frame takes along what it holds, also when copied",
        "S, arrows",
    ),
    Action(
        "Drag on nothing", "Select what a rectangle touches; Shift adds", "S on one after the other"
    ),
    Action("Alt + drag", "Select what a drawn line encloses", "S on one after the other"),
    Action("Drag a note's corner", "Resize it", "Ctrl + Shift + arrows"),
    Action("Drag from a port", "Draw a wire", "Space, arrows, Space"),
    Action("Drag from a port into nothing", "Choose a block that the wire fits", "Space, Tab"),
    Action(
        "Drag a wire off its input", "Lead it elsewhere, or let it go", "Delete on the wire, Space"
    ),
    Action(
        "Drop a block on a wire",
        "Put it into the wire",
        "Ctrl + arrows to the wire, I; for a new block, Tab on the wire",
    ),
    Action(
        "Ctrl + Shift + drag, right drag",
        "Cut the wires that the line crosses",
        "C on each wire, Delete",
    ),
    Action("X held, click on a wire", "Try a cut of it", "Ctrl+T on the wire"),
    Action("Rest on a wire", "Show it from end to end, all else dimmed", "T"),
    Action(
        "Wheel", "Zoom at the pointer; two fingers on a touchpad move the page", "Ctrl++, Ctrl+-"
    ),
    Action("Space + drag, middle drag", "Move the page", "Page Up, Page Down, with Shift aside"),
    Action("Click in the mini-map", "Look at that part of the page", "Page Up, Home, End"),
    Action("Drag the legend", "Put it elsewhere; a click on it puts it away", "Ctrl+L"),
    Action("Click on a page above the canvas", "Go back there", "Alt+Up"),
    Action(
        "Drag from the palette",
        "Add a block, or use a page once more",
        "Ctrl+Space, letters, Enter",
    ),
    Action("Click on ★", "Make a block of the palette or of quick-add a favourite", "Ctrl+B"),
    Action(
        "Click on a page of the palette",
        "Use, show, rename or remove it",
        "Enter, Ctrl+Enter, F2, Delete",
    ),
    Action("Click into a panel", "Give it the keyboard", "F6, Shift+F6"),
    Action(
        "Drag the edge of a panel",
        "Make it larger or smaller",
        "F6, Alt+Shift+Right, Alt+Shift+Left",
    ),
    Action("Drag the title of a panel", "Put it on another side", "F6, View: Move Panel"),
)
"""Every action of the mouse."""
