from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.diagram.layout.making_room import nearest_vacancy, push_aside


def rects(*corners: tuple[float, float]) -> np.ndarray:
    """Blocks of 160 × 52 with these corners."""
    return np.array([[x, y, 160.0, 52.0] for x, y in corners])


def covers(blocks: np.ndarray) -> set[tuple[int, int]]:
    """Pairs of blocks that cover each other."""
    low, high = blocks[:, :2], blocks[:, :2] + blocks[:, 2:]
    found = (low[:, None] < high[None]).all(axis=2) & (high[:, None] > low[None]).all(axis=2)
    return {(i, j) for i, j in np.argwhere(found).tolist() if i < j}


def test_nothing_moves_where_there_is_room():
    blocks = rects((0, 0), (240, 0), (480, 0))
    assert push_aside(blocks, [1], [2]).tolist() == [0.0, 0.0, 0.0]
    assert push_aside(blocks, []).tolist() == [0.0, 0.0, 0.0]


def test_everything_that_follows_moves_alike():
    blocks = rects((0, 0), (200, 0), (240, 0), (480, 0), (480, 200), (240, 200))
    assert push_aside(blocks, [1], [2, 3, 4]).tolist() == [0, 0, 140, 140, 140, 0]


def test_a_new_block_moves_on_past_what_comes_before():
    blocks = rects((0, 0), (100, 0), (240, 0))
    assert push_aside(blocks, [1], [2]).tolist() == [0, 80, 120]


def test_what_follows_to_the_left_of_what_is_covered_stays():
    blocks = rects((0, 0), (200, 0), (240, 0), (0, 200))
    assert push_aside(blocks, [1], [2, 3]).tolist() == [0, 0, 140, 0]


def test_what_follows_moves_past_all_new_blocks():
    blocks = rects((0, 0), (0, 0), (0, 0), (50, 0), (0, 0), (0, 0), (25, 0))
    blocks[:, 0] += push_aside(blocks, [0, 3], [1, 2, 6])
    assert not {(0, 6), (3, 6)} & covers(blocks)
    blocks = rects((0, 0), (400, 0), (350, 300), (170, 0))
    blocks[:, 0] += push_aside(blocks, [0, 1, 2], [3])
    assert not covers(blocks)


def test_blocks_that_are_pushed_push_others():
    blocks = rects((0, 0), (100, 0), (300, 0), (700, 0))
    assert push_aside(blocks, [0]).tolist() == [0, 80, 60, 0]


def test_blocks_that_cover_each_other_already_stay():
    blocks = rects((0, 0), (1000, 0), (1010, 5))
    assert push_aside(blocks, [0]).tolist() == [0, 0, 0]


def test_a_group_keeps_its_form():
    blocks = rects((0, 0), (240, 0), (100, 10), (340, 10))
    shifts = push_aside(blocks, [2, 3])
    assert shifts[2] == shifts[3]
    blocks[:, 0] += shifts
    assert not covers(blocks)


places = st.tuples(st.integers(0, 40).map(lambda x: 25.0 * x), st.integers(0, 8).map(float))


@given(st.lists(places, min_size=1, max_size=12), st.data())
def test_new_blocks_cover_nothing_and_nothing_is_covered_anew(corners, data):
    blocks = rects(*[(x, 30.0 * y) for x, y in corners])
    numbers = st.integers(0, len(blocks) - 1)
    new = data.draw(st.sets(numbers, min_size=1, max_size=3))
    following = data.draw(st.sets(numbers))
    shifts = push_aside(blocks, new, following)
    moved = blocks.copy()
    moved[:, 0] += shifts
    assert (shifts >= 0).all() and (shifts % 10.0 == 0).all()
    assert len({shifts[i] for i in new}) == 1
    inside = {(i, j) for i, j in covers(blocks) if {i, j} <= new or not {i, j} & new}
    assert covers(moved) <= inside


@given(st.lists(places, max_size=12), st.lists(places, min_size=1, max_size=3))
def test_a_vacancy_is_free_and_not_farther_than_needed(corners, group):
    blocks = rects(*[(x, 30.0 * y) for x, y in corners]).reshape(-1, 4)
    new = rects(*[(x, 30.0 * y) for x, y in group])
    move = nearest_vacancy(blocks, new)
    assert (move == 0.0).sum() >= 1
    moved = new.copy()
    moved[:, :2] += move
    joint = covers(np.vstack([blocks, moved]))
    assert not any(i < len(blocks) <= j for i, j in joint)


def test_the_nearest_vacancy_is_below_a_row_and_beside_a_column():
    row = rects((0, 0), (200, 0), (400, 0))
    assert nearest_vacancy(row, rects((200, 10))).tolist() == [0.0, 70.0]
    column = rects((0, 0), (0, 80), (0, 160))
    assert nearest_vacancy(column, rects((100, 80))).tolist() == [80.0, 0.0]


def test_large_groups_move_as_one():
    blocks = rects(*[(240.0 * (i % 20), 80.0 * (i // 20)) for i in range(400)])
    both = np.vstack([blocks, blocks + np.array([30, 30, 0, 0])])
    shifts = push_aside(both, range(400, 800))
    assert len(set(shifts[400:].tolist())) == 1
    both[:, 0] += shifts
    assert not covers(both)
