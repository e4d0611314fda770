"""A course: every step can be reached again, edits count from where they were made."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
import gradwire.runtime.build as b
from gradwire.blocks.errors import RunError
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import AddBlock, MoveBlocks, Point, SetParameters, apply
from gradwire.runtime.engine import Session
from gradwire.runtime.training.course import Course, stored


def model(**training):
    """Least squares with noise that is new at each step, so that going back must draw it again."""
    noise = b.random_normal(shape=(4,), name="noise")
    w = b.variable("w", [1.0, 2.0, 3.0, 4.0])
    scale = b.constant("scale", 1.0)
    wanted = b.loss(b.mean(b.square(w - noise)) * scale, name="L")
    return b.build(wanted, training=training or None)


ADAM = {"optimisers": [{"name": "opt", "method": {"kind": "adam", "lr": 0.1}}]}


def values(course):
    """The weights as they are now."""
    return course.session.values["w"].tolist()


def advanced(course, steps):
    seen = [values(course)]
    for _ in range(steps):
        course.advance()
        seen.append(values(course))
    return seen


def steps(course, count):
    for _ in range(count):
        course.advance()


@pytest.mark.parametrize("limit", [2**20, 400], ids=["all states", "few states"])
def test_every_step_is_reached_again_bit_by_bit(limit):
    course = Course(model(**ADAM), limit=limit)
    seen = advanced(course, 40)
    for step in (40, 3, 17, 0, 39, 40, 1):
        assert course.go(step)
        assert course.step == step
        assert values(course) == seen[step]
        assert course.session.step_number == step
    assert course.furthest == 40
    assert course.recording.points("L.out").steps.tolist() == list(range(1, 41))
    assert course.ring.nbytes <= max(limit, 3 * 130)


def test_going_on_from_there_is_a_branch():
    course = Course(model(**ADAM), name="first")
    seen = advanced(course, 20)
    first = course.recording
    course.go(5)
    course.branch("second")
    again = advanced(course, 3)
    assert again == seen[5:9]
    assert (first.name, first.step) == ("first", 20)
    assert (course.recording.name, course.recording.step) == ("second", 8)
    assert course.furthest == 8
    assert max(course.ring.steps) <= 8


def test_an_edit_of_numbers_counts_from_then_on():
    course = Course(model(**ADAM))
    seen = advanced(course, 5)
    shown = stored(model(**ADAM), course.values())
    course.advance()  # the run is ahead of what is shown
    now = values(course)
    edited = apply(shown, SetParameters("scale", {"value": 0.0})).after
    assert course.take(shown, edited)
    assert values(course) == now
    course.advance()
    assert course.step == 7
    assert course.go(3)
    assert values(course) == seen[3]  # what was before the edit is as it was


def test_an_edit_of_a_variable_replaces_its_value():
    course = Course(model(**ADAM))
    advanced(course, 5)
    shown = stored(model(**ADAM), course.values())
    edited = apply(shown, SetParameters("w", {"value": [9.0] * 4})).after
    assert course.take(shown, edited)
    assert values(course) == [9.0] * 4
    assert course.step == 5


def test_layout_is_no_edit_and_structure_is_too_much():
    course = Course(model())
    advanced(course, 2)
    shown = stored(model(), course.values())
    assert course.take(shown, apply(shown, MoveBlocks({"w": Point(5.0, 6.0)})).after)
    assert course.step == 2
    assert not course.take(shown, apply(shown, AddBlock("v", Variable(value=1.0))).after)


def test_measured_shares_are_of_what_an_optimiser_updates():
    a, c = b.variable("a", [3.0, 4.0]), b.variable("c", 1.0)
    unused = b.stop_gradient(c)
    diagram = b.build(b.loss(b.sum(a) + unused, name="L"))
    course = Course(diagram)
    before = course.session.values["a"]
    record = course.advance_measured()
    after = course.session.values["a"]
    assert record.step == 1
    wanted = np.linalg.norm(after - before) / np.linalg.norm(after)
    assert course.recording.last("update/a") == pytest.approx(wanted, rel=1e-6)
    assert "update/c" not in course.recording.names  # no optimiser updates it: None is not zero
    assert course.recording.losses == ("L.out",)


def test_independent_uses_of_a_page_get_pages_of_their_own():
    x = b.constant("x", 2.0)

    @b.page
    def page(x):
        return b.mul(x, b.variable("w", 1.0), name="y")

    uses = b.square(page(x, name="one") - 1.0) + b.square(page(x, name="two", independent=True))
    diagram = b.build(b.loss(uses, name="L"))
    course = Course(diagram)
    advanced_values = [course.advance() and course.session.values for _ in range(3)][-1]
    assert advanced_values["one/w"] != advanced_values["two/w"]
    after = stored(course.session.diagram, course.values())
    assert len(after.pages) == len(diagram.pages) + 1
    for path, value in Session(after).values.items():
        assert value == advanced_values[path]


def test_a_diagram_that_can_not_be_trained_says_so():
    with pytest.raises(RunError, match="no loss"):
        Course(b.build(b.variable("w", [1.0, 2.0]) * 2.0))
    with pytest.raises(RunError, match="no variable"):
        Course(b.build(b.loss(b.constant("c", 1.0), name="L")))


def test_stored_values_change_nothing_else():
    diagram = model()
    course = Course(diagram)
    same = stored(diagram, course.values())
    assert same.main.blocks["w"].value.array.tolist() == [1.0, 2.0, 3.0, 4.0]
    course.advance()
    after = stored(diagram, course.values())
    assert Session(after).values["w"].tolist() == values(course)
    assert after.main.blocks["scale"] is diagram.main.blocks["scale"]


def test_own_variables_inside_blocks_and_pages_are_trained_and_stored():
    @b.page
    def layer(x):
        return b.tanh(gw.linear(x, gw.own(), gw.own(), units=2, name="inner"))

    hidden = layer(b.constant("x", [[1.0, 2.0], [3.0, -1.0]]), name="one")
    out = gw.linear(layer(hidden, name="two", independent=True), gw.own(), gw.own(), units=1)
    course = Course(b.build(b.loss(b.mean(b.square(out - 1.0)), name="L")))
    before = course.session.values
    steps(course, 5)
    after = course.session.values
    assert len(after) == 6
    assert all(not np.array_equal(before[name], after[name]) for name in after)
    again = Session(stored(course.session.diagram, course.values()))
    for name, value in after.items():
        np.testing.assert_array_equal(again.values[name], value)
    assert course.go(2) and course.step == 2
    steps(course, 3)
    for name, value in after.items():
        np.testing.assert_array_equal(course.session.values[name], value)


def test_the_leaves_of_trees_are_trained_and_stored():
    a, c = b.variable("a", [1.0, 2.0]), b.variable("c", 3.0)
    tree = b.block("Pack", a, c, keys=["x", "deep/y"], name="params")
    x, y = b.block("Unpack", tree, paths=["x", "deep/y"])
    diagram = b.build(b.loss(b.sum(b.square(x)) + b.square(y) * 2.0, name="L"))
    course = Course(diagram)
    steps(course, 4)
    rate = 0.1
    factor = (1.0 - 2.0 * rate) ** 4, (1.0 - 4.0 * rate) ** 4
    found = Session(stored(diagram, course.values())).values
    np.testing.assert_allclose(found["a"], np.array([1.0, 2.0]) * factor[0], rtol=1e-6)
    np.testing.assert_allclose(found["c"], 3.0 * factor[1], rtol=1e-6)
