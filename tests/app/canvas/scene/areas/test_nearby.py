"""Areas find the same rectangles by a grid as by looking at all."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.app.canvas.scene import spatial_index
from gradwire.app.canvas.scene.arrays import crossing, overlapping
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.members import changes_of
from gradwire.app.canvas.scene.spatial_index import near_blocks, near_wires
from tests.benchmarks.diagrams import diagram_of

OVERHANG = np.array([-12.0, -12.0, 12.0, 12.0])


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A grid is made at once, also of few rectangles."""
    monkeypatch.setattr(spatial_index, "_LARGE", 0)
    monkeypatch.setattr(spatial_index, "_OFTEN", 0)


def areas(chance, count=40):
    corners = chance.uniform(-6000.0, 6000.0, (count, 2))
    sizes = chance.choice([0.0, 10.0, 700.0, 4000.0, 40_000.0], (count, 2))
    return np.concatenate([corners, corners + sizes], axis=1)


def rects(chance, count):
    sizes = chance.choice(
        [0.0, 80.0, 160.0, 3000.0, 20_000.0], (count, 2), p=[0.1, 0.4, 0.3, 0.1, 0.1]
    )
    return np.concatenate(
        [np.round(chance.uniform(-5000.0, 5000.0, (count, 2)), -1), sizes], axis=1
    )


@pytest.mark.parametrize("count", [1, 30, 800])
def test_a_grid_finds_what_touches_an_area_also_after_some_have_moved(count):
    chance = np.random.default_rng(count)
    shown, found = rects(chance, count), near_blocks()
    for _ in range(6):
        for area in areas(chance):
            assert found.of(shown, area).tolist() == overlapping(shown, area).tolist()
        moved = chance.choice(count, max(1, count // 30))
        shown[moved] = rects(chance, len(moved))
        found.move(moved, shown[moved])
    assert found._grid is not None or count == 1


def test_what_is_nowhere_or_far_away_is_not_lost():
    sides = np.array([[np.nan] * 4, [1e12, 0.0, 1e12 + 5.0, 5.0], [0.0, 0.0, 1.0, 1.0]])
    found = near_wires()
    for area in ((0.0, 0.0, 9.0, 9.0), (1e12 - 1.0, 0.0, 1e12 + 1.0, 9.0), (-9.0, -9.0, 0.0, 0.0)):
        at = np.array(area)
        assert found.of(sides, at).tolist() == crossing(sides, at).tolist()


def test_a_grid_is_made_anew_once_many_have_moved():
    chance = np.random.default_rng(1)
    shown, found = rects(chance, 100), near_blocks()
    area = np.array([0.0, 0.0, 500.0, 500.0])
    found.of(shown, area)
    first = found._grid
    found.move(np.arange(3), shown[:3])
    found.of(shown, area)
    assert found._grid is first
    found.move(np.arange(90), shown[:90])
    found.of(shown, area)
    assert found._grid is not first


def test_a_scene_finds_blocks_and_wires_while_they_move():
    scene, chance = Scene(diagram_of(300), "main"), np.random.default_rng(0)
    for _ in range(12):
        block = np.array([chance.integers(len(scene.names))])
        scene.place(block, chance.uniform(0.0, 2500.0, (1, 2)))
        scene.refine(20)
        low = chance.uniform(0.0, 2500.0, 2)
        area = np.array([*low, *(low + 400.0)])
        beside = area + OVERHANG
        assert scene.blocks_in(area).tolist() == overlapping(scene.rects, beside).tolist()
        assert scene.wires_in(area).tolist() == crossing(scene.wire_bounds, area).tolist()
    scene.set_rows(scene.rows + 3)
    for area in areas(chance):
        beside = area + OVERHANG
        assert scene.blocks_in(area).tolist() == overlapping(scene.rects, beside).tolist()
        assert scene.wires_in(area).tolist() == crossing(scene.wire_bounds, area).tolist()


def test_a_grid_follows_what_comes_and_goes():
    chance = np.random.default_rng(2)
    shown, found, keys = rects(chance, 200), near_wires(), list(range(200))
    shown[:, 2:] += shown[:, :2]
    found.of(shown, areas(chance, 1)[0])
    first, moved = found._grid, np.arange(0, 200, 50)
    shown[moved] = np.sort(shown[moved] + 300.0, axis=1)
    found.move(moved, shown[moved])
    for step in range(6):
        kept = [key for key in keys if chance.random() < 0.97]
        kept.insert(int(chance.integers(len(kept) + 1)), 1000 + step)
        changes = changes_of(dict.fromkeys(keys, 0), dict.fromkeys(kept, 0))
        found.renumber(changes)
        shown, keys = changes.rows(shown, np.nan), kept
        new = np.flatnonzero(changes.before < 0)
        shown[new] = np.sort(chance.uniform(-5000.0, 5000.0, (len(new), 4)), axis=1)
        found.move(new, shown[new])
        for area in areas(chance):
            assert found.of(shown, area).tolist() == crossing(shown, area).tolist()
    assert found._grid is first
