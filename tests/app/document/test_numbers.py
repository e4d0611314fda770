"""Steps follow magnitude and dtype; a typed number must fit."""

import math

import numpy as np
import pytest

from gradwire.app.document.numbers import (
    COARSE,
    FINE,
    NumberCell,
    Scrub,
    Slider,
    array_of,
    read_number,
    set_number,
    slider_of,
    step_of,
)
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, Page, apply

MUL = registry().get("Mul")


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (np.float32(6.0), 0.1), (np.float64(-0.5), 0.01), (np.float32(123.0), 10.0),
        (np.float32(0.0), 0.01), (np.float64(math.nan), 0.01), (np.float64(2e-5), 1e-6),
        (np.int64(1000), 1.0), (np.uint8(3), 1.0), (np.bool_(True), 1.0),
    ],
)  # fmt: skip
def test_the_step_follows_magnitude_and_dtype(value, step):
    assert step_of(value) == pytest.approx(step)


def test_a_float_stops_at_multiples_of_its_step_and_passes_zero():
    scrub = Scrub(np.float64(0.123))
    assert scrub.by(1) == 0.13
    assert scrub.by(-14) == -0.01
    assert scrub.by(1, FINE) == -0.006  # from -0.007 exactly
    assert scrub.by(1, COARSE) == 0.1


def test_a_step_keeps_the_dtype():
    assert Scrub(np.float32(1.0)).by(1).dtype == np.float32
    assert Scrub(np.int8(1)).by(1).dtype == np.int8


@pytest.mark.parametrize(
    ("value", "steps", "after"),
    [
        (np.uint8(3), -10, 0), (np.int8(120), 100, 127), (np.bool_(False), 1, True),
        (np.bool_(True), 5, True), (np.bool_(True), -1, False), (np.float16(60000), 9, 65504),
    ],
)  # fmt: skip
def test_a_number_stays_within_what_its_dtype_expresses(value, steps, after):
    assert Scrub(value).by(steps) == after


def test_after_the_limit_the_other_direction_works_at_once():
    scrub = Scrub(np.uint8(3))
    scrub.by(-50)
    assert scrub.by(1) == 1


def test_small_moves_add_up_to_a_step():
    scrub = Scrub(np.int64(4))
    assert [int(scrub.by(0.25)) for _ in range(4)] == [4, 4, 5, 5]


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("−0.5", "float32", -0.5), (" 1e3 ", "float64", 1000.0), ("7", "int8", 7),
        ("2.0", "int64", 2), ("true", "bool", True), ("0", "bool", False),
        ("-inf", "float64", -math.inf),
    ],
)  # fmt: skip
def test_a_text_becomes_a_number_of_the_dtype(text, dtype, value):
    found = read_number(text, np.dtype(dtype))
    assert found == value
    assert found.dtype == dtype


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("", "float32"), ("x", "float32"), ("1.5", "int64"), ("300", "uint8"), ("2", "bool"),
     ("inf", "int8"), ("nan", "int8"), ("1,5", "float32")],
)  # fmt: skip
def test_a_text_that_is_no_number_or_does_not_fit_is_refused(text, dtype):
    with pytest.raises(ValueError):
        read_number(text, np.dtype(dtype))


def changed(block, number, value, shown=None):
    before = Diagram({"main": Page({number.block: block})})
    after = apply(before, set_number(block, number, value, shown)).after
    return after.main.blocks[number.block]


def test_one_cell_of_a_matrix_changes():
    block = changed(Variable(value=[[1, 2], [3, 4]]), NumberCell("w", "value", (1, 0)), 0.5)
    assert block.value.array.tolist() == [[1, 2], [0.5, 4]]
    assert block.dtype == "float32"


def test_a_number_that_is_drawn_becomes_given():
    drawn = np.array([0.1, 0.2], np.float32)
    block = changed(Variable(shape=(2,)), NumberCell("w", "value", (1,)), 5.0, drawn)
    assert block.value.array.tolist() == [np.float32(0.1), 5.0]


def test_a_literal_keeps_its_dtype_and_a_default_becomes_a_literal():
    plain = changed(MUL(a=3), NumberCell("m", "a"), 4)
    assert plain.literals["a"].to_json() == 4
    typed = changed(MUL(a={"dtype": "float64", "value": 3.0}), NumberCell("m", "a"), 3.5)
    assert typed.literals["a"].to_json() == {"dtype": "float64", "value": 3.5}


def test_what_has_no_number_has_no_array():
    assert array_of(MUL(), "a") is None
    assert array_of(Variable(), "value") is None
    assert array_of(Constant(value=2), "value").tolist() == 2


class TestSlider:
    def test_each_share_is_a_number_that_reads_well(self):
        slider, single = Slider(0.0, 1.0), np.dtype(np.float32)
        assert slider.at(0.3333, single) == np.float32(0.33)
        assert [slider.at(share, single) for share in (-1.0, 2.0)] == [0.0, 1.0]
        assert Slider(-5.0, 5.0, 0.5).at(0.61, single) == 1.0
        assert Slider(0.0, 10.0).at(0.512, np.dtype(np.int64)) == 5
        assert Slider(0.0, 1.0).at(0.7, np.dtype(bool))

    def test_steps_are_counted_from_the_least_number(self):
        assert Slider(0.05, 1.0, 0.3).at(0.4, np.dtype(np.float64)) == pytest.approx(0.35)
        assert Slider(0.0, 1.0, 0.35).at(1.0, np.dtype(np.float64)) == pytest.approx(0.7)

    def test_a_number_outside_is_at_the_nearer_end(self):
        slider = Slider(0.0, 4.0)
        assert [slider.share(value) for value in (-1, 1, 9, np.nan)] == [0.0, 0.25, 1.0, 0.0]
        assert [slider.has(value) for value in (-1, 0, 4, 9, np.nan)] == [
            False, True, True, False, False,
        ]  # fmt: skip

    def test_a_scrub_stays_within_it(self):
        scrub = Scrub(np.float32(0.5), Slider(0.0, 1.0))
        assert [scrub.by(steps) for steps in (1, 100, -3)] == pytest.approx([0.51, 1.0, 0.97])
        stepped = Scrub(np.float32(0.5), Slider(0.0, 1.0, 0.25))
        assert [stepped.by(steps) for steps in (1, 1, 1)] == [0.75, 1.0, 1.0]

    def test_sources_alone_have_one(self):
        assert slider_of(Variable(value=1.0, slider=[0, 2])) == Slider(0.0, 2.0)
        assert slider_of(Variable(value=1.0)) is None
        assert slider_of(MUL(a=2.0), "a") is None
