from __future__ import annotations

import pytest

from gradwire.runtime.flow.lazy import LazySequence, known_length, looked_up, overlaid

ITEMS = tuple("abcdefgh")


class Made:
    """Counts how often the items are computed."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> tuple[str, ...]:
        self.count += 1
        return ITEMS


@pytest.fixture
def made() -> Made:
    return Made()


def lazy(made: Made) -> LazySequence[str]:
    return LazySequence(made, ITEMS[:3], ITEMS[-2:], len(ITEMS))


@pytest.mark.parametrize("step", [None, 1, 2, -1])
def test_every_slice_is_that_of_the_tuple(made, step):
    ends = (None, *range(-9, 10))
    for chosen in (slice(start, stop, step) for start in ends for stop in ends):
        assert lazy(made)[chosen] == ITEMS[chosen], chosen


@pytest.mark.parametrize("index", range(-8, 8))
def test_every_item_is_that_of_the_tuple(made, index):
    assert lazy(made)[index] == ITEMS[index]


@pytest.mark.parametrize(
    "chosen", [slice(0), slice(1), slice(3), slice(-1, None), slice(-2, None)], ids=str
)
def test_what_is_known_is_not_computed(made, chosen):
    items = lazy(made)
    assert items[chosen] == ITEMS[chosen]
    assert len(items) == known_length(items) == 8
    assert made.count == 0


@pytest.mark.parametrize(
    "chosen", [slice(4), slice(-1), slice(-3, None), slice(1, None), slice(0, 2)], ids=str
)
def test_the_rest_is_computed_once(made, chosen):
    items = lazy(made)
    assert items[chosen] == items[chosen] == ITEMS[chosen]
    assert made.count == 1


def test_without_a_count_the_length_is_computed(made):
    items = LazySequence(made)
    assert known_length(items) is None
    assert made.count == 0
    assert len(items) == 8
    assert known_length(ITEMS) == 8


def test_it_equals_its_tuple_and_nothing_else(made):
    items = lazy(made)
    assert items == ITEMS
    assert items == LazySequence(made)
    assert items != ITEMS[:-1]
    assert items != list(ITEMS)
    assert hash(items) == hash(ITEMS)
    assert repr(items) == repr(ITEMS)
    assert list(items) == list(ITEMS)


def test_an_overlay_that_is_looked_up_often_has_the_same_entries_in_a_dict():
    base = dict(zip(ITEMS, range(8), strict=True))
    changed = overlaid(base, {"b": 20})
    assert looked_up(base, 8) is base
    assert looked_up(changed, 0) is changed
    often = looked_up(changed, 8)
    assert often == {**base, "b": 20}
    assert isinstance(often, dict)
