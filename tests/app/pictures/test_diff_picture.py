"""A picture of what changed."""

from __future__ import annotations

import pytest

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.pictures.diff_picture import ChangeSign, DiffPicture
from gradwire.app.pictures.marks import Outline, TextMark, marks_of
from gradwire.app.pictures.options import PictureOptions
from gradwire.app.services.colours import contrast
from gradwire.app.services.theme import DARK, HIGH_CONTRAST, LIGHT
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import (
    AddBlock,
    Connect,
    InsertPage,
    Point,
    PortName,
    RemoveBlocks,
    apply,
)
from gradwire.runtime.diagram import SetParameters as Set
from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.effects import effects
from tests.app.canvas.pages import seed


@pytest.fixture(autouse=True)
def application(qapp):
    """Text is measured."""


def pictured(*changes, back=False, page="main", conflicts=()):
    before = after = seed()
    for change in changes:
        after = apply(after, change).after
    if back:
        before, after = after, before
    found = diff(before, after)
    does = effects(found, analyse(before), analyse(after))
    return DiffPicture(found, does, page, evaluate(after), PictureOptions(), conflicts=conflicts)


def texts(picture):
    return [mark.text for mark in marks_of(picture) if isinstance(mark, TextMark)]


def rings(picture, sign):
    """The outlines of blocks in the colour of a sign."""
    colour = sign.colour(LIGHT).name()
    marks = [mark for mark in marks_of(picture) if isinstance(mark, Outline)]
    return [m for m in marks if (m.ink.stroke, m.ink.width) == (colour, 2.5)]


def test_what_changed_is_marked_and_explained():
    picture = pictured(Set("mul1", {"a": 5}), AddBlock("new", registry().get("Tanh")()))
    assert len(rings(picture, ChangeSign.CHANGED)) == 1
    assert len(rings(picture, ChangeSign.ADDED)) == 1
    assert not rings(picture, ChangeSign.REMOVED)
    shown = texts(picture)
    assert {"added", "changed"} <= set(shown)
    assert "removed" not in shown


def test_a_removed_block_stays_in_the_picture_beside_the_others():
    place = seed().main.layout["stop1"]
    picture = pictured(
        RemoveBlocks(["stop1"]), AddBlock("act", registry().get("Tanh")(), Point(*place))
    )
    scene = picture.view.scene
    assert "stop1" in texts(picture)
    (ring,) = rings(picture, ChangeSign.REMOVED)
    assert ring.ink.dash
    one, other = (scene.rects[scene.index[name]] for name in ("stop1", "act"))
    apart = (one[:2] >= other[:2] + other[2:]) | (other[:2] >= one[:2] + one[2:])
    assert apart.any()


def test_wires_are_marked_too():
    there = pictured(Connect(PortName("b", "out"), PortName("stop1", "x")))
    lines = [mark for mark in marks_of(there) if isinstance(mark, Outline) and not mark.ink.fill]
    for sign, dashed in ((ChangeSign.ADDED, False), (ChangeSign.REMOVED, True)):
        colour = sign.colour(LIGHT).name()
        (line,) = [m for m in lines if m.ink.stroke == colour and len(m.steps) > 10]
        assert bool(line.ink.dash) is dashed


def test_variables_say_what_happened_to_their_gradient():
    opened = Set("stop1", {"open": True})
    assert "gains gradient" in texts(pictured(opened))
    assert "loses gradient" in texts(pictured(opened, back=True))


def test_a_new_page_is_all_new_and_an_unchanged_one_has_no_marks():
    change = InsertPage("inner", seed().main)
    assert len(rings(pictured(change, page="inner"), ChangeSign.ADDED)) == len(seed().main.blocks)
    plain = pictured(change)
    assert not {"added", "removed", "changed"} & set(texts(plain))


def test_what_is_in_conflict_is_marked_so_also_where_it_is_gone():
    change = RemoveBlocks(["stop1"])
    wire, gone = PortName("add1", "b"), PortName("add1", "a")
    picture = pictured(change, conflicts=["mul1", "stop1", wire, gone])
    marked = rings(picture, ChangeSign.CONFLICT)
    assert sorted(bool(ring.ink.dash) for ring in marked) == [
        False,
        False,
        True,
    ]  # it and add1, mul1
    colour = ChangeSign.CONFLICT.colour(LIGHT).name()
    marks = [m for m in marks_of(picture) if isinstance(m, Outline) and not m.ink.fill]
    lines = [m for m in marks if (m.ink.stroke, m.ink.width) == (colour, 2.0)]
    assert len([m for m in lines if len(m.steps) > 10 and not m.ink.dash]) == 1  # into add1.b
    assert "in conflict" in texts(picture) and "in conflict" not in texts(pictured(change))


@pytest.mark.parametrize("theme", [LIGHT, DARK, HIGH_CONTRAST], ids=lambda theme: theme.name)
@pytest.mark.parametrize("sign", ChangeSign)
def test_marks_stand_out_in_every_theme(theme, sign):
    assert contrast(sign.colour(theme), theme.canvas) > 3.0
