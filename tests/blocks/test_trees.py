"""Trees as data: parts, selections, sequences stacked, structures compared."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.blocks.errors import TraceError
from gradwire.blocks.trees import Kind, Passive, Tree, joined, passive, stacked


def tree(data: Any) -> Tree:
    """Nested dicts and lists as a tree, whose arrays are Python floats."""

    def node(item: Any) -> Any:
        return tree(item) if isinstance(item, dict | list) else item

    items = data.items() if isinstance(data, dict) else enumerate(data)
    kind = Kind.MAPPING if isinstance(data, dict) else Kind.SEQUENCE
    return joined(
        kind,
        [((k,), node(v) if isinstance(v, dict | list | float) else Passive(v)) for k, v in items],
    )


DATA = {"enc": {"w": 1.0, "b": [2.0, 3.0], "name": "x"}, "dec": 4.0, "none": None, "empty": {}}


def test_plain_gives_back_the_structure_and_its_order() -> None:
    plain = tree(DATA).plain()
    assert plain == DATA
    assert list(plain) == list(DATA)
    assert tree([DATA, [], [1.0]]).plain() == [DATA, [], [1.0]]


def test_arrays_are_the_leaves_that_are_not_passive() -> None:
    made = tree(DATA)
    assert list(made.arrays) == [("enc", "w"), ("enc", "b", 0), ("enc", "b", 1), ("dec",)]
    assert set(made.leaves) - set(made.arrays) == {("enc", "name"), ("none",)}


def test_a_part_is_an_array_or_a_tree() -> None:
    made = tree(DATA)
    assert made.at("enc/b/1") == 3.0
    assert made.at("enc/b").plain() == [2.0, 3.0]
    assert made.at("").plain() == DATA
    assert made.at("enc/name").plain() == "x"
    assert made.at("none").nodes == {(): Passive(None)}


def test_a_part_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(TraceError, match=r"nothing at 'enc/x'.*Did you mean") as caught:
        tree(DATA).at("enc/x")
    assert "enc/w" in str(caught.value)


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        ({("dec",)}, {"dec": 4.0, "empty": {}}),
        ({("enc", "b", 1), ("none",)}, {"enc": {"b": [3.0]}, "none": None, "empty": {}}),
        (set(), {"empty": {}}),
    ],
)
def test_a_selection_drops_containers_it_empties_and_closes_sequences_up(
    kept: set[Any], left: Any
) -> None:
    assert tree(DATA).selected(kept.__contains__).plain() == left


def test_a_container_empty_from_the_start_goes_with_its_parent() -> None:
    made = tree({"a": {"b": {}, "c": 1.0}, "d": [[1.0], [], [2.0]]})
    assert made.selected(lambda path: path == ("d", 2, 0)).plain() == {"d": [[], [2.0]]}


def test_structures_are_compared_in_words() -> None:
    first = tree({"a": 1.0, "b": {"c": 2.0}, "n": "x"})
    assert first.difference(tree({"n": "x", "b": {"c": 5.0}, "a": 0.0})) is None
    told = first.difference(tree({"a": [1.0], "b": {}, "n": "y"})) or ""
    assert "the first has no a/0" in told
    assert "the second has no b/c" in told
    assert "a is an array in the first and a sequence in the second" in told
    assert "n is 'x' in the first and 'y' in the second" in told


@pytest.mark.parametrize(
    ("data", "result"),
    [
        ({"l": [1.0, 2.0]}, {"l": (1.0, 2.0)}),
        ({"l": [[1.0], [2.0]]}, {"l": ((1.0,), (2.0,))}),
        ({"l": [1.0, None]}, {"l": [1.0, None]}),
        ({"l": [[1.0], {"a": 2.0}]}, {"l": [(1.0,), {"a": 2.0}]}),
        ({"l": []}, {"l": []}),
        ([1.0, 2.0], (1.0, 2.0)),
    ],
)
def test_sequences_of_arrays_stack_from_the_inside(data: Any, result: Any) -> None:
    assert stacked(tree(data), lambda _: True, tuple).plain() == result


def test_only_chosen_sequences_stack() -> None:
    made = stacked(tree({"l": [1.0], "m": [2.0]}), lambda path: path == ("m",), tuple)
    assert made.plain() == {"l": [1.0], "m": (2.0,)}


def test_passive_data_becomes_trees_of_passive_leaves() -> None:
    made = passive({"a": [None, "x", 1.5], "b": {}, "c": True})
    assert not made.arrays
    assert made.plain() == {"a": [None, "x", 1.5], "b": {}, "c": True}
    with pytest.raises(TypeError, match="a set can't be a leaf"):
        passive({"a": {1}})
