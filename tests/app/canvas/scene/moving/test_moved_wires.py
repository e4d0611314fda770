from __future__ import annotations

import numpy as np

from gradwire.app.canvas.scene.curves import CORNER, Courses
from gradwire.app.canvas.scene.moves import LastCourses, MovedWires


def bounds(*left):
    return np.array([[x, 0.0, x + 1.0, 1.0] for x in left])


def test_the_wires_of_the_last_steps_are_known():
    moved = MovedWires()
    first = moved.add(np.array([3, 1]), bounds(30.0, 10.0))
    moved.add(np.array([1, 7]), bounds(11.0, 70.0))
    last = moved.add(np.array([2]), bounds(20.0))
    assert moved.since(first).tolist() == [1, 2, 7]
    assert moved.since(first - 1).tolist() == [1, 2, 3, 7]
    assert moved.since(last).tolist() == []
    assert moved.bounds_since(first)[:, 0].tolist() == [11.0, 70.0, 20.0]
    assert moved.bounds_since(last).shape == (0, 4)


def test_of_too_many_steps_all_wires_may_have_moved():
    moved = MovedWires()
    first = moved.add(np.array([0]), bounds(0.0))
    for wire in range(20):
        last = moved.add(np.array([wire]), bounds(0.0))
    assert moved.since(first) is None
    assert moved.since(last - 2).tolist() == [18, 19]


def test_of_too_many_wires_all_may_have_moved():
    moved = MovedWires()
    first = moved.add(np.array([0]), bounds(0.0))
    moved.add(np.arange(5000), np.zeros((5000, 4)))
    assert moved.since(first) is None
    assert moved.since(first + 1).tolist() == []


def test_wires_are_followed_to_other_numbers_until_all_are_read_anew():
    moved = MovedWires()
    first = moved.add(np.array([0]), bounds(0.0))
    moved.add(np.array([1, 2, 3]), bounds(10.0, 20.0, 30.0))
    moved.renumber(np.array([0, -1, 1, 2]), bounds(15.0))
    assert moved.since(first).tolist() == [1, 2]
    assert moved.bounds_since(first)[:, 0].tolist() == [10.0, 20.0, 30.0, 15.0]
    moved.forget()
    assert moved.since(first) is None


def test_a_wire_has_not_moved_if_it_has_the_course_that_it_had_last():
    last, wires = LastCourses(), np.array([4, 7])
    ends = np.array([[0.0, 0.0, 9.0, 9.0], [0.0, 5.0, 9.0, 5.0]])
    assert last.moved(wires, [(wires, Courses(ends))]).all()
    assert not last.moved(wires, [(wires, Courses(ends))]).any()
    assert last.moved(wires, [(wires, Courses(ends + np.array([[1.0], [0.0]])))]).tolist() == [
        True,
        False,
    ]
    square = [(wires[:1], Courses(ends[:1], CORNER)), (wires[1:], Courses(ends[1:]))]
    assert last.moved(wires, square).tolist() == [True, False]


def test_of_many_wires_all_have_moved_and_no_course_is_kept():
    last, many = LastCourses(), np.arange(1000)
    courses = [(many, Courses(np.zeros((1000, 4))))]
    assert last.moved(many[:9], [(many[:9], Courses(np.zeros((9, 4))))]).all()
    assert last.moved(many, courses).all()
    assert last.moved(many[:9], [(many[:9], Courses(np.zeros((9, 4))))]).all()
