"""The wires of blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.arrays import runs
from gradwire.app.canvas.scene.members import Incidence


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))), st.sets(st.integers(0, 5)))
def test_the_wires_of_blocks(wires, chosen):
    ends = np.array(wires, np.int32).reshape(-1, 2)
    found = Incidence(ends, 6).of(np.array(sorted(chosen), np.intp))
    assert found.tolist() == [i for i, pair in enumerate(wires) if chosen & set(pair)]


def test_runs_are_consecutive_numbers():
    assert runs(np.array([5, 1, 7]), np.array([2, 0, 3])).tolist() == [5, 6, 7, 8, 9]
