"""The examples in the editor: drawn as figures, opened, read, entered and explained."""

from __future__ import annotations

import itertools
import textwrap

import numpy as np
import pytest
from PySide6.QtGui import QImage

from gradwire.app.canvas.paint.blocks import faces
from gradwire.app.canvas.paint.drawing import LEAST
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN
from gradwire.app.canvas.scene.lane_paths import GAP
from gradwire.app.canvas.view import CanvasView
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.theme import BODY
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram.layout.measures import HEADER
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow import State
from gradwire.runtime.lessons.notes import with_numbers
from tests.app.mouse import double_click
from tests.examples.gallery import NAMES, diagram, path, stops

MARGIN = 8.0
"""Px between blocks, and between a frame and what it holds, at least."""
WIDEST, HIGHEST = 1840.0, 860.0
"""Px: what a page may take, so that its numbers can be read on one screen."""
WIDE_LETTER, HIGH_LINE = 0.58, 1.3
"""Width of a letter on average, and height of a line, in ems of a wide font such as DejaVu Sans."""
PAGES = [(name, page) for name in NAMES for page in diagram(name).pages]

every_page = pytest.mark.parametrize(("name", "page"), PAGES)


def use_of(name, page):
    """The path of the block that stands for a page; that of nothing for the main page."""
    blocks = diagram(name).main.blocks.items()
    uses = (n for n, b in blocks if isinstance(b, PageBlock) and b.page == page)
    return next((InstancePath(use) for use in uses), InstancePath())


@pytest.fixture
def canvas(qtbot):
    made = CanvasView()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def shown(canvas):
    """Shows a page of an example with its numbers; its scene then has the final sizes."""

    def show(name, page):
        result = evaluate(diagram(name))
        assert result.error is None and result.diagnostics == ()
        canvas.set_diagram(diagram(name), page)
        canvas.set_result(result, use_of(name, page))
        return canvas.view.scene

    return show


def overlap(one, other, margin=0.0):
    """Whether two rectangles (left, top, width, height) come nearer than ``margin``."""
    (x, y, w, h), (a, b, c, d) = one, other
    across = x < a + c + margin and a < x + w + margin
    return across and y < b + d + margin and b < y + h + margin


def rect(note):
    return (*note.at, note.width, note.height)


class TestFigures:
    @pytest.mark.night
    @every_page
    def test_blocks_keep_apart(self, shown, name, page):
        scene = shown(name, page)
        boxes = dict(zip(scene.names, scene.rects.tolist(), strict=True))
        near = [
            (one, other)
            for one, other in itertools.combinations(boxes, 2)
            if overlap(boxes[one], boxes[other], MARGIN)
        ]
        assert near == []

    @pytest.mark.night
    @every_page
    def test_notes_lie_beside_and_frames_around(self, shown, name, page):
        scene = shown(name, page)
        notes = scene.page.notes
        for note in notes.values():
            for box in scene.rects.tolist():
                assert not overlap(rect(note), box) or (note.frame and holds(note, box))
        words = [rect(note) for note in notes.values() if not note.frame]
        assert not any(overlap(*pair, MARGIN) for pair in itertools.combinations(words, 2))

    @pytest.mark.sampled(one_in=7)
    @every_page
    def test_no_wire_runs_through_a_block_or_a_note(self, shown, name, page):
        scene = shown(name, page)
        notes = [rect(note) for note in scene.page.notes.values() if not note.frame]
        for wire, points in drawn(scene):
            ends = scene.wire_blocks[wire]
            others = [box for i, box in enumerate(scene.rects.tolist()) if i not in ends]
            touched = [box for box in (*others, *notes) if touches(points, box)]
            assert touched == [], scene.wire_keys[wire]

    @pytest.mark.sampled(one_in=7)
    @every_page
    def test_wires_run_to_the_right(self, shown, name, page):
        x0, _, x1, _ = shown(name, page).wire_ends.T
        assert (x1 - x0 >= 20.0).all()

    @pytest.mark.sampled(one_in=7)
    @every_page
    def test_the_wires_into_losses_are_straight_and_others_too(self, shown, name, page):
        scene = shown(name, page)
        _, y0, _, y1 = scene.wire_ends.T
        last = [isinstance(scene.blocks[i], Loss) for i in scene.wire_blocks[:, 1]]
        assert (y0 == y1)[last].all()
        assert np.mean(y0 == y1) >= 0.2

    @pytest.mark.sampled(one_in=11)
    @every_page
    def test_the_words_fit_into_their_notes(self, name, page):
        for note in with_numbers(diagram(name)).pages[page].notes.values():
            columns = int((note.width - 20.0) / (WIDE_LETTER * BODY))
            lines = sum(len(textwrap.wrap(line, columns)) or 1 for line in note.text.split("\n"))
            assert lines * HIGH_LINE * BODY <= note.height - 14.0

    @pytest.mark.night
    @every_page
    def test_a_page_fits_a_screen(self, shown, name, page):
        left, top, right, bottom = shown(name, page).bounds()
        assert right - left <= WIDEST and bottom - top <= HIGHEST

    @pytest.mark.night
    @every_page
    def test_it_can_be_painted(self, canvas, shown, name, page):
        shown(name, page)
        image = QImage(800, 400, QImage.Format.Format_RGB32)
        canvas.render_to(image)
        colours = {image.pixel(x, y) for x in range(0, 800, 5) for y in range(0, 400, 5)}
        assert len(colours) > 5


