"""Curves: every number while there are few, ranges that lose no extreme while there are many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.training.curves import CAPACITY, MOST, Curve, CurveRecording, csv_of

NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), max_size=200)


def test_few_numbers_are_kept_one_by_one():
    curve = Curve(8)
    curve.extend([1, 2, 5], [3.0, math.nan, -1.0])
    points = curve.points()
    assert points.steps.tolist() == [1, 2, 5]
    np.testing.assert_equal(points.mean, [3.0, math.nan, -1.0])
    np.testing.assert_equal(points.low, points.high)


@given(NUMBERS, st.integers(2, 16))
def test_many_numbers_become_ranges_without_losing_an_extreme(numbers, capacity):
    curve = Curve(capacity)
    curve.extend(range(1, len(numbers) + 1), numbers)
    points = curve.points()
    assert len(curve) <= max(2, capacity)
    assert curve.count == len(numbers)
    starts = [0, *points.steps.tolist()]
    for start, end, mean, low, high in zip(starts, *points):  # noqa: B905 one start too many
        inside = [n for n in numbers[start:end] if math.isfinite(n)]
        assert (math.isnan(low), math.isnan(high)) == ((not inside),) * 2
        if inside:
            assert (low, high) == (min(inside), max(inside))
            assert mean == pytest.approx(math.fsum(inside) / len(inside), abs=1e-6)
    assert not numbers or points.steps[-1] == len(numbers)


@pytest.mark.night
def test_memory_does_not_grow_with_steps():
    curve = Curve(64)
    curve.extend(range(100_000), np.sin(np.arange(100_000)))
    assert curve.nbytes == 64 * 5 * 8
    assert curve.bucket == 2048
    assert curve.points().low.min() == pytest.approx(-1.0)


def test_a_copy_up_to_a_step_goes_on_by_itself():
    curve = Curve(8)
    curve.extend(range(1, 7), range(1, 7))
    branch = curve.copy(upto=4)
    branch.append(5, 50.0)
    assert branch.points().mean.tolist() == [1, 2, 3, 4, 50]
    assert curve.points().mean.tolist() == [1, 2, 3, 4, 5, 6]
    assert branch.last == 50.0


def test_smoothing_starts_without_bias_and_leaves_nan_out():
    curve = Curve(8)
    curve.extend([1, 2, 3], [4.0, math.nan, 8.0])
    smooth = curve.points().smoothed(0.5)
    np.testing.assert_allclose(smooth, [4.0, math.nan, (0.5 * 2.0 + 4.0) / 0.75])
    assert curve.points().smoothed(0.0).tolist()[0] == 4.0


def test_a_recording_keeps_what_is_there_and_no_zero_for_what_is_not():
    recording = CurveRecording("stopped")
    recording.add(1, {"L.out": 2.0, "grad_norm/opt": None})
    recording.add(2, {"L.out": 1.0, "grad_norm/opt": 0.5})
    assert recording.names == ("L.out", "grad_norm/opt")
    assert recording.points("grad_norm/opt").steps.tolist() == [2]
    assert recording.last("L.out") == 1.0
    assert recording.last("nothing") is None
    assert csv_of([recording]) == (
        "run,step,L.out,grad_norm/opt\nstopped,1,2.0,\nstopped,2,1.0,0.5\n"
    )


def test_a_csv_file_states_the_ranges_of_merged_numbers():
    recording = CurveRecording()
    for step in range(1, CAPACITY + 2):
        recording.add(step, {"a": float(step)})
    head, first, *_, last = csv_of([recording]).splitlines()
    assert head == "run,step,a,a least,a largest"
    assert first == ",2,1.5,1.0,2.0"
    assert last == f",{CAPACITY + 1},{CAPACITY + 1}.0,{CAPACITY + 1}.0,{CAPACITY + 1}.0"


def test_several_runs_are_in_one_file():
    one, two = CurveRecording("stopped"), CurveRecording('un"stopped')
    one.add(1, {"L": 1.0})
    two.add(1, {"L": 2.0, "M": 3.0})
    assert csv_of([one, two]) == 'run,step,L,M\nstopped,1,1.0,\n"un""stopped",1,2.0,3.0\n'
    assert csv_of([]) == "run,step\n"


def test_a_recording_has_room_for_so_many_curves():
    recording = CurveRecording()
    for step in (1, 2):
        recording.add(step, {f"update/{i}": 1.0 for i in range(MOST + 3)})
    assert len(recording.names) == MOST
    assert recording.left_out == 3
    for step in range(3, 2 * CAPACITY):
        recording.add(step, {"update/0": 1.0})
    assert recording.nbytes < 80 * 2**20


def test_a_branch_of_a_recording_leaves_it_alone():
    recording = CurveRecording("first")
    for step in range(1, 6):
        recording.add(step, {"L": float(step)})
    branch = recording.copy("second", upto=3)
    branch.add(4, {"L": -1.0})
    assert (branch.name, branch.step) == ("second", 4)
    assert branch.points("L").mean.tolist() == [1, 2, 3, -1]
    assert recording.points("L").mean.tolist() == [1, 2, 3, 4, 5]
