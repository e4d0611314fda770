"""From afar, marks are drawn together or not at all: how many calls draw does not depend on how
many blocks have them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import combinations

import pytest
from PySide6.QtCore import QRectF

from gradwire.app.canvas import corners
from gradwire.app.canvas.paint import notes, painter
from gradwire.app.canvas.paint.blocks import costs as cost_paint
from gradwire.app.canvas.paint.highlights import RADIUS
from gradwire.app.canvas.paint.overlays import paint_guesses, paint_trial
from gradwire.app.canvas.paint.painter import paint
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.scene.camera import MIN_ZOOM, PLAIN, Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.costs import BlockCost, PageCosts
from gradwire.app.canvas.state.marks import GuessLabel, GuessMarks, TrialMarks
from gradwire.app.canvas.state.view_state import Selection, ViewState
from gradwire.app.canvas.view import CanvasView
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram.model import Note, Point, Style
from gradwire.runtime.diagram.paths import InstancePath
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.paint.recording import Recorder

AREA = QRectF(0.0, 0.0, 1400.0, 900.0)
LEGIBLE = 0.15
"""Below this zoom blocks are too low for a symbol."""
STATEFUL = {"save", "restore", "translate", "scale", "setPen", "setBrush", "setFont",
            "setRenderHint", "setOpacity", "setClipRect", "window", "transform"}  # fmt: skip


def everything_on(side: int) -> ViewState:
    """A square of blocks, each of which has every mark there is."""
    names = [f"b{i}" for i in range(side * side)]
    blocks = {name: block("Variable", value=[1.0]) if i % side == 0 else block("Tanh")
              for i, name in enumerate(names)}  # fmt: skip
    wires = {f"{name}.x": f"{names[i - 1]}.out" for i, name in enumerate(names) if i % side}
    layout = {name: (240.0 * (i % side), 110.0 * (i // side)) for i, name in enumerate(names)}
    notes = {name: Note("words", Point(*at), 200.0, 60.0) for name, at in layout.items()}
    made = diagram(blocks, wires, layout, notes=notes)
    colours = ("red", "green", "blue")
    styles = {name: Style(colour=colours[i % 3]) for i, name in enumerate(names)}
    result = evaluate(made.with_page("main", replace(made.main, styles=styles)))
    scene = Scene(result.diagram, "main")
    return ViewState(
        scene, replace(resolve(scene, result), outdated=True), Camera(), LIGHT,
        computing=True,
        costs=PageCosts({name: BlockCost(float(i)) for i, name in enumerate(names)}),
        selection=Selection(frozenset(names)),
        fitting_ports=tuple(range(len(scene.port_points(slice(None))))),
        marks=dict.fromkeys(scene.wire_keys, "accent"),
    )  # fmt: skip


def calls(monkeypatch, view: ViewState, zoom: float) -> Counter[str]:
    found = Recorder()
    for module in (lanes, painter):
        monkeypatch.setattr(
            module, "draw_lines", lambda _, lines: found.calls.append(("lines", ()))
        )
    for module in (painter, cost_paint, notes):
        monkeypatch.setattr(
            module, "draw_rects", lambda _, rects: found.calls.append(("rects", ()))
        )
    paint(found, replace(view, camera=Camera(zoom, 5.0, 5.0)), AREA, None)
    return Counter(name for name, _ in found.calls if name not in STATEFUL)


@pytest.mark.parametrize("zoom", [MIN_ZOOM, 0.05, 0.1, 0.145])
def test_calls_from_afar_do_not_depend_on_the_number_of_blocks(qapp, monkeypatch, zoom):
    few, many = (calls(monkeypatch, everything_on(side), zoom) for side in (12, 24))
    assert few == many
    assert few.total() < 50


@pytest.mark.parametrize("zoom", [LEGIBLE + 0.02, PLAIN - 0.01])
def test_a_block_from_afar_takes_one_call_for_its_symbol(qapp, monkeypatch, zoom):
    view = everything_on(16)
    seen = len(view.scene.blocks_in(Camera(zoom, 5.0, 5.0).area(0.0, 0.0, 1400.0, 900.0)))
    assert calls(monkeypatch, view, zoom).total() <= seen + 50


def test_marks_that_keep_their_size_do_not_lie_on_each_other(qapp, monkeypatch):
    """So there are at most as many as have room."""
    view = everything_on(48)
    culprits = {InstancePath(name): "error" for name in view.scene.names}
    found = calls(monkeypatch, replace(view, culprits=culprits), MIN_ZOOM)
    assert 10 < found["drawEllipse"] < 240.0 * 110.0 * 48 * 48 * MIN_ZOOM**2 / (2 * RADIUS) ** 2


def test_the_largest_cost_is_looked_for_once():
    costs = PageCosts({f"b{i}": BlockCost(float(i)) for i in range(4)})
    assert costs.most is costs.most
    assert [costs.heat(f"b{i}") for i in (0, 3)] == [0.0, 1.0]


@pytest.mark.parametrize("zoom", [MIN_ZOOM, 0.1, 0.29, 0.5])
def test_texts_that_keep_their_size_do_not_lie_on_each_other(qapp, zoom):
    view = replace(everything_on(24), camera=Camera(zoom, 5.0, 5.0))
    names = view.scene.names
    for shown in (
        partial(paint_trial, marks=TrialMarks(changes=dict.fromkeys(names, "6.00 → 3.00"))),
        partial(paint_guesses, marks=GuessMarks(dict.fromkeys(names, GuessLabel("∇ ?")))),
    ):
        found = Recorder()
        shown(found, view)
        boxes = [box for box, *_ in found.of("drawText")]
        assert len(boxes) > 2
        assert not any(one.intersects(other) for one, other in combinations(boxes, 2))


def test_near_blocks_are_all_asked_about(qapp):
    view = replace(everything_on(12), camera=Camera(0.7, 5.0, 5.0))
    found = Recorder()
    paint_guesses(found, view, GuessMarks(dict.fromkeys(view.scene.names, GuessLabel("∇ ?"))))
    assert len(found.of("drawText")) == 144


def test_coloured_blocks_of_the_map_are_drawn_together(qapp, monkeypatch):
    calls, canvas = [], CanvasView()
    monkeypatch.setattr(corners, "draw_rects", lambda _, rects: calls.append(len(rects)))
    canvas.set_diagram(everything_on(12).scene.diagram)
    canvas.minimap.grab()
    assert sorted(calls) == [12, 48, 48, 48, 132]  # two families, three colours
