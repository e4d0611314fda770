"""A scene that follows edits is the one that its diagram has from the start."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from app.canvas.scene.geometry import Scene
from blocks.errors import ChangeError
from runtime.diagram import apply
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
    np.testing.assert_array_equal(scene.partings(everything), fresh.partings(everything))
    for number in range(len(scene.names)):
        one, other = (each.wires_of(np.array([number])) for each in (scene, fresh))
        assert one.tolist() == other.tolist()
    assert scene.bounds() is None or scene.bounds().tolist() == fresh.bounds().tolist()


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
