"""Runs and traces end at the next step once nobody waits for them."""

import itertools

import numpy as np
import pytest

from gradwire.blocks.library.linear import MatMul
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session, lower
from gradwire.runtime.engine.interruption import Interrupted, interruptible
from tests.runtime.engine.drawing import draw


def chain(count):
    """Products one behind another, each a step of its own."""
    parts = {"a": Variable(shape=[4, 4])} | {f"n{i}": MatMul() for i in range(count)}
    wires = {f"n{i}.a": f"n{i - 1}" if i else "a" for i in range(count)}
    return draw(parts, wires | {f"n{i}.b": "a" for i in range(count)})


def after(count):
    """A question that is answered with yes from the given time on."""
    asked = itertools.count(1)
    return lambda: next(asked) > count


def test_a_run_ends_between_two_steps():
    session = Session(chain(8), fast=False)
    wanted = session.run().values
    asked = []
    with pytest.raises(Interrupted), interruptible(lambda: asked.append(1) or len(asked) > 3):
        session.run()
    assert len(asked) == 4
    again = session.run().values
    assert all(np.array_equal(again[port], wanted[port]) for port in wanted)


def test_a_trace_ends_between_two_blocks():
    with pytest.raises(Interrupted), interruptible(after(5)):
        lower(chain(20))


def test_outside_nothing_is_asked():
    with interruptible(lambda: True):
        pass
    assert len(Session(chain(2)).run().values) == 3
