"""Which expressions of one element become machine code."""

from __future__ import annotations

import pytest

from gradwire.runtime.engine.plan.native.operations import functions


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("2/(exp(a)+exp(-a))", {"exp"}),
        ("sqrt(a) if b==0.5 else pow(a,b)", {"sqrt", "pow"}),
        ("a*a-1.5", set()),
    ],
)
def test_arithmetic_functions_and_choices_are_compiled(text: str, called: set[str]) -> None:
    assert functions(text) == called


@pytest.mark.parametrize(
    "text",
    [
        "a**3", "a//b", "(a>0)*a", "a if b else c", "a if 0<a<1 else b", "a and b", "not a",
        "a.real", "a[0]", "(a if a>0 else b)>c", "k*a", "exp(a*k)", "pi*a",
    ],
)  # fmt: skip
def test_what_has_no_instructions_is_left_to_the_kernel(text: str) -> None:
    assert functions(text) is None
