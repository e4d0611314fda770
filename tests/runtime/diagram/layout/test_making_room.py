from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.diagram.layout.making_room import nearest_vacancy, push_aside


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


def cleared(settled: list[np.ndarray], group: list[np.ndarray]) -> float:
    """How far a group goes to the right, by steps of the grid, until it is clear of the others."""
    far = 0.0
    while True:
        ends = [
            (x + w) - (left + far)
            for left, top, width, height in group
            for x, y, w, h in settled
            if x < (left + far) + width + 10.0 and x + w > (left + far) - 10.0
            and y < top + height + 10.0 and y + h > top - 10.0
        ]  # fmt: skip
        if not ends:
            return far
        far += np.ceil((max(ends) + 20.0) / 10.0) * 10.0


def pushed_one_by_one(blocks: np.ndarray, new: list[int], following: list[int]) -> np.ndarray:
    """What ``push_aside`` computes, by comparing every block with every other one."""
    shifts, group = np.zeros(len(blocks)), blocks[new]
    centre = (group[:, 0].min() + (group[:, 0] + group[:, 2]).max()) / 2.0
    others = [i for i in range(len(blocks)) if i not in new]
    before = [blocks[i] for i in others if blocks[i, 0] + blocks[i, 2] / 2.0 < centre]
    shifts[new] = cleared(before, list(group))

    def now(number: int) -> np.ndarray:
        return blocks[number] + np.array([shifts[number], 0.0, 0.0, 0.0])

    came = [now(i) for i in new]
    after = [i for i in others if i in following]
    covered = [blocks[i, 0] for i in after if cleared(came, [blocks[i]])]
    after = [i for i in after if covered and blocks[i, 0] >= min(covered)]
    if after:
        shifts[after] = cleared(came, [blocks[i] for i in after])
        came += [now(i) for i in after]
    for i in sorted(set(others) - set(after), key=lambda i: (blocks[i, 0], i)):
        shifts[i] = cleared(came, [blocks[i]])
        if shifts[i]:
            came.append(now(i))
    return shifts


@pytest.mark.parametrize("spread", [300.0, 900.0, 3000.0])
@pytest.mark.parametrize("seed", range(12))
def test_looking_at_neighbours_only_moves_what_comparing_all_does(seed, spread):
    rng = np.random.default_rng(seed)
    count, few = int(rng.integers(2, 60)), int(rng.integers(1, 20))
    corners = rng.integers(-spread, spread, (count, 2)).astype(float)
    sizes = rng.choice([52.0, 160.0, 400.0, 900.0], (count, 2), p=[0.4, 0.4, 0.15, 0.05])
    blocks, order = np.concatenate([corners, sizes], axis=1), rng.permutation(count).tolist()
    new, following = order[:few], order[few // 2 : int(rng.integers(count))]
    shifts = push_aside(blocks, new, following)
    np.testing.assert_array_equal(shifts, pushed_one_by_one(blocks, sorted(new), following))


def test_what_follows_is_only_asked_for_where_it_matters():
    def unknown():
        raise AssertionError("nothing is covered")
        yield 0

    assert not push_aside(rects((0, 0), (240, 0)), [1], unknown()).any()


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
