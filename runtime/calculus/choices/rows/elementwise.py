"""Rows of blocks that work element by element."""

from __future__ import annotations

import numpy as np

from gradwire.runtime.calculus.choices.choice import Choice, Site
from gradwire.runtime.calculus.choices.points import (
    any_input,
    huge,
    huge_half,
    infinite,
    limit,
    nan,
    not_finite,
    nothing_arrives,
    ordinary,
    special,
    square_lost,
    squares_lost,
    subnormal,
    tie,
    zero,
)

ELEMENTWISE = (
    Choice(
        ("Abs",), "gradient", "x = 0", zero, "0", {"JAX": "1"},
        "0 is the middle of the slopes on both sides.",
    ),
    Choice(
        ("Abs",), "gradient", "x = NaN", nan, "NaN", {"PyTorch": "0", "JAX": "−1"},
        "What is unknown has no known slope.",
    ),
    Choice(
        ("Sign",), "value", "x = NaN", nan, "NaN", {"PyTorch": "0"},
        "A 0 would hide the NaN.",
    ),
    Choice(
        ("Clip",), "gradient", "x = min or x = max", limit, "1",
        {"JAX": "1/2"},
        "A parameter that starts on a limit can leave it.",
    ),
    Choice(
        ("GradientClip",), "gradient", "by norm, where ∞ arrives",
        lambda s: infinite(s) & (getattr(s.block, "by", "") == "norm"),
        "∞, as it arrives",
        {"PyTorch": "NaN", "JAX": "NaN", "TensorFlow": "NaN", "MXNet": "NaN"},
        "Nothing finite has the direction of ∞, so it passes, and is found where it began.",
        extreme=True, modelled=False,
    ),
    Choice(
        ("Clip",), "gradient", "x beyond a limit where ∞ or NaN arrives", not_finite, "0",
        {"JAX": "NaN"},
        "What is cut off does not matter; JAX multiplies by 0.",
    ),
    Choice(
        ("Tanh",), "gradient", "x ≤ 0 where ∞ arrives", infinite, "g·(1 − out²)",
        {"JAX": "(g + g·out)·(1 − out): NaN"},
        "The derivative by its formula.", extreme=True,
    ),
    Choice(
        ("Tanh",), "gradient", "x so large that 1 − out is lost in rounding where ∞ arrives",
        lambda s: infinite(s) & (np.abs(s.x) > 8), "NaN or ±∞", {"JAX": "the other"},
        "As rounding has it.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("Relu",), "gradient", "x = NaN", nan, "0", {"PyTorch": "1"},
        "The gradient passes where the output is above 0, and NaN is not.",
    ),
    Choice(
        ("LeakyRelu",), "gradient", "x = 0", zero, "slope", {"JAX": "1"},
        "Where(x > 0, x, slope · x), as its formula says.",
    ),
    Choice(
        ("Elu",), "second derivative", "x = 0", zero, "alpha", {"PyTorch": "0"},
        "The formula of x ≤ 0 holds at 0.",
    ),
    Choice(
        ("Elu",), "gradient", "x = NaN", nan, "NaN", {"PyTorch": "1 in float32"},
        "What is unknown has no known slope.", modelled=False,
    ),
    Choice(
        ("Elu",), "second derivative", "x = NaN", nan, "NaN", {"PyTorch": "0 in float32"},
        "What is unknown has no known slope.", extreme=True,
    ),
    Choice(
        ("Gelu",), "value", "x = ∞, or nearly", lambda s: np.isinf(s.x * s.x) & (s.x > 0), "x",
        {"PyTorch": "NaN in float32 on some processors"},
        "The limit.", modelled=False, shown=False,
    ),
    Choice(
        ("Gelu", "Silu"), "gradient", "a point where ∞ arrives", infinite,
        "a sum of two parts: NaN where ∞ − ∞", {"PyTorch": "one product: ±∞"},
        "The chain rule of the formula.", extreme=True,
    ),
    Choice(
        ("Gelu",), "gradient", "x < −5, where Φ is lost in rounding and ∞ arrives",
        lambda s: infinite(s) & (s.x < -5), "NaN or ±∞", {"PyTorch": "the other"},
        "As rounding has it.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("Gelu",), "gradient", "|x| so large that its cube is infinite in float16",
        lambda s: (s.x.dtype == np.float16) & np.isinf(s.x * s.x * s.x), "NaN",
        {"PyTorch": "0 or 1, as of float32"},
        "The formula in the dtype of x.", extreme=True, modelled=False,
    ),
    Choice(
        ("Gelu",), "second derivative", "|x| so large that its square is infinite",
        lambda s: huge(s.x), "0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Div",), "gradient", "b so small or large that b² is 0 or ∞",
        square_lost,
        "−(a/b)/b", {"JAX": "−a/b²: NaN"},
        "The quotient is known already.", extreme=True,
    ),
    Choice(
        ("Div",), "gradient", "b so small or large that a/b² is 0 or ∞ where 0 or ∞ arrives",
        lambda s: special(s) & ~ordinary(s.a / s.b / s.b),
        "−g·(a/b)/b", {"PyTorch": "−g·((a/b)/b)", "JAX": "−g·a/b²"},
        "The quotient is known already.", extreme=True,
    ),
    Choice(
        ("Div",), "second derivative", "b so small or large that b² is 0 or ∞",
        square_lost,
        "−(a/b)/b and its derivatives", {"JAX": "−a/b² and its derivatives: NaN"},
        "The quotient is known already.", extreme=True,
    ),
    Choice(
        ("Mod",), "value", "a / b is infinite",
        lambda s: np.isfinite(s.a) & (s.b != 0) & np.isinf(s.a / s.b),
        "the remainder", {"PyTorch": "NaN"},
        "Remainders are exact.", extreme=True, modelled=False,
    ),
    Choice(
        ("Mod",), "gradient", "a = ±∞", lambda s: np.isinf(s.a), "NaN for b", {"JAX": "±∞"},
        "The remainder is NaN.", extreme=True,
    ),
    Choice(
        ("Mod",), "gradient", "a point where ∞ arrives", infinite, "±∞ for b", {"JAX": "NaN"},
        "The derivative is one number.", extreme=True,
    ),
    Choice(
        ("Pow",), "gradient", "b = 0 and a = 0 or NaN",
        lambda s: (s.b == 0) & ((s.a == 0) | np.isnan(s.a)), "0 for a",
        {"JAX": "NaN", "TensorFlow": "NaN", "MXNet": "NaN"},
        "a⁰ is 1 for every a.",
    ),
    Choice(
        ("Pow",), "gradient", "b = 0 where ∞ or NaN arrives",
        lambda s: (s.b == 0) & not_finite(s), "NaN for a", {"PyTorch": "0 for a"},
        "0 · ∞ is unknown.", extreme=True,
    ),
    Choice(
        ("Pow",), "gradient", "a < 0", lambda s: s.a < 0, "NaN for b", {"TensorFlow": "0 for b"},
        "The logarithm of a is NaN.",
    ),
    Choice(
        ("Pow",), "gradient", "a = 0 and b ≥ 0", lambda s: (s.a == 0) & (s.b >= 0), "0 for b",
        {"MXNet": "NaN for b"},
        "The limit.",
    ),
    Choice(
        ("Pow",), "gradient", "a = 0 and b < 0", lambda s: (s.a == 0) & (s.b < 0), "±∞ for b",
        {"JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Pow",), "second derivative", "b = 0", lambda s: s.b == 0, "1/a by a and b",
        {"PyTorch": "0"},
        "b·aᵇ⁻¹ depends on b at 0 too.",
    ),
    Choice(
        ("Pow",), "second derivative", "a = 0", zero, "its limit, or 0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Maximum", "Minimum"), "gradient", "a = b", tie, "1/2 to each side",
        {"TensorFlow": "1 to one side", "MXNet": "1 to one side"},
        "Symmetric, and as over axes.",
    ),
    Choice(
        ("Maximum", "Minimum"), "gradient", "a side is NaN", any_input(np.isnan), "1 to both sides",
        {"JAX": "0 to both sides", "TensorFlow": "1 to b", "MXNet": "1 to b"},
        "NaN stays visible on the way back.",
    ),
    Choice(
        ("Maximum", "Minimum"), "gradient", "the side that loses where ∞ or NaN arrives",
        not_finite, "0", {"JAX": "NaN"},
        "What is cut off does not matter; JAX multiplies by 0.",
    ),
    Choice(
        ("Arctan2",), "gradient", "a = b = 0 (or a² + b² so small that it is 0)",
        lambda s: s.a * s.a + s.b * s.b == 0, "0",
        {"JAX": "NaN", "TensorFlow": "NaN", "MXNet": "NaN"},
        "One NaN spoils a whole step.",
    ),
    Choice(
        ("Arctan2",), "gradient", "a or b subnormal where ∞ arrives",
        lambda s: infinite(s) & (subnormal(s.a) | subnormal(s.b)), "NaN", {"PyTorch": "±∞"},
        "The derivative is 0.", extreme=True,
    ),
    Choice(
        ("Arctan2",), "second derivative", "a² + b² is 0 or infinite", squares_lost, "0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Sqrt",), "gradient", "x = 0 where 0 arrives, as behind a Where",
        lambda s: (s.x == 0) & nothing_arrives(s), "NaN", {"TensorFlow": "0"},
        "The chain rule; the cure is a Where before the function.",
    ),
    Choice(
        ("Round", "Floor", "Ceil"), "gradient", "everywhere", Site.everywhere,
        "0, connected", {"TensorFlow": "None"},
        "The derivative of a step is 0 wherever there is one.",
    ),
    Choice(
        ("Round", "Floor", "Ceil", "Sign"), "gradient", "0 · ∞ further back",
        lambda s: s.everywhere(False), "NaN", {"JAX": "0"},
        "Connected, as in PyTorch; in JAX nothing comes back.", shown=False,
    ),
    Choice(
        ("Arcsin", "Arccos", "Arccosh"), "second derivative", "x = 1 or x = −1",
        lambda s: np.abs(s.x) == 1, "NaN", {"PyTorch": "±∞", "JAX": "±∞"},
        "(1 − x)·(1 + x) is exact near ±1, and its parts are ∞ and 0 · ∞.", extreme=True,
    ),
    Choice(
        ("Arctanh",), "second derivative", "x = 1 or x = −1", lambda s: np.abs(s.x) == 1, "NaN",
        {"PyTorch": "±∞"},
        "(1 − x)·(1 + x) is exact near ±1, and its parts are ∞ and 0 · ∞.", extreme=True,
    ),
    Choice(
        ("Arctanh",), "second derivative", "|x| so large that its square is infinite",
        lambda s: huge(s.x), "0", {"PyTorch": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Arctanh",), "second derivative", "x = ∞ or x = −∞", lambda s: np.isinf(s.x), "NaN",
        {"JAX": "0"},
        "There is no value.", extreme=True,
    ),
    Choice(
        ("Arctanh",), "gradient", "a square that float16 does not hold where ∞ arrives",
        lambda s: infinite(s) & huge_half(s), "NaN", {"JAX": "−∞"},
        "There is no value.", extreme=True, modelled=False,
    ),
    Choice(
        ("Arctan",), "second derivative", "|x| so large that its square is infinite",
        lambda s: huge(s.x), "0", {"JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Erf",), "second derivative", "|x| so large that its square is infinite",
        lambda s: huge(s.x), "0", {"PyTorch": "NaN", "JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Arcsinh", "Arccosh"), "gradient",
        "|x| so large that its square is infinite where ∞ arrives",
        lambda s: infinite(s) & huge(s.x), "∞", {"PyTorch": "NaN", "JAX": "NaN"},
        "1/|x| is not 0.", extreme=True,
    ),
    Choice(
        ("Arcsinh", "Arccosh"), "second derivative", "|x| so large that its square is infinite",
        lambda s: ~np.isfinite(s.x * s.x), "0", {"PyTorch": "NaN", "JAX": "NaN"},
        "The limit.", extreme=True,
    ),
    Choice(
        ("Arccosh",), "gradient", "x = −1", lambda s: s.x == -1, "−∞",
        {"PyTorch": "∞", "JAX": "∞"},
        "There is no value.", extreme=True,
    ),
    Choice(
        ("Mish", "HardSwish"), "gradient", "a point where ∞ or NaN arrives", not_finite,
        "a sum of two parts: NaN where ∞ − ∞", {"PyTorch": "one product: ±∞, or 0"},
        "The chain rule of the formula.", extreme=True, modelled=False,
    ),
    Choice(
        ("Celu",), "gradient", "x < 0 where ∞ arrives", infinite, "g·e^(x/α)", {"JAX": "NaN"},
        "The derivative by its formula.", extreme=True, modelled=False,
    ),
)  # fmt: skip
