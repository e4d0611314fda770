"""Looks that are kept are those that would be made anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state import looks
from gradwire.app.canvas.state.annotations import PageResult
from gradwire.app.canvas.state.looks import LookCache, look_of, row_counts, summary_of
from gradwire.app.evaluation.badges import Badges
from gradwire.blocks.errors import Location
from gradwire.runtime.diagram import (
    AddBlock,
    Batch,
    Connect,
    Diagnostic,
    Disconnect,
    Point,
    PortName,
    RemoveBlocks,
    SetParameters,
    StyleBlocks,
    apply,
)
from gradwire.runtime.diagram.model import Style
from gradwire.runtime.flow import Badge, BadgeKind
from tests.app.canvas.pages import block, seed, seed_result


@pytest.fixture
def scene():
    return Scene(seed(), "main")


def values(result, **changed):
    arrays = {f"{name}.out": np.array(value, np.float32) for name, value in changed.items()}
    return replace(result, values=result.values | arrays)


def numbers(result):
    return values(result, add1=[[7, 8]], mul1=[[0, 3]])


def gradient(result):
    return replace(result, gradients={"a": np.zeros((1, 2), np.float32), "b": None})


def shape(result):
    return values(result, add1=[[1, 2], [3, 4], [5, 6]])


def large(result):
    return values(result, stop1=np.arange(200.0))


def badge(result):
    return replace(result, badges=Badges({"mul1": (Badge(BadgeKind.VALUE, "mul1", "NaN"),)}))


def problem(result):
    found = Diagnostic("warning", Location("main", "mul1", "a"), "Odd.", code="odd")
    return replace(result, diagnostics=(found,))


def nothing(result):
    return None


CHANGES = [numbers, gradient, shape, large, badge, problem, nothing]


def shown(scene, result):
    page = PageResult(scene, result)
    scene.set_rows(row_counts(page))
    return page


def assert_fresh(cache, page):
    for i in range(len(page.scene.names)):
        for dimmed in (False, True):
            look = look_of(page, i, dimmed=dimmed)
            assert cache.look(page, i, dimmed=dimmed) == look
            afar = cache.plain_look(page, i, dimmed=dimmed)
            assert afar == look.plain(summary_of(page, i))


@pytest.mark.parametrize("change", CHANGES)
def test_a_look_is_as_made_anew_for_each_result(scene, change):
    cache, result = LookCache(), seed_result(scene.diagram)
    for now in (result, change(result), result):
        assert_fresh(cache, shown(scene, now))


@pytest.mark.parametrize(
    "change",
    [SetParameters("a", {"value": [[4.0, 5.0]]}), SetParameters("mul1", {"bypassed": True})],
    ids=["value", "bypass"],
)
def test_it_follows_the_blocks(scene, change):
    cache, result = LookCache(), seed_result(scene.diagram)
    assert_fresh(cache, shown(scene, result))
    edited = apply(scene.diagram, change).after
    if scene.follow_numbers(edited) is None:
        scene.update(edited)
    assert_fresh(cache, shown(scene, replace(result, diagram=edited)))


EDITS = [
    AddBlock("new", block("Add"), Point(0.0, 500.0)),
    Connect(PortName("new", "out"), PortName("add1", "a")),
    RemoveBlocks(("a",)),
    Disconnect(PortName("stop1", "x")),
    Batch("two", (RemoveBlocks(("new",)), AddBlock("b2", block("Variable"), Point(0.0, 0.0)))),
    StyleBlocks({"mul1": Style(collapsed=True)}),
]


@pytest.mark.parametrize("steps", [1, 2])
def test_it_follows_blocks_that_come_and_go(scene, steps):
    """Also where it is not asked between two edits."""
    cache, result = LookCache(), seed_result(scene.diagram)
    assert_fresh(cache, shown(scene, result))
    for number, edit in enumerate(EDITS, 1):
        scene.update(apply(scene.diagram, edit).after)
        if number % steps == 0:
            assert_fresh(cache, shown(scene, result))


def test_blocks_that_an_edit_leaves_alone_keep_their_looks(scene):
    cache, result = LookCache(), seed_result(scene.diagram)
    scene.update(apply(scene.diagram, EDITS[0]).after)
    before = PageResult(scene, result)
    known = {name: cache.look(before, i, dimmed=False) for name, i in scene.index.items()}
    scene.update(apply(scene.diagram, RemoveBlocks(("a",))).after)
    after = PageResult(scene, result)
    kept = {
        name for name, i in scene.index.items() if cache.look(after, i, dimmed=False) is known[name]
    }
    assert kept == known.keys() - {"a", "add1"}  # it was wired to


def test_one_that_shows_the_same_is_the_same_object(scene):
    cache, result = LookCache(), seed_result(scene.diagram)
    before, again = (PageResult(scene, found) for found in (result, numbers(result)))
    kept = {i: cache.look(before, i, dimmed=False) for i in range(len(scene.names))}
    changed = [i for i, look in kept.items() if cache.look(again, i, dimmed=False) is not look]
    assert changed == [scene.index["add1"]]


def test_a_look_without_numbers_is_made_once_and_for_one_look_alone(scene):
    page = PageResult(scene, seed_result(scene.diagram))
    look = look_of(page, scene.index["mul1"], dimmed=False)
    bare = look.bare()
    assert bare is look.bare() and bare is bare.bare()
    assert bare.sections == () != look.sections
    other = replace(look, head=True)
    assert other.bare() == replace(bare, head=True) != bare
    assert hash(other) != hash(look) == hash(replace(other, head=False))


@pytest.mark.parametrize("change", CHANGES)
def test_lines_are_counted_as_anew_and_only_of_what_has_another_shape(scene, change, monkeypatch):
    cache, result, counted = LookCache(), seed_result(scene.diagram), []

    def count(page, among=None):
        counted.append(page.scene.names if among is None else [page.scene.names[i] for i in among])
        return row_counts(page, among)

    monkeypatch.setattr(looks, "row_counts", count)
    for now in (result, change(result), result):
        page = PageResult(scene, now)
        found = cache.row_counts(page)
        assert found.tolist() == row_counts(page).tolist()
        scene.set_rows(found)
    assert counted[0] == scene.names
    if change is shape:
        assert counted[1:] == [["add1"], ["add1"]]
    elif change is not nothing:
        few = {name for names in counted[1:] for name in names}
        assert few < {*scene.names}


def test_lines_are_counted_anew_of_a_value_that_comes_or_goes(scene):
    cache, result = LookCache(), seed_result(scene.diagram)
    less = replace(result, values={k: v for k, v in result.values.items() if k != "mul1.out"})
    tall = replace(less, values=less.values | {"mul1.out": np.zeros((5, 2), np.float32)})
    for now in (less, tall, result, less, result):
        page = PageResult(scene, now)
        found = cache.row_counts(page)
        assert found.tolist() == row_counts(page).tolist()
        scene.set_rows(found)
