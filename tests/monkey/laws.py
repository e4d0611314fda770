"""What must hold of a window whatever was done to it. Each raises AssertionError."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from PySide6.QtCore import QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from gradwire.app.canvas.scene.focus import exists
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.looks import row_counts
from gradwire.runtime.diagram import Diagram, check, dumps, is_name, loads
from gradwire.runtime.diagram.model import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from PySide6.QtCore import QEvent

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.shell.main_window import MainWindow


Handler: TypeAlias = Callable[[Any, Any], None]
_HARMLESS = ("This plugin does not support", 'Mouse event "')
"""How Qt begins to say what it can't do without a screen, and QTest that a widget has ignored an
event, as any label does.
"""


class Alarm:
    """Collects what Qt warns of and what Python raises where nobody catches it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._wrapped: list[tuple[type, str, Handler]] = []
        for kind in _widgets(QWidget):
            for name, method in list(vars(kind).items()):
                if name.endswith("Event") and callable(method):
                    self._wrapped.append((kind, name, method))
                    setattr(kind, name, self._caught(method))
        self._before = (sys.excepthook, threading.excepthook, sys.unraisablehook)
        self._handler = qInstallMessageHandler(self._warned)
        sys.excepthook = self._raised
        threading.excepthook = lambda it: self._raised(it.exc_type, it.exc_value, it.exc_traceback)
        sys.unraisablehook = lambda it: self._raised(it.exc_type, it.exc_value, it.exc_traceback)

    def close(self) -> None:
        """Let others hear again."""
        for kind, name, method in self._wrapped:
            setattr(kind, name, method)
        sys.excepthook, threading.excepthook, sys.unraisablehook = self._before
        qInstallMessageHandler(self._handler)

    def listen(self) -> None:
        """Raise what was heard since the last time."""
        heard, self.heard = self.heard, []
        assert not heard, "\n".join(heard)

    def _caught(self, method: Handler) -> Handler:
        """The method, whose errors are heard here: through Qt they would end the process."""

        @wraps(method)
        def handle(widget: QWidget, event: QEvent) -> None:
            try:
                method(widget, event)
            except Exception as error:
                self._raised(type(error), error, error.__traceback__)

        return handle

    def _warned(self, kind: QtMsgType, context: object, text: str) -> None:
        if kind != QtMsgType.QtDebugMsg and not text.startswith(_HARMLESS):
            where = "".join(traceback.format_stack(limit=6))
            self.heard.append(f"Qt says: {text}\n{where}")

    def _raised(
        self, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.heard.append("".join(traceback.format_exception(kind, error, trace)))


def _widgets(kind: type) -> Iterator[type]:
    """The editor's own kinds of widgets."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("gradwire.app."):
            yield each
        yield from _widgets(each)


def valid(diagram: Diagram) -> None:
    """The diagram is one that changes alone can make, and its file holds all of it."""
    assert "main" in diagram.pages
    for title, page in diagram.pages.items():
        assert is_name(title), title
        _valid_page(page)
    check(diagram)
    written = dumps(diagram)
    again = loads(written)
    assert again == diagram, "loads∘dumps is not the identity"
    assert dumps(again) == written


def _valid_page(page: Page) -> None:
    assert all(map(is_name, page.blocks))
    for target, source in page.wires.items():
        assert target.block in page.blocks and source.block in page.blocks, (source, target)
    assert page.layout.keys() <= page.blocks.keys(), page.layout.keys() - page.blocks.keys()
    assert np.isfinite([*page.layout.values()]).all()
    assert page.bends.keys() <= page.wires.keys(), page.bends.keys() - page.wires.keys()
    assert all(page.bends.values())
    assert page.routes.keys() <= page.wires.keys() - page.bends.keys()
    assert all(len(route) % 2 for route in page.routes.values())
    ends = Page(page.blocks, page.wires).ends
    for side in ("inward", "outward"):
        known, fresh = getattr(page.ends, side), getattr(ends, side)
        assert {k: frozenset(v) for k, v in known.items() if v} == {
            k: frozenset(v) for k, v in fresh.items()
        }, f"the {side} ends handed on are not those of the wires"


def agrees(window: MainWindow) -> None:
    """What the window shows is of its document, and what is selected exists."""
    document, canvas = window.document, window.canvas
    scene = canvas.view.scene
    assert window.navigation.page in document.diagram.pages
    assert scene.page_name == window.navigation.page
    assert scene.diagram is document.diagram, "the canvas shows another diagram"
    assert window.isWindowModified() == (not document.is_clean)
    if canvas.context.mouse.gesture is None:
        _same_arrays(scene, Scene(document.diagram, scene.page_name))
    _selection_exists(canvas)
    _sizes_match(canvas)
    result = window.evaluator.result
    if result is not None and not window.evaluator.busy:
        assert result.diagram == document.diagram, "the result is of another diagram"


def _same_arrays(scene: Scene, fresh: Scene) -> None:
    fresh.set_rows(scene.rows)
    for one in (scene, fresh):
        one.refine()
        one.fork_points(np.arange(len(one.wire_keys)))
    for name, array in vars(fresh).items():
        kept = vars(scene)[name]
        if isinstance(array, np.ndarray):
            same = np.array_equal(kept, array) or (
                kept.shape == array.shape and np.allclose(kept, array, rtol=0.0, atol=1e-9)
            )
            assert same, f"{name} of the canvas is not that of the document"
        elif isinstance(array, list) and name != "slots":
            assert kept == array, f"{name} of the canvas is not that of the document"


def _selection_exists(canvas: CanvasView) -> None:
    view, scene = canvas.view, canvas.view.scene
    assert view.selection.blocks <= scene.index.keys()
    assert view.selection.notes <= scene.page.notes.keys()
    assert view.selection.wire is None or view.selection.wire in scene.wire_index
    assert view.traced is None or view.traced in scene.wire_index
    assert view.hidden_wire is None or view.hidden_wire in scene.wire_index
    assert view.focus is None or exists(scene, view.focus)
    assert view.near_port is None or view.near_port < len(scene.port_block)
    assert all(port < len(scene.port_block) for port in view.fitting_ports)
    assert view.marks.keys() <= scene.wire_index.keys()
    assert np.isfinite([view.camera.zoom, view.camera.x, view.camera.y]).all()


def _sizes_match(canvas: CanvasView) -> None:
    scene, annotations = canvas.view.scene, canvas.view.annotations
    assert annotations.scene is scene
    assert len(annotations.total.codes) == len(scene.wire_keys)
    assert np.array_equal(row_counts(annotations.page), scene.rows)


def told_to_all(canvas: CanvasView) -> None:
    """Assistive technology gets a name and a place for everything on the page."""
    tree = QAccessible.queryAccessibleInterface(canvas)
    for number in range(min(tree.childCount(), 60)):
        item = tree.child(number)
        if item is not None and item.isValid() and item.role() != QAccessible.Role.EditableText:
            item.text(QAccessible.Text.Name)
            item.rect()
            item.state()
