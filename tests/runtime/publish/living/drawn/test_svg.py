"""The still picture of a page's data."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape, unescape
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gradwire.runtime.build import block, build, loss, stop_gradient, variable
from gradwire.runtime.diagram import load
from gradwire.runtime.diagram.lesson import Lesson, PredictStep
from gradwire.runtime.diagram.model import Diagram, Note, Point
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.lessons.expressions.goals import asked_in
from gradwire.runtime.publish.living.drawn.picture import pictures
from gradwire.runtime.publish.living.drawn.svg import svg
from gradwire.runtime.publish.living.publishing import still

LESSONS = sorted(Path(str(files("gradwire.assets") / "lessons")).glob("*.gradwire.json"))
SVG = "{http://www.w3.org/2000/svg}"


def diagram(**changes: Any) -> Diagram:
    w = variable("w", 3.0)
    made = build(loss(w * stop_gradient(w)))
    return made.with_page("main", replace(made.main, **changes))


def drawn(made: Diagram, states: dict[str, str]) -> ElementTree.Element:
    picture = svg(made.title, pictures(made, lower(made)), states)
    return ElementTree.fromstring(picture)


def test_it_has_every_block_and_wire_and_the_state_of_each() -> None:
    made = diagram()
    first, *others = [f"{target.block}.{target.port}" for target in made.main.wires]
    found = drawn(made, {first: "NO RULE"} | dict.fromkeys(others, "CARRIES"))
    texts = [text.text for text in found.iter(f"{SVG}text")]
    assert set(made.main.blocks) <= set(texts)
    assert [span.text for span in found.iter(f"{SVG}tspan")] == ["∅"]
    drawn_as = {path.get("class"): path.get("d", "") for path in found.iter(f"{SVG}path")}
    assert drawn_as["wire"].count("M") == len(made.main.wires)
    assert drawn_as["lane form-dash-dot role-cut"].count("M") == 1
    lanes_and_heads = 2 * len(others)
    assert drawn_as["lane form-solid role-gradient"].count("M") == lanes_and_heads


def test_all_of_it_is_inside_the_picture() -> None:
    frame = Note("far <away>", Point(-500.0, 90.0), 100.0, 40.0, frame=True)
    found = drawn(diagram(notes={"1": frame}), {})
    left, top, width, height = map(float, found.get("viewBox", "").split())
    ground, *boxes = found.iter(f"{SVG}rect")
    assert [float(ground.get(key, "")) for key in ("x", "y", "width", "height")] == [
        left, top, width, height,
    ]  # fmt: skip
    for box in boxes:
        x, y, wide, high = (float(box.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert left < x and x + wide < left + width
        assert top < y and y + high < top + height
    assert any(text.text == "far <away>" for text in found.iter(f"{SVG}text"))


def test_viewers_without_the_style_of_the_page_paint_nothing_black() -> None:
    """Without a colour of its own SVG is black: the ground, faces, notes and frames have one."""
    notes = {
        "1": Note("a note", Point(-500.0, 90.0), 100.0, 40.0),
        "2": Note("a frame", Point(-300.0, 90.0), 100.0, 40.0, frame=True),
    }
    boxes = [*drawn(diagram(notes=notes), {}).iter(f"{SVG}rect")]
    fills = [box.get("fill") for box in boxes]
    assert fills[0] == "#fff" and fills.count("none") == 1 and "#ffe" in fills
    assert all(fill == "none" or (fill and min(fill[1:]) >= "e") for fill in fills)


def test_long_notes_are_broken_into_lines() -> None:
    found = drawn(diagram(notes={"1": Note("word " * 40, Point(0.0, 400.0), 200.0, 90.0)}), {})
    lines = [text.text or "" for text in found.iter(f"{SVG}text")]
    assert 2 <= sum("word word" in line for line in lines) <= 5


def test_nothing_is_filled_by_default_and_faces_have_numbers() -> None:
    found = ElementTree.fromstring(still(diagram()))
    groups = [group for group in found.iter(f"{SVG}g") if group.find(f"{SVG}path") is not None]
    assert groups and {group.get("fill") for group in groups} == {"none"}
    texts = [text.text for text in found.iter(f"{SVG}text")]
    assert "9" in texts and "3" in texts and "∇ 3" in texts


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('w gets {grad("w")}', "w gets 6"),
        ('{value("nowhere")} is lost', '{value("nowhere")} is lost'),
    ],
)
def test_notes_and_titles_of_frames_state_numbers(text: str, shown: str, *, frame: bool) -> None:
    w = variable("w", 3.0)
    made = build(loss(w * w, name="loss"))
    note = Note(text, Point(0.0, 200.0), 400.0, 80.0, frame)
    picture = still(made.with_page("main", replace(made.main, notes={"n": note})))
    assert escape(shown) in picture


def test_notes_of_what_cannot_run_show_what_was_written() -> None:
    made = build(loss(block("Add", variable("w", 3.0)), name="loss"))
    note = Note('w gets {grad("w")}', Point(0.0, 200.0), 400.0, 80.0)
    picture = still(made.with_page("main", replace(made.main, notes={"n": note})))
    assert escape(note.text) in picture


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name.partition(".")[0])
def test_the_picture_of_a_lesson_has_no_gradient_and_nothing_that_is_asked_for(path):
    lesson = load(path)
    picture, asked = still(lesson), asked_in(lesson.lesson)
    assert "gradients" in asked
    assert "∇" not in unescape(re.sub("<[^>]+>", " ", picture))
    assert ("states" in asked) != ("role-" in picture)
    bare = still(replace(lesson, lesson=None))
    assert "role-" in bare and "∇ " in unescape(bare)
    ends = [picture.count('class="end"') for picture in (picture, bare)]
    assert ends[0] < ends[1]


def test_an_open_note_of_a_lesson_shows_no_number():
    note = Note("It is {grad('w')}.", Point(0.0, 200.0), 200.0, 40.0)
    made = replace(diagram(notes={"n": note}), lesson=Lesson(steps=[PredictStep(gradient="w")]))
    assert "It is …." in still(made)
    assert "It is …." not in still(replace(made, lesson=None))
