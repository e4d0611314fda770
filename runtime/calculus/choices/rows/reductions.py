"""Rows of reductions, of losses and of pooling."""

from __future__ import annotations

import numpy as np

from gradwire.runtime.calculus.choices.choice import Choice
from gradwire.runtime.calculus.choices.points import (
    any_input,
    cancelling_windows,
    huge,
    huge_half,
    infinite,
    interpolated,
    length_zero,
    lone_square_lost,
    no_length,
    not_finite,
    nothing_arrives,
    overflowing,
    saturated,
    set_twice,
    tie,
    tied_windows,
    vanishing,
)

_PRODUCTS = (
    "MatMul", "Linear", "Einsum", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D",
    "ConvTranspose2D", "ConvTranspose3D",
)  # fmt: skip
"""Blocks that add products up."""

REDUCTIONS = (
    Choice(
        ("MeanAbsoluteError",), "gradient", "prediction = target", tie, "0",
        {"JAX": "1 for the prediction, −1 for the target"},
        "As for Abs.",
    ),
    Choice(
        ("MeanAbsoluteError",), "gradient", "a difference of NaN", lambda s: np.isnan(s.a - s.b),
        "NaN", {"PyTorch": "0", "JAX": "−1 for the prediction, 1 for the target"},
        "As for Abs.",
    ),
    Choice(
        _PRODUCTS, "value", "sums that overflow on the way",
        any_input(huge), "in the order of numpy",
        {"PyTorch": "in another order", "JAX": "in another order"},
        "∞, NaN or a number by the order.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("AvgPool1D", "AvgPool2D"), "value", "sums that float16 does not hold", huge_half,
        "the mean",
        {"JAX": "±∞, or of rounded sums"},
        "Summed in float32.", extreme=True, modelled=False,
    ),
    Choice(
        ("AvgPool1D", "AvgPool2D"), "value",
        "numbers that cancel, beside which others are lost in rounding",
        cancelling_windows, "in the order of numpy", {"JAX": "in another order"},
        "What is lost depends on the order.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("Variance",), "value", "the squares overflow", any_input(huge), "∞", {"PyTorch": "NaN"},
        "The limit.", extreme=True, modelled=False,
    ),
    Choice(
        ("Variance",), "gradient", "an element is infinite, or its square",
        any_input(lambda x: ~np.isfinite(x * x)), "NaN", {"PyTorch": "±∞ or a number"},
        "The variance is infinite or NaN.", extreme=True,
    ),
    Choice(
        ("Variance",), "gradient", "elements where ∞ arrives", infinite, "NaN",
        {"PyTorch": "±∞ by the side of the mean"},
        "The mean would take ∞ − ∞.", extreme=True,
    ),
    Choice(
        ("Variance",), "gradient", "squares that float16 does not hold", huge_half, "NaN",
        {"JAX": "a number, as of float32"},
        "The variance is infinite.", extreme=True, modelled=False,
    ),
    Choice(
        ("Prod",), "gradient",
        "elements of which none is 0 and the product is infinite or vanishes",
        lambda s: np.any(~np.isfinite(s.x * s.x) | vanishing(s.x), -1) & np.all(s.x != 0),
        "the product of the others", {"PyTorch": "out / x: NaN"},
        "The product of the others does not depend on the element.", extreme=True,
    ),
    Choice(
        ("Prod",), "gradient", "elements whose product is infinite where 0 arrives",
        lambda s: np.any(~np.isfinite(s.x * s.x), -1) & nothing_arrives(s).any(-1), "NaN",
        {"JAX": "0"},
        "0 · ∞ is unknown.", extreme=True, modelled=False,
    ),
    Choice(
        ("Prod",), "second derivative", "an element or a product is infinite, NaN or subnormal",
        any_input(lambda x: ~np.isfinite(x * x) | vanishing(x)), "the product of the others",
        {"PyTorch": "NaN, or too few terms", "JAX": "NaN"},
        "The product of the others does not depend on the element.", extreme=True,
    ),
    Choice(
        ("LogSumExp",), "gradient", "elements so large that log n is lost in rounding",
        any_input(huge), "softmax(x)",
        {"PyTorch": "1 for each of equal ones", "JAX": "NaN beside ∞"},
        "The shares add up to 1.", extreme=True,
    ),
    Choice(
        ("LogSumExp",), "second derivative", "elements so large that log n is lost in rounding",
        any_input(huge), "0", {"PyTorch": "−1 for each of equal ones"},
        "The shares add up to 1.", extreme=True,
    ),
    Choice(
        ("Norm",), "gradient", "length 0", length_zero, "0",
        {"JAX": "NaN", "TensorFlow": "NaN", "MXNet": "NaN"},
        "One NaN spoils a whole step.",
    ),
    Choice(
        ("Norm",), "gradient", "length 0 where ∞ or NaN arrives",
        lambda s: length_zero(s) & not_finite(s), "0", {"PyTorch": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Norm",), "gradient", "elements so small that x / length vanishes where ∞ arrives",
        lambda s: infinite(s) & np.any(vanishing(s.x), -1, keepdims=True), "±∞ or NaN",
        {"PyTorch": "NaN"},
        "The gradient is divided before it is multiplied.", extreme=True,
    ),
    Choice(
        ("Norm",), "gradient", "a length that float16 does not hold",
        lambda s: (s.x.dtype == np.float16) & np.isinf(np.linalg.norm(s.x.astype(float), axis=-1)
                                                       .astype(np.float16)),
        "x / length", {"PyTorch": "0"},
        "Computed in float32.", extreme=True,
    ),
    Choice(
        ("Norm",), "value", "squares that float16 does not hold", huge_half, "the length",
        {"JAX": "∞"},
        "Computed in float32.", extreme=True,
    ),
    Choice(
        ("Norm",), "gradient", "squares that float16 does not hold", huge_half, "x / length",
        {"JAX": "0 or NaN"},
        "Computed in float32.", extreme=True,
    ),
    Choice(
        ("Norm",), "second derivative", "squares that float16 does not hold", huge_half,
        "as of float32", {"JAX": "0 or NaN"},
        "Computed in float32.", extreme=True,
    ),
    Choice(
        ("Norm",), "second derivative", "length 0", length_zero, "0",
        {"PyTorch": "NaN", "JAX": "NaN"},
        "One NaN spoils a whole step.", extreme=True,
    ),
    Choice(
        ("Norm",), "second derivative", "the squares overflow", any_input(huge), "NaN",
        {"PyTorch": "0"},
        "The length is infinite.", extreme=True,
    ),
    Choice(
        ("Norm",), "value", "a single element whose square overflows or vanishes",
        lone_square_lost, "∞ or 0", {"PyTorch": "its size", "JAX": "its size"},
        "√(x²), as of several elements.", extreme=True, modelled=False,
    ),
    Choice(
        ("Norm",), "gradient", "a single element whose square overflows or vanishes",
        lone_square_lost, "0", {"PyTorch": "±1"},
        "√(x²), as of several elements.", extreme=True, modelled=False,
    ),
    Choice(
        ("Norm",), "second derivative", "a single element whose square overflows or vanishes",
        lone_square_lost, "0 or NaN", {"PyTorch": "NaN or 0"},
        "√(x²), as of several elements.", extreme=True, modelled=False,
    ),
    Choice(
        ("BinaryCrossEntropy",), "value", "a logit is infinite (or overflows times the target)",
        lambda s: ~np.isfinite(s.a * s.a), "∞ or NaN by softplus(z) − t·z",
        {"PyTorch": "∞ or NaN by another formula"},
        "NaN where the two terms are infinite.", extreme=True,
    ),
    Choice(
        ("BinaryCrossEntropy",), "value", "probability 0 or 1", saturated,
        "−log of one rounding step", {"PyTorch": "100"},
        "As far as the dtype can tell probabilities apart.",
    ),
    Choice(
        ("BinaryCrossEntropy",), "gradient", "probability 0 or 1", saturated,
        "0 for the prediction", {"PyTorch": "up to 10¹²"},
        "A saturated output would throw away all else; use logits.",
    ),
    Choice(
        ("BinaryCrossEntropy",), "gradient", "a point where ∞ arrives", infinite,
        "a sum of two parts: NaN where ∞ − ∞", {"PyTorch": "one product: ±∞"},
        "The chain rule of the formula.", extreme=True,
    ),
    Choice(
        ("BinaryCrossEntropy",), "second derivative", "probability 0 or 1", saturated, "0",
        {"PyTorch": "up to 10¹²"},
        "As its gradient.", extreme=True,
    ),
    Choice(
        ("CosineSimilarity",), "value", "a side is 0, the other infinite or NaN",
        lambda s: no_length(s) & ~np.isfinite(s.a + s.b).all(-1), "0", {"PyTorch": "NaN"},
        "0 where a side is 0, without exception.", extreme=True, modelled=False,
    ),
    Choice(
        ("CosineSimilarity",), "value", "a side is 0 in float16",
        lambda s: (s.x.dtype == np.float16) & no_length(s), "0", {"PyTorch": "NaN"},
        "0 where a side is 0, without exception.",
    ),
    Choice(
        ("CrossEntropy",), "gradient", "a probability that is 1 in rounding where ∞ arrives",
        lambda s: infinite(s) & (s.x.dtype == np.float16), "NaN or ∞ for the labels",
        {"PyTorch": "the other", "JAX": "the other"},
        "As rounding has it.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("CosineSimilarity",), "gradient", "a side is 0", no_length, "0 for both sides",
        {"PyTorch": "the other direction · 10⁸ for that side"},
        "0 has no direction that a step could turn.",
    ),
    Choice(
        ("CosineSimilarity",), "second derivative", "a side is 0", no_length, "0",
        {"PyTorch": "up to 10⁸, or NaN"},
        "As its gradient.", extreme=True,
    ),
    Choice(
        ("CosineSimilarity",), "second derivative", "the squares overflow", any_input(huge), "NaN",
        {"PyTorch": "0"},
        "The length is infinite.", extreme=True,
    ),
    Choice(
        ("MaxPool1D", "MaxPool2D", "MaxPool3D"), "gradient",
        "ties or NaN in a window", tied_windows,
        "shared evenly; NaN for all of a window with NaN",
        {"PyTorch": "all to the first", "JAX": "all to the first",
         "TensorFlow": "all to the first"},
        "As over axes.",
    ),
    Choice(
        ("MaxPool1D", "MaxPool2D", "MaxPool3D"), "gradient",
        "elements that lose where ∞ or NaN arrives", not_finite, "NaN",
        {"PyTorch": "0", "JAX": "0"},
        "Shares are multiplied.", extreme=True,
    ),
    Choice(
        ("Resize",), "value", "an element is ∞ or NaN, or sums overflow",
        interpolated(any_input(overflowing)),
        "NaN along the axis", {"PyTorch": "±∞ or NaN where it has weight"},
        "A matrix is multiplied: 0 · ∞ is NaN.", extreme=True, modelled=False,
    ),
    Choice(
        ("Resize",), "gradient", "elements where ∞ or NaN arrives", interpolated(not_finite),
        "NaN along the axis", {"PyTorch": "±∞ or NaN where it has weight"},
        "A matrix is multiplied: 0 · ∞ is NaN.", extreme=True, modelled=False,
    ),
    Choice(
        ("GridSample",), "gradient", "places where ∞ or NaN arrives", not_finite,
        "NaN for elements without weight, too", {"PyTorch": "±∞ or NaN where there is weight"},
        "0 · ∞ is NaN.", extreme=True, modelled=False,
    ),
    Choice(
        ("Determinant", "LogDeterminant"), "gradient", "matrices where ∞ arrives", infinite, "±∞",
        {"PyTorch": "NaN, or ±∞ for some elements", "JAX": "NaN, or ±∞ for some elements"},
        "A multiple of the inverse.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("Cholesky",), "gradient", "matrices where ∞ arrives", infinite, "NaN",
        {"JAX": "NaN, or ±∞ for some elements"},
        "∞ − ∞ is NaN.", extreme=True, modelled=False, shown=False,
    ),
    Choice(
        ("ScatterAlong",), "value", "sums that float16 does not hold on the way",
        lambda s: (s.x.dtype == np.float16) & any_input(huge)(s), "rounded at each update",
        {"PyTorch": "rounded once"},
        "Updates follow one another.", extreme=True, modelled=False,
    ),
    Choice(
        ("ScatterRows", "ScatterAlong"), "gradient", "a place that is set twice", set_twice,
        "to the last update", {"PyTorch": "to all updates of the place"},
        "What was overwritten does not matter.",
    ),
)  # fmt: skip