def drawn(scene):
    """Each wire with the points (k, 2) of what is drawn: its curve, its stored route or its detour;
    straight stretches have points every few px.
    """
    while scene.refine():
        pass
    assert scene.is_refined()
    for wires, courses in scene.courses(np.arange(len(scene.wire_keys))):
        yield from zip(wires.tolist(), courses.flatten(64), strict=True)


def holds(frame, box):
    """Whether a frame goes round a block, its title free."""
    x, y, width, height = rect(frame)
    left, top, w, h = box
    beside = x + MARGIN <= left and left + w + MARGIN <= x + width
    return beside and y + HEADER <= top and top + h + MARGIN <= y + height


def touches(points, box):
    """Whether a curve (k, 2), or the lane under it, comes into a box."""
    (x, y), (left, top, width, height) = points.T, box
    within = (x > left - 2.0) & (x < left + width + 2.0)
    return bool((within & (y > top - GAP - 3.0) & (y < top + height + 3.0)).any())


class TestWindow:
    @pytest.mark.sampled(one_in=11)
    @pytest.mark.parametrize("name", NAMES)
    def test_it_opens_and_its_numbers_appear(self, qtbot, window, name):
        assert window.open_path(path(name))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        result = window.evaluator.result
        assert result.diagram == diagram(name)
        assert result.error is None and result.diagnostics == ()
        assert diagram(name).main.blocks.keys() == set(window.canvas.view.scene.names)
        assert not window.welcome.isVisible()
        area = window.canvas.rect().adjusted(-1, -1, 1, 1)
        assert all(area.contains(window.canvas.block_rect(n)) for n in diagram(name).main.blocks)

    @pytest.mark.sampled(one_in=31)
    @pytest.mark.parametrize("size", [(1280, 720), (1600, 1000)])
    @pytest.mark.parametrize("name", NAMES)
    def test_each_block_shows_its_value_when_it_opens(self, qtbot, window, monkeypatch, name, size):
        read = {}

        def draw_number(painter, look, theme, place, text, letters):
            read[look.name] = look.summary, text, letters.pixelSize()
            written(painter, look, theme, place, text, letters)

        written = faces._draw_number
        monkeypatch.setattr(faces, "_draw_number", draw_number)
        window.resize(*size)
        window.show()
        assert window.open_path(path(name))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.canvas.zoom() >= PLAIN
        if window.canvas.zoom() < NUMBERS:  # above that, faces have all their text
            window.canvas.zoom_to_fit()
            qtbot.waitUntil(lambda: read.keys() == diagram(name).main.blocks.keys())
            unread = [block for block, (known, text, _) in read.items() if known and not text]
            assert unread == []
            assert min(pixels for _, _, pixels in read.values()) >= LEAST

    @pytest.mark.sampled(one_in=13)
    @pytest.mark.parametrize("name", [name for name in NAMES if stops(name)])
    def test_a_click_on_the_stopped_wire_says_by_what(self, qtbot, window, name):
        window.open_path(path(name))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        for stop in stops(name):
            result = window.evaluator.result
            leaves = result.verdict(f"{stop}.x").leaves
            if leaves is None:
                assert result.states[f"{stop}.x"] is State.STOPPED
            window.canvas.select_wire(f"{stop}.x")
            said = "Stopped" if leaves is None else "{} of {} leaves carry".format(*leaves)
            assert said in window.why.text()
            assert stop in window.why.text()

    def test_a_page_is_entered_and_tells_of_the_use_it_was_entered_by(self, qtbot, window):
        window.open_path(path("contrastive_divergence_stopped"))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        face = window.canvas.block_rect("gibbs")
        double_click(window.canvas, face.center())
        assert window.navigation.trail == ("gibbs",)
        assert set(window.canvas.view.scene.names) >= {"drive", "hidden", "echo"}
        window.canvas.select_wire("echo.x")
        assert "Stopped" in window.why.text() and "reconstruction" in window.why.text()
