"""A diagram that is built is arranged once its positions are read, and as if it always had been."""

import copy
import pickle
from dataclasses import replace

import pytest

import gradwire as gw
from gradwire.runtime.build import build, loss, page, stop_gradient, variable
from gradwire.runtime.diagram import arrange, check, dumps
from gradwire.runtime.diagram.layout import arranging


@page
def layer(x):
    return gw.tanh(x * variable("scale", 0.5))


def built():
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(gw.sum(stop_gradient(3 * b, name="stop") + layer(layer(a)))))


@pytest.fixture
def arranged(monkeypatch):
    """The pages that have been arranged."""
    found = []
    arrangement = arranging.arrangement
    monkeypatch.setattr(
        arranging,
        "arrangement",
        lambda diagram, page: found.append(page) or arrangement(diagram, page),
    )
    return found


def test_what_is_run_checked_and_explained_is_not_arranged(arranged):
    session = gw.Session(built())
    session.backward()
    assert gw.analyse(session.program).variable("b").sentence
    assert gw.observe(session).variable("a").sentence
    assert check(session.diagram) == []
    assert arranged == []


def test_each_page_is_arranged_once_when_it_is_read(arranged):
    diagram = built()
    assert diagram.main.layout["stop"] == diagram.main.layout["stop"]
    assert diagram.main.routes and diagram.main.layout
    assert arranged == ["main"]
    assert diagram.pages["layer"].layout
    assert arranged == ["main", "layer"]


def test_it_is_what_arrange_gives(arranged):
    diagram = built()
    expected = diagram
    for name in diagram.pages:
        bare = replace(expected.pages[name], layout={}, routes={})
        expected = arrange(expected.with_page(name, bare), name)
    assert arranged == [*diagram.pages]  # by arrange itself
    assert diagram == expected and expected == diagram
    assert repr(diagram) == repr(expected)
    assert dumps(diagram) == dumps(expected)
    assert {**diagram.main.layout} == expected.main.layout


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_plain(copied):
    for mapping in (built().main.layout, built().main.routes):
        assert type(copied(mapping)) is dict
        assert copied(mapping) == mapping and len(mapping)


def test_a_position_whose_block_is_gone_is_found_although_nobody_read_it():
    diagram = built()
    blocks = {name: block for name, block in diagram.main.blocks.items() if name != "stop"}
    wires = {t: s for t, s in diagram.main.wires.items() if "stop" not in (t.block, s.block)}
    gone = diagram.with_page("main", replace(diagram.main, blocks=blocks, wires=wires))
    found = [
        (each.location.block, each.what) for each in check(gone) if each.code == "stray-layout"
    ]
    assert ("stop", "There is a position for a block that does not exist.") in found
