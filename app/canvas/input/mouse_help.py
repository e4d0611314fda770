"""What the mouse does on the canvas and beside it, each with its way by keyboard.

Texts stand here in English; translations have them under the context ``keys``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MouseWay:
    """Something that is done with the mouse, and how it is done by keyboard."""

    mouse: str
    text: str
    keys: str


MOUSE: tuple[MouseWay, ...] = (
    MouseWay("Click", "Select a block, a note or a wire; Shift or Ctrl adds", "Arrows, S"),
    MouseWay("Click on a port", "Σ: what each wire brings back to the port, and what it adds up to",
             "Arrows to the port, W"),
    MouseWay("Click on ⊣", "Try a StopGradient open, or closed again", "S on it, Ctrl+T"),
    MouseWay("Double-click", "Enter a page, write a name or a note; on nothing, add a block",
             "Enter, F2, Tab"),
    MouseWay("Double-click on a wire", "Bend it: a reroute point to drag", "Arrows to it, B, S"),
    MouseWay("Right click", "The menu of what lies there", "M"),
    MouseWay("Drag", "Move what is selected; a frame takes along what it holds, also when copied",
             "S, arrows"),
    MouseWay("Drag on nothing", "Select what a rectangle touches; Shift adds",
             "S on one after the other"),
    MouseWay("Alt + drag", "Select what a drawn line encloses", "S on one after the other"),
    MouseWay("Drag a note's corner", "Resize it", "Ctrl + Shift + arrows"),
    MouseWay("Drag from a port", "Draw a wire", "Space, arrows, Space"),
    MouseWay("Drag from a port into nothing", "Choose a block that the wire fits", "Space, Tab"),
    MouseWay("Drag a wire off its input", "Lead it elsewhere, or let it go",
             "Delete on the wire, Space"),
    MouseWay("Drop a block on a wire", "Put it into the wire",
             "Ctrl + arrows to the wire, I; for a new block, Tab on the wire"),
    MouseWay("Ctrl + Shift + drag, right drag", "Cut the wires that the line crosses",
             "C on each wire, Delete"),
    MouseWay("X held, click on a wire", "Try a cut of it", "Ctrl+T on the wire"),
    MouseWay("Rest on a wire", "Show it from end to end, all else dimmed", "T"),
    MouseWay("Wheel", "Zoom at the pointer; two fingers on a touchpad move the page",
             "Ctrl++, Ctrl+-"),
    MouseWay("Space + drag, middle drag", "Move the page", "Page Up, Page Down, with Shift aside"),
    MouseWay("Click in the mini-map", "Look at that part of the page", "Page Up, Home, End"),
    MouseWay("Drag the legend", "Put it elsewhere; a click on it puts it away", "Ctrl+L"),
    MouseWay("Click on a page above the canvas", "Go back there", "Alt+Up"),
    MouseWay("Drag from the palette", "Add a block, or use a page once more",
             "Ctrl+Space, letters, Enter"),
    MouseWay("Click on ★", "Make a block of the palette or of quick-add a favourite", "Ctrl+B"),
    MouseWay("Click on a page of the palette", "Use, show, rename or remove it",
             "Enter, Ctrl+Enter, F2, Delete"),
    MouseWay("Click into a panel", "Give it the keyboard", "F6, Shift+F6"),
    MouseWay("Drag the edge of a panel", "Make it larger or smaller",
             "F6, Alt+Shift+Right, Alt+Shift+Left"),
    MouseWay("Drag the title of a panel", "Put it on another side", "F6, View: Move Panel"),
)  # fmt: skip
"""Every gesture of the mouse, with its way by keyboard."""
