"""The Formula block: ports, parameters and records."""

from __future__ import annotations

import pytest

from gradwire.blocks.errors import ParameterError
from gradwire.blocks.library.formula import Formula


def names(block: Formula) -> list[str]:
    return [port.name for port in block.input_ports()]


def test_the_expression_gives_the_ports():
    assert names(Formula()) == ["w", "x", "b"]
    two = Formula(expression="mean = x * 2\nd = y - x")
    assert (names(two), two.output_names()) == (["x", "y"], ("mean", "d"))


def test_the_face_shows_the_expression_in_one_line():
    assert Formula(expression="d = x - t\n\nd * d").label() == "d = x − t; d·d"


def test_a_literal_is_given_by_the_name_of_an_input():
    block = Formula(expression="w * x", x=[1.0, 2.0])
    assert block.to_record() == {"expression": "w * x", "x": [1.0, 2.0]}
    assert Formula.from_record(block.to_record()) == block


def test_a_wrong_expression_is_refused_with_its_place():
    with pytest.raises(ParameterError, match=r"at character 5, There is no block 'sinn'. Did you"):
        Formula(expression="x + sinn(y)")


def test_a_literal_without_an_input_is_refused():
    with pytest.raises(ParameterError, match="no parameter or input 'y'"):
        Formula(expression="x + 1", y=2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + stop_gradient(w)", "x + stop_gradient(w, open=True)"),
        ("stop_gradient( é ) * x", "stop_gradient( é, open=True) * x"),
        ("stop_gradient(w, open=False) + 1", "stop_gradient(w, open=True) + 1"),
        ("stop_gradient(w,)", "stop_gradient(w, open=True)"),
    ],
)
def test_a_parameter_of_an_operation_is_set_in_the_text(before, after):
    assert Formula(expression=before).with_part("stop_gradient1", {"open": True}) == after


def test_an_operator_has_no_place_for_parameters():
    with pytest.raises(ParameterError, match="no place for axis of 'add1'") as caught:
        Formula(expression="x + y").with_part("add1", {"axis": 1})
    assert "Unfold" in str(caught.value)
