"""The table of choices: where systems give different numbers, and what is chosen here."""

from __future__ import annotations

from runtime.calculus.choices.choice import Convention
from runtime.calculus.choices.rows.elementwise import ELEMENTWISE
from runtime.calculus.choices.rows.integers import INTEGERS
from runtime.calculus.choices.rows.reductions import REDUCTIONS

CHOICES = (*ELEMENTWISE, *REDUCTIONS, *INTEGERS)

SUBNORMAL = Convention("subnormal numbers", "kept", "kept in PyTorch, 0 in JAX on a CPU")

CONVENTIONS = (
    Convention(
        "gradient of what is not connected", "None; zeros on request",
        "None in PyTorch and TensorFlow, 0 in JAX and MXNet",
    ),
    Convention(
        "a stop behind a loss head", "a stop always wins", "MXNet lets the head's gradient through"
    ),
    Convention(
        "comparisons, argmax, casts to integers", "None, and the wire says NO RULE", "None or 0"
    ),
    Convention(
        "an optimiser and a None gradient", "the variable is skipped, weight decay included",
        "differs",
    ),
    Convention(
        "an integer modulo 0", "fails when the diagram runs",
        "an error in PyTorch, a number in JAX",
    ),
    Convention(
        "mean, variance, logsumexp or softmax of no elements", "is refused by the check",
        "NaN, −∞ or nothing in PyTorch and JAX",
    ),
    SUBNORMAL,
)  # fmt: skip
