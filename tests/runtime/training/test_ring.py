"""The ring of states: bounded memory, even spacing, and a state before every step."""

from __future__ import annotations

import pytest

from gradwire.runtime.training.course import Ring


def filled(steps, limit=100, size=10):
    ring = Ring(limit)
    for step in range(steps):
        if ring.wants(step):
            ring.add(step, f"state {step}", size)
    return ring


@pytest.mark.parametrize("steps", [1, 9, 50, 1000, 3777])
def test_memory_is_bounded_and_states_lie_evenly(steps):
    ring = filled(steps)
    assert ring.nbytes == 10 * len(ring) <= 100
    assert ring.steps == tuple(range(0, steps, ring.spacing))
    for step in range(0, steps, 7):
        found, state = ring.before(step)
        assert step - ring.spacing < found <= step
        assert state == f"state {found}"


def test_what_must_stay_stays():
    ring = Ring(limit=30)
    ring.add(0, "start", 10)
    ring.add(3, "edited", 10, kept=True)
    for step in range(4, 100):
        if ring.wants(step):
            ring.add(step, "later", 10)
    assert ring.steps[:2] == (0, 3)
    assert ring.nbytes <= 30
    ring = filled(1, limit=5)
    assert ring.before(0) == (0, "state 0")  # the only one, although it is too large


def test_going_on_from_a_step_forgets_what_came_later():
    ring = filled(9)
    ring.forget_after(4)
    assert ring.steps == (0, 1, 2, 3, 4)
    assert ring.nbytes == 50
    with pytest.raises(KeyError):
        Ring().before(0)
