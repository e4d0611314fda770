"""A scene that follows edits is the one that its diagram has from the start."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.members import Members
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import (
    AddBlock,
    Connect,
    Disconnect,
    Point,
    PortName,
    RemoveBlocks,
    SetParameters,
    apply,
)
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.scene.moving.chance import drawn, edit

ARRAYS = (
    "rects", "least_rows", "is_collapsed", "first_port", "port_rows", "port_block",
    "port_is_input", "is_driven", "wire_blocks", "wire_ports", "wire_ends", "wire_bounds",
    "bends", "bend_counts", "bend_wire",
)  # fmt: skip


def assert_same(scene: Scene, fresh: Scene) -> None:
    fresh.set_rows(scene.rows)
    for each in (scene, fresh):
        while not each.is_refined():
            each.refine()
    assert (scene.names, scene.wire_keys) == (fresh.names, fresh.wire_keys)
    assert (scene.index, scene.wire_index) == (fresh.index, fresh.wire_index)
    assert all(one is other for one, other in zip(scene.blocks, fresh.blocks, strict=True))
    for one, other in zip(scene.slots, fresh.slots, strict=True):
        assert (one.inputs, one.outputs, one.free) == (other.inputs, other.outputs, other.free)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(scene, name), getattr(fresh, name), name)
    everything = np.arange(len(scene.wire_keys))
    np.testing.assert_array_equal(scene.fork_points(everything), fresh.fork_points(everything))
    for number in range(len(scene.names)):
        one, other = (each.wires_of(np.array([number])) for each in (scene, fresh))
        assert one.tolist() == other.tolist()
    assert scene.bounds() is None or scene.bounds().tolist() == fresh.bounds().tolist()


@pytest.mark.night
@pytest.mark.parametrize("seed", range(8))
def test_many_edits_leave_what_the_diagram_has_from_the_start(seed):
    random = Random(seed)
    shown = drawn(random, random.choice([12, 30, 50]))
    scene, history, made = Scene(shown, "main"), [shown], set()
    for number in range(120):
        try:
            change = edit(random, history[-1], number)
            after = apply(history[-1], change).after
        except ChangeError:
            continue
        made.add(type(change))
        history.append(after)
        if random.random() < 0.2:  # as many undos at once
            history.append(random.choice(history))
        if not history[-1].main.blocks:
            history.append(shown)
        scene.update(history[-1])
        assert_same(scene, Scene(history[-1], "main"))
    assert len(made) > 5


@pytest.mark.parametrize(
    "change",
    [
        AddBlock("new", block("Tanh"), Point(900.0, 300.0)),
        RemoveBlocks(("b3", "b7")),
        Connect(PortName("b0", "out"), PortName("sum", "terms.2")),
        Disconnect(PortName("sum", "terms.0")),
        SetParameters("b1", {"trainable": False}),
    ],
    ids=["add", "remove", "connect", "disconnect", "set"],
)
def test_of_a_small_edit_only_its_blocks_and_wires_are_read(change, monkeypatch):
    blocks = {f"b{i}": block("Variable") for i in range(12)} | {"sum": block("AddN")}
    wires = {"sum.terms.0": "b1.out", "sum.terms.1": "b2.out"}
    places = {name: Point(240.0 * i, 0.0) for i, name in enumerate(blocks)}
    shown = diagram(blocks, wires, places)
    scene, after = Scene(shown, "main"), apply(shown, change).after
    with monkeypatch.context() as patch:
        patch.delattr(Members, "_read_blocks")
        assert not scene.update(after)
    assert_same(scene, Scene(after, "main"))


def test_a_wire_of_no_port_is_read_with_the_whole_page():
    shown = diagram({"a": block("Variable"), "b": block("Tanh")}, {}, {"a": (0, 0), "b": (300, 0)})
    odd = diagram(dict(shown.main.blocks), {"b.none": "a.out"}, {"a": (0, 0), "b": (300, 0)})
    scene = Scene(shown, "main")
    scene.update(odd)
    assert scene.wire_keys == ["b.none"]
    assert_same(scene, Scene(odd, "main"))
