"""What runs inside a Formula block."""

from __future__ import annotations

import pytest

from gradwire.blocks.formulas.content import MAX_EXPRESSION, MAX_OPERATIONS, content_of
from gradwire.blocks.formulas.places import FormulaError


def kinds(expression: str) -> dict[str, str]:
    return {name: block.type_name() for name, block in content_of(expression).blocks.items()}


def test_the_free_names_are_inputs_in_the_order_of_the_text():
    content = content_of("(w * x + b)**2 - w")
    assert content.inputs == ("w", "x", "b")
    assert content.outputs == ("out",)
    assert content.wires["mul1", "a"] == ("w", "out")
    assert content.wires["out", "x"] == ("sub1", "out")
    assert kinds("w * x") == {
        "w": "PageInput",
        "x": "PageInput",
        "mul1": "Mul",
        "out": "PageOutput",
    }


def test_later_lines_read_names_and_results_that_none_reads_are_outputs():
    content = content_of("d = x - t\nerror = mean(d**2)\nlargest = max(abs(d))")
    assert content.outputs == ("error", "largest")
    assert content.wires["abs1", "x"] == ("d", "out")
    assert content.wires["largest", "x"] == ("max1", "out")
    assert content_of("d = x - t; d * 2").outputs == ("out",)
    assert content_of("y = x * 2").outputs == ("out",)


def test_an_input_may_have_the_name_of_an_output():
    assert content_of("out * 2").outputs == ("result",)
    assert content_of("out + result").outputs == ("output",)


def test_the_place_of_an_operation_is_that_of_its_text():
    text = "a = é * 2; stop_gradient( a ) + round(b)"
    places = content_of(text).places
    assert {name: text[slice(*place)] for name, place in places.items()} == {
        "a": "é * 2",
        "stop_gradient1": "stop_gradient( a )",
        "round1": "round(b)",
        "add1": "stop_gradient( a ) + round(b)",
    }


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("", 0, "empty"),
        ("x +", 3, "no formula"),
        ("x + sinn(y)", 4, "There is no block 'sinn'. Did you mean sin"),
        ("c = variable(1); x + c", 4, "no Variable inside"),
        ("2 * loss(x)", 4, "no loss inside"),
        ("x + own()", 0, "own a variable"),
        ("1 + linear(x, units=3)", 4, "Give it weight and bias"),
        ("x + type", 4, "can't be called 'type'"),
        ("x + expression", 4, "can't be called 'expression'"),
        ("x + formula(x=x)", 4, "can't be inside"),
        ("a = x * 2; x + 1", 11, "each needs a name"),
        ("y = x * 2\n" + "abs(y)\n" * MAX_OPERATIONS, 3503, "too many operations"),
        ("x" * (MAX_EXPRESSION + 1), MAX_EXPRESSION, "too long"),
        ("__import__('os')", 0, "There is no block '__import__'"),
        ("x.__class__", 2, "not part of a formula"),
        ("[i for i in x]", 0, "not part of a formula"),
        ("(lambda: x)()", 1, "not a function"),
    ],
)
def test_an_error_points_at_the_character(text, at, what):
    with pytest.raises(FormulaError) as caught:
        content_of(text)
    assert (caught.value.offset, what in str(caught.value)) == (at, True), caught.value
