"""Blocks after an edit that is not made yet lie where the page made anew has them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from gradwire.app.canvas.input.spacing import LINES, Upcoming
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput
from gradwire.runtime.diagram import AddBlock, Batch, Connect, Diagram, Page, Point, PortName, apply
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.scene.moving.chance import drawn, edit


def assert_foreseen(scene: Scene, after: Diagram) -> None:
    anew = Scene(after, "main")
    known = dict(zip(scene.names, scene.rows.tolist(), strict=True))
    rows = np.array([known.get(name, LINES) for name in anew.names], np.int32)
    anew.set_rows(np.maximum(rows, anew.least_rows))
    upcoming = Upcoming(scene, after)
    assert upcoming.names == anew.names
    np.testing.assert_array_equal(upcoming.rects, anew.rects)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(6))
def test_an_edit_is_foreseen(seed):
    random = Random(seed)
    shown, seen = drawn(random, random.choice([5, 15])), 0
    for number in range(80):
        scene = Scene(shown, "main")
        rows = [max(1, least + random.choice([-1, 0, 0, 3])) for least in scene.least_rows.tolist()]
        scene.set_rows(np.array(rows, np.int32))
        try:
            changes = [edit(random, shown, 2 * number + i) for i in range(random.choice([1, 2]))]
            after = apply(shown, Batch("Edit", tuple(changes))).after
        except ChangeError:
            continue
        assert_foreseen(scene, after)
        seen += 1
        shown = after if after.main.blocks else shown
    assert seen > 10


def test_a_new_term_makes_its_block_higher():
    wires = {f"sum.terms.{i}": "w.out" for i in range(6)}
    blocks = {"w": block("Variable"), "sum": block("AddN")}
    shown = diagram(blocks, wires, {"w": (0, 0), "sum": (300, 0)})
    more = Connect(PortName("w", "out"), PortName("sum", "terms.6"))
    new = AddBlock("new", block("Tanh"), Point(600.0, 0.0))
    assert_foreseen(Scene(shown, "main"), apply(shown, Batch("Edit", (more, new))).after)


def test_a_use_of_a_page_that_has_changed_is_measured_anew():
    def using(inputs: int) -> Diagram:
        inner = Page({f"x{i}": PageInput() for i in range(inputs)})
        page = Page({"use": PageBlock(page="inner")}, {}, {"use": Point(0.0, 0.0)})
        return Diagram({"main": page, "inner": inner})

    few, many = using(1), using(9)
    after = replace(many, pages={**many.pages, "main": few.main})
    assert_foreseen(Scene(few, "main"), after)


def test_blocks_without_a_place_lie_below_the_others():
    shown = diagram({"a": block("Tanh"), "b": block("Tanh")}, {}, {"a": (40, 60)})
    after = apply(shown, AddBlock("c", block("Tanh"), Point(0.0, 300.0))).after
    assert_foreseen(Scene(shown, "main"), after)
