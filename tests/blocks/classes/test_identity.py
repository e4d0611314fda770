"""Named tuples that are compared by identity."""

import pickle
from typing import NamedTuple

import numpy as np

from gradwire.blocks.classes.identity import by_identity


@by_identity
class Pair(NamedTuple):
    array: np.ndarray
    name: str = ""


def test_each_is_equal_to_itself_alone():
    array = np.arange(3.0)
    one, other, third = Pair(array), Pair(array), Pair(np.arange(3.0))
    assert one == one
    assert not one != one
    for another in (other, third, tuple(third)):
        assert one != another
        assert another != one
        assert not one == another
        assert not another == one
    assert [third, one].index(one) == 1
    assert (one, 1) == (one, 1)
    assert (one, 1) != (third, 1)


def test_it_is_a_key():
    one, other = Pair(np.arange(3.0)), Pair(np.arange(3.0))
    assert {one: 1, other: 2}[other] == 2


def test_it_is_still_a_tuple():
    array, name = made = Pair(np.arange(3.0), "x")
    assert (array is made[0], name) == (True, "x")
    assert made._replace(name="y").name == "y"
    assert pickle.loads(pickle.dumps(made)).name == "x"
