"""What ``--set`` accepts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.cli.output import UsageError
from gradwire.runtime.cli.sessions import parse_assignment, parse_literal
from gradwire.runtime.publish.text import array_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-0.5", -0.5),
        ("+3", 3),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1.e2", 100.0),
        ("1e-3", 0.001),
        ("[1.5,2.]", [1.5, 2.0]),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("true", True),
        ("[True, false]", [True, False]),
        ("nan", np.nan),
        ("-inf", -np.inf),
        ("[inf, NaN, -Infinity, +inf]", [np.inf, np.nan, -np.inf, np.inf]),
        ('["nan", 1]', [np.nan, 1]),
        ("[]", []),
    ],
)
def test_reads_numbers_as_people_type_them(text, value):
    array = parse_literal(text).tensor.array
    np.testing.assert_array_equal(array, np.array(value))
    assert array.dtype.kind == np.array(value).dtype.kind


def test_a_typed_literal_has_its_dtype():
    literal = parse_literal('{"dtype": "float16", "value": [1, 2]}')
    assert literal.dtype == "float16" and literal.tensor.shape == (2,)


@given(st.lists(st.floats(width=16), max_size=8))
def test_what_a_report_writes_can_be_typed_back(numbers):
    array = np.array(numbers, dtype=np.float16)
    back = parse_literal(array_text(array)).tensor.array
    np.testing.assert_allclose(back, array.astype(np.float64), rtol=1e-5)


@given(st.recursive(st.integers(-99, 99) | st.booleans(), st.lists, max_leaves=6))
def test_reads_all_json_that_is_an_array_or_says_why_not(data):
    try:
        expected = np.array(data)
    except ValueError:
        expected = None
    if expected is None or expected.dtype.name not in ("int64", "bool", "float64"):
        with pytest.raises(ValueError):
            parse_literal(json.dumps(data))
    else:
        np.testing.assert_array_equal(parse_literal(json.dumps(data)).tensor.array, expected)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a=",
        "=3",
        "a=b",
        "a=[1, [2]]",
        "a=[1,",
        'a="x"',
        "a=null",
        "a={}",
        "a=1 2",
        "a=__import__",
    ],
)
def test_refuses_the_rest_and_shows_how(text):
    with pytest.raises(UsageError) as caught:
        parse_assignment(text)
    assert "--set" in caught.value.what
    assert "For example" in (caught.value.next_step or "")


def test_deep_nesting_is_refused():
    with pytest.raises(UsageError):
        parse_assignment("a=" + "[" * 100_000)


def test_the_name_may_have_spaces_around_and_a_path():
    name, literal = parse_assignment(" enc/W1 = 2")
    assert name == "enc/W1" and literal.tensor.array == 2
