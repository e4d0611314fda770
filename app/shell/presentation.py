"""Full screen for a projector: no chrome, large type, pages and frames one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent
from PySide6.QtWidgets import QToolBar, QWidget

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.diagram import MAIN, uses_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.shell.docks import Docks
    from gradwire.runtime.diagram import InstancePath

LARGE, LARGEST = 1.6, 4.0
"""The zoom stays between these while a part of a page is fitted, so that type is large."""
LEGIBLE = 1.0
"""The zoom from which a page that does not fit in large type is shown whole, before its parts."""
_MARGIN = 40.0
_ROW = 120.0
"""Frames whose tops differ by less than this are in one row, scene units."""
_TALLEST = 16_777_215  # Qt's QWIDGETSIZE_MAX
Key = Qt.Key
_MOVES = {
    Key.Key_Right: 1, Key.Key_Down: 1, Key.Key_PageDown: 1, Key.Key_Space: 1,
    Key.Key_Left: -1, Key.Key_Up: -1, Key.Key_PageUp: -1, Key.Key_Backspace: -1,
}  # fmt: skip


@by_identity
class Slide(NamedTuple):
    """A use of a page, a part of it (left, top, right, bottom; scene units), and its title."""

    use: InstancePath
    bounds: Floats
    title: str
    least: float = LARGE
    """The least zoom that it is shown at."""


@dataclass(frozen=True)
class _Before:
    """What the window showed before the presentation."""

    state: Qt.WindowState
    bars: Mapping[QWidget, bool]
    trail: tuple[str, ...]
    root: str
    cameras: Mapping[str, Camera]
    has_map: bool


class Presentation(WindowPart):
    """Shows the canvas alone on the full screen; arrow keys go through the slides."""

    toggled = Signal()
    """The presentation has begun or ended."""

    def __init__(
        self,
        workspace: Workspace,
        docks: Docks,
        trail: QWidget,
        lesson: Callable[[], LessonPlayer | None],
    ) -> None:
        super().__init__(workspace)
        self._docks = docks
        self._lesson = lesson
        self._flat = (self._frame.menuBar(), trail)
        """Bars of no height instead of hidden ones: shortcuts need the menu bar to be visible."""
        self._before: _Before | None = None
        """What to restore; None while the window is not presenting."""
        self._number = 0
        self._canvas.installEventFilter(self)

    @property
    def active(self) -> bool:
        """Whether the window is presenting."""
        return self._before is not None

    def toggle(self) -> None:
        """Begin or end the presentation."""
        if self.active:
            self.end()
        else:
            self.begin()

    def begin(self) -> None:
        """Show the canvas on the full screen, from the current page on."""
        frame, canvas = self._frame, self._canvas
        self._docks.conceal()
        chrome = [*frame.findChildren(QToolBar), frame.statusBar()]
        self._before = _Before(
            frame.windowState(),
            {bar: bar.isHidden() for bar in chrome},
            self._navigation.trail,
            self._navigation.root,
            canvas.cameras(),
            canvas.minimap.wanted,
        )
        for bar in chrome:
            bar.hide()
        for bar in self._flat:
            bar.setMaximumHeight(0)
        if canvas.minimap.wanted:
            canvas.minimap.toggle()
        # A lesson speaks of the whole diagram, so that is shown even where it is small.
        canvas.limit_fit(0.0 if self._lesson() is not None else LARGE, LARGEST)
        frame.setWindowState(frame.windowState() | Qt.WindowState.WindowFullScreen)
        canvas.setFocus()
        here = [slide.use == self._navigation.use for slide in self.slides()]
        self.toggled.emit()
        if self._lesson() is not None:
            self._docks.bring_up("learn")
            self._canvas.zoom_to_fit()
        else:
            self.show_slide(here.index(True) if True in here else 0)

    def end(self) -> None:
        """Restore the window as it was before."""
        before, self._before = self._before, None
        if before is None:
            return
        self.toggled.emit()  # first, since panels are restored to what fits small text
        frame, canvas = self._frame, self._canvas
        for bar in self._flat:
            bar.setMaximumHeight(_TALLEST)
        frame.setWindowState(before.state)
        for bar, hidden in before.bars.items():
            bar.setHidden(hidden)
        self._docks.reveal()
        if before.has_map:
            canvas.minimap.toggle()
        canvas.limit_fit()
        self._navigation.go(before.trail, before.root)
        canvas.restore_cameras(before.cameras)

    def slides(self) -> list[Slide]:
        """Each used page, whole or in parts that are large enough to read, then its frames."""
        found = []
        for page in self._document.diagram.pages:
            use = next(uses_of(self._document.diagram, page), None)
            if use is not None:
                found += list(self._slides_of(page, use))
        return found

    def show_slide(self, number: int) -> None:
        """Show a slide by its number; beyond the ends nothing happens."""
        slides = self.slides()
        if not 0 <= number < len(slides):
            return
        self._number = number
        slide = slides[number]
        self._navigation.go(slide.use.names)
        self._canvas.limit_fit(slide.least, LARGEST)
        self._canvas.fit(slide.bounds)
        text = self.tr("{0} of {1}: {2}").format(number + 1, len(slides), slide.title)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._canvas, text))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self.active:
            return False
        if event.type() == QEvent.Type.Resize and self._lesson() is not None:
            self._canvas.zoom_to_fit()
        elif event.type() == QEvent.Type.Resize:
            self.show_slide(self._number)
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier and self._press(
                event
            )
        return False

    def _press(self, event: QKeyEvent) -> bool:
        """Handle a key of the presentation; False for any other."""
        key = Key(event.key())
        if key == Key.Key_Escape:
            if not self._canvas.leave_explanation():
                self.end()
        elif (lesson := self._lesson()) is not None:
            return self._press_in_lesson(lesson, key)
        elif key in _MOVES:
            self.show_slide(self._number + _MOVES[key])
        elif key in (Key.Key_Home, Key.Key_End):
            self.show_slide(0 if key == Key.Key_Home else len(self.slides()) - 1)
        else:
            return False
        return True

    def _press_in_lesson(self, lesson: LessonPlayer, key: Key) -> bool:
        """Go through the steps of a lesson, or show the answer; False for any other key."""
        does = {
            Key.Key_PageDown: lesson.advance,
            Key.Key_PageUp: lesson.back,
            Key.Key_A: lesson.show_answer,
        }.get(key)
        if does is not None:
            does()
            self._canvas.setFocus()
        return does is not None

    def _slides_of(self, page: str, use: InstancePath) -> Iterator[Slide]:
        scene = self._canvas.view.scene
        if page != scene.page_name:
            scene = Scene(self._document.diagram, page)
        bounds = scene.bounds()
        if bounds is None:
            return
        title = page if page != MAIN else self._document.diagram.title or self._document.name
        parts = [part for part in self._parts(bounds, LARGE) if _shows_a_block(part, scene.rects)]
        if len(parts) > 1 and len(list(self._parts(bounds, LEGIBLE))) == 1:
            yield Slide(use, bounds, title, LEGIBLE)
        yield from (Slide(use, part, title) for part in parts)
        frames = [note for note in scene.page.notes.values() if note.frame]
        for note in sorted(frames, key=lambda note: (note.at.y // _ROW, note.at.x)):
            left, top = note.at
            box = np.array([left, top, left + note.width, top + note.height])
            yield Slide(use, box, note.text.partition("\n")[0] or title)

    def _parts(self, bounds: Floats, zoom: float) -> Iterator[Floats]:
        """``bounds`` in as few equal parts, row by row, as can be shown at this zoom."""
        zoom *= self._canvas.actual_zoom()
        room = np.array([self._canvas.width(), self._canvas.height()]) - 2.0 * _MARGIN
        size = bounds[2:] - bounds[:2]
        columns, rows = np.ceil(size * zoom / np.maximum(room, 1.0)).astype(int).tolist()
        step = size / np.maximum([columns, rows], 1)
        for row in range(max(rows, 1)):
            for column in range(max(columns, 1)):
                corner = bounds[:2] + step * [column, row]
                yield np.concatenate([corner, corner + step])


def _shows_a_block(part: Floats, rects: Floats) -> bool:
    """Whether the centre of any block lies in a part of the page."""
    centres = rects[:, :2] + rects[:, 2:] / 2.0
    return bool(((centres >= part[:2]) & (centres <= part[2:])).all(axis=1).any())
