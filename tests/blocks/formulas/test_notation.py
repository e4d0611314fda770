"""Expressions as mathematics."""

from __future__ import annotations

import pytest

from gradwire.blocks.formulas.notation import latex, one_line, plain


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("(w * x + b)**2", "(w·x + b)²"),
        ("x ** -12 - y**0.5", "x⁻¹² − y**0.5"),
        ("a >= b\n\nc != d", "a ≥ b; c ≠ d"),
        ("x**n * 2", "x**n·2"),
    ],
)
def test_the_face_shows_signs_of_mathematics(expression, shown):
    assert plain(expression) == shown


def test_lines_are_joined():
    assert one_line("d = x - t\n\n  d * d\n") == "d = x - t; d * d"


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("(w * x + b)**2", r"{\left(w \cdot x + b\right)}^{2}"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("a / (b * c)", r"\frac{a}{b \cdot c}"),
        ("-x**2", "-{x}^{2}"),
        ("sigma_x.T @ W1", r"{\sigma_{\mathrm{x}}}^{T}  W_{\mathrm{1}}"),
        ("stop_gradient(x)", r"\mathrm{stop\_gradient}\left(x\right)"),
        ("x[0]", r"\mathrm{x[0]}"),
        ("d = a; d", r"\begin{array}{l} d = a \\ d \end{array}"),
    ],
)
def test_the_inspector_shows_latex(expression, written):
    assert latex(expression) == written
