"""What ``--vary NAME=VALUES`` means: lists, ranges and words, each value once."""

from __future__ import annotations

import pytest

from gradwire.blocks.errors import ParameterError
from gradwire.runtime.training.studies.varying import parse_varied


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1e-3,1e-2", (0.001, 0.01)),
        ("1, 2.5 ,.5,-3,+4,6.", (1, 2.5, 0.5, -3, 4, 6.0)),
        ("0..3", (0, 1, 2, 3)),
        ("-1..1", (-1, 0, 1)),
        ("3..1", (3, 2, 1)),
        ("0..100..50", (0, 50, 100)),
        ("0..9..4", (0, 4, 8)),
        ("9..0..4", (9, 5, 1)),
        ("1..2,8", (1, 2, 8)),
        ("linspace(0, 1, 5)", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("geomspace(1e-4,1e-1,4)", (1e-4, 1e-3, 1e-2, 1e-1)),
        ("relu,tanh", ("relu", "tanh")),
        ("true,false,null", (True, False, None)),
        ("True,False,None", (True, False, None)),
        ('"a, b","c"', ("a, b", "c")),
        ("[1, 2],[3, [4]]", ([1, 2], [3, [4]])),
        ('{"kind": "sgd", "lr": 1},adam', ({"kind": "sgd", "lr": 1}, "adam")),
        ('true,1,"1"', (True, 1, "1")),
    ],
)  # fmt: skip
def test_values_are_read(text, values):
    name, found = parse_varied(f" a = {text}")
    assert name == "a"
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("lr", "not NAME=VALUES"),
        ("=1", "not NAME=VALUES"),
        ("lr=", "not NAME=VALUES"),
        ("lr=1,,2", "can't be read"),
        ("lr=1,(2", r"lacks a \)"),
        ("lr=0.5..1", "can't be read"),
        ("lr=0..", "can't be read"),
        ("lr=0..4..0", "step of 0"),
        ("lr=0..100000", "at most 10,000"),
        ("lr=0..9999,-1,-2", "at most 10,000"),
        ("lr=0.." + "9" * 30, "too large"),
        ("lr=1e999", "too large"),
        ("lr=geomspace(0,1,3)", "two positive ends"),
        ("lr=geomspace(1,2)", r"geomspace\(FIRST, LAST, COUNT\)"),
        ("lr=linspace(0,1,1)", "an integer from 2"),
        ("lr=linspace(0,1,1e9)", "an integer from 2"),
        ("lr=linspace(0,1,true)", "an integer from 2"),
        ("lr=linspace(-1e308,1e308,3)", "too large"),
        ("lr=1,2,1", "the value 1 twice"),
        ("lr=0..3,2", "the value 2 twice"),
        ("lr=1,1.0", "the value 1 twice"),
        ("lr=" + "[" * 5000, "lacks a ]"),
        ("lr=" + "[" * 5000 + "]" * 5000, "can't be read"),
        ("lr=;rm", "can't be read"),
    ],
    ids=lambda text: text[:24],
)
def test_what_is_no_list_of_values_is_refused(text, told):
    with pytest.raises(ParameterError, match=told):
        parse_varied(text)
