"""Large parts are laid out coarsely: nothing overlaps, and time grows with their size alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, Page, PortName
from gradwire.runtime.diagram.layout.arranging import arrangement
from gradwire.runtime.diagram.layout.frames import compound
from gradwire.runtime.diagram.layout.measures import WIDTH
from gradwire.runtime.diagram.layout.placing import stretches
from tests.runtime.diagram.layout.test_arranging import (
    arrange,
    chain,
    height,
    overlapping,
    port_height,
)
from tests.strategies import broken_diagrams, pages


@pytest.fixture(autouse=True, scope="module")
def everything_is_large():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compound, "LARGE", 1)
        yield


@given(pages() | broken_diagrams().map(lambda d: next(iter(d.pages.values()), Page())))
def test_every_block_has_a_place_of_its_own_always_the_same(content):
    places = arrange(content)
    assert list(places) == list(content.blocks)
    assert overlapping(content, places) == []
    assert arrange(Page(content.blocks, content.wires)) == places


@given(pages())
def test_frames_and_notes_are_laid_out_around(content):
    arrangement(Diagram({"main": content}), "main")


def test_a_long_chain_is_folded_into_rows_read_like_a_text():
    content = chain(400)
    places = arrange(content)
    order = [places[name] for name in content.blocks]
    breaks = [(one, next_) for one, next_ in pairwise(order) if next_.x <= one.x]
    assert 5 < len(breaks) < 60
    assert all(next_.x == 0 and next_.y > one.y for one, next_ in breaks)
    width, height = max(at.x for at in order), max(at.y for at in order)
    assert 1.0 < width / height < 2.5


def test_wires_between_rows_pass_behind_no_block():
    content = chain(100)
    found = arrangement(Diagram({"main": Page(content.blocks, content.wires)}), "main")
    assert len(found.routes) > 3
    boxes = [(x, y, x + WIDTH, y + height(content, name)) for name, (x, y) in found.places.items()]
    for target, route in found.routes.items():
        begin, end = found.places[content.wires[target].block], found.places[target.block]
        corners = [(begin.x + WIDTH, port_height(content, found.places, content.wires[target]))]
        for i, place in enumerate(route):
            x, y = corners[-1]
            corners.append((x, place) if i % 2 else (place, y))
        last = port_height(content, found.places, target)
        corners += [(corners[-1][0], last), (end.x, last)]
        for left, top, right, bottom in stretches(corners):
            for box in boxes:
                assert not (left < box[2] and right > box[0] and top < box[3] and bottom > box[1])


def test_the_order_of_a_column_follows_what_its_blocks_read():
    """Two bundles of wires, written in opposite orders, run side by side."""
    get, count = registry().get, 30
    blocks = {f"v{i}": get("Variable")(value=[1.0]) for i in range(count)}
    blocks |= {f"t{i}": get("Tanh")() for i in reversed(range(count))}
    blocks["sum"] = get("AddN")()
    wires = {PortName(f"t{i}", "x"): PortName(f"v{i}", "out") for i in range(count)}
    wires |= {PortName("sum", f"terms.{i}"): PortName(f"t{i}", "out") for i in range(count)}
    places = arrange(Page(blocks, wires))
    first = [places[f"v{i}"].y for i in range(count)]
    second = [places[f"t{i}"].y for i in range(count)]
    crossings = sum(
        (first[i] - first[j]) * (second[i] - second[j]) < 0 for i in range(count) for j in range(i)
    )
    assert crossings == 0


def test_a_part_of_many_wires_is_large(monkeypatch):
    drawn = []
    monkeypatch.setattr(compound, "LARGE", 100)
    monkeypatch.setattr(compound, "MANY_WIRES", 8)
    usual = compound.draw_coarsely
    monkeypatch.setattr(compound, "draw_coarsely", lambda *a: drawn.append(a) or usual(*a))
    few, many = chain(5), chain(12)
    arrange(few)
    assert not drawn and len(few.wires) <= 8
    arrange(many)
    assert drawn and len(many.blocks) < 100
