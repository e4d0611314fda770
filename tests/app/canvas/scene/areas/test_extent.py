"""The bounds around a page are found again from what has moved alone."""

import numpy as np

from gradwire.app.canvas.scene import spatial_index
from gradwire.app.canvas.scene.arrays import around_sides
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.spatial_index import Extent
from tests.benchmarks.diagrams import diagram_of


def test_bounds_are_those_around_all_while_some_move(monkeypatch):
    monkeypatch.setattr(spatial_index, "_PIECE", 8)
    chance = np.random.default_rng(0)
    sides = np.sort(chance.uniform(-900.0, 900.0, (50, 4)), axis=1)
    counts = chance.random(50) < 0.5
    found = Extent(lambda some: sides[some][counts[some]])
    for _ in range(40):
        moved = chance.choice(50, 3)
        sides[moved] = np.sort(chance.uniform(-1000.0, 1000.0, (3, 4)), axis=1)
        counts[moved] = chance.random(3) < 0.5
        found.move(moved)
        assert found.of(50)[0].tolist() == around_sides(sides[counts]).tolist()
    counts[:] = False
    found.forget()
    assert found.of(50).shape == found.of(0).shape == (0, 4)


def test_what_moved_before_all_are_gone_is_forgotten():
    """As the only wire of a page, moved and then deleted before anything asked for the bounds."""
    found = Extent(lambda some: np.zeros((3, 4))[some])
    assert len(found.of(3)) == 1
    found.move(np.array([2]))
    found.forget()
    assert len(found.of(0)) == 0


def test_a_moved_block_costs_a_look_at_its_piece_alone(monkeypatch):
    monkeypatch.setattr(spatial_index, "_PIECE", 16)
    looked, find = [], Scene.squares_in
    monkeypatch.setattr(
        Scene, "squares_in", lambda self, some: looked.append(some.start) or find(self, some)
    )
    scene = Scene(diagram_of(200), "main")
    scene.bounds()
    looked.clear()
    scene.place(np.array([60]), np.array([[5_000.0, 40.0]]))
    assert scene.bounds()[2] >= 5_160.0
    wires = scene.wires_of(np.array([60]))
    assert sorted(looked) == sorted({16 * (wire // 16) for wire in wires.tolist()})
