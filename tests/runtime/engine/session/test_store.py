"""Values that are set again and again, and the program that is right for them."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import FeedError


def summed() -> gw.Session:
    x = gw.input("x", shape=[None])
    return gw.Session(gw.build(gw.loss(gw.sum(gw.square(x)), name="loss")))


def loss_of(session: gw.Session) -> float:
    return float(session.backward().values["loss.out"])


def test_an_array_like_the_one_before_is_copied_too() -> None:
    session = summed()
    session.set("x", np.ones(3, np.float32))
    given = np.full(3, 2, np.float32)
    session.set("x", given)
    run = session.backward()
    given[:] = 9
    assert loss_of(session) == 12
    np.testing.assert_array_equal(run.values["x.out"], [2, 2, 2])
    assert given.flags.writeable


@pytest.mark.parametrize("value", [[2.0, 2.0, 2.0], np.full(3, 2.0), np.full(3, 2, ">f4")])
def test_what_is_unlike_the_one_before_is_converted(value: object) -> None:
    session = summed()
    session.set("x", np.ones(3, np.float32))
    session.set("x", value)
    assert loss_of(session) == 12
    with pytest.raises(FeedError):
        session.set("x", np.ones((1, 3), np.float32))
    assert loss_of(session) == 12


def test_the_program_follows_the_shapes_that_are_set() -> None:
    session = summed()
    programs = []
    for length in (2, 3, 3, 2):
        session.set("x", np.full(length, 2, np.float32))
        assert loss_of(session) == 4 * length
        programs.append(session.program)
    two, three, again, other = programs
    assert three is again and two is other and two is not three
    assert session.run({"x": np.ones(5, np.float32)}).values["loss.out"] == 5
    assert session.program is two
