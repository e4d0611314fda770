"""The table of choices: where systems give different numbers, and what is chosen here."""

from __future__ import annotations

from gradwire.runtime.calculus.choices.choice import Convention
from gradwire.runtime.calculus.choices.rows.elementwise import ELEMENTWISE
from gradwire.runtime.calculus.choices.rows.integers import INTEGERS
from gradwire.runtime.calculus.choices.rows.reductions import REDUCTIONS

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

OPTIMISERS = (
    Convention(
        "weight decay of Adam", "added to the gradient, as L2; apart from it in AdamW",
        "the same in PyTorch; Optax has AdamW alone",
    ),
    Convention(
        "eps in RMSprop and Adagrad", "g / (√s + eps)",
        "the same in PyTorch, g / √(s + eps) in Optax",
    ),
    Convention(
        "eps in RAdam", "√(1 − β₂ᵗ) / (√s + eps)",
        "the same in PyTorch, 1 / (√(s / (1 − β₂ᵗ)) + eps) in Optax",
    ),
    Convention(
        "what AMSGrad takes the maximum of", "s, which is corrected afterwards",
        "the same in PyTorch, the corrected s in Optax",
    ),
    Convention(
        "momentum of NAdam", "μₜ = β₁ (1 − 0.96^(t · momentum_decay) / 2)",
        "the same in PyTorch, the constant β₁ in Optax",
    ),
    Convention(
        "momentum of RMSprop", "collects g / (√s + eps), times the rate of the step",
        "the same in PyTorch, collects what is multiplied by the rate already in Optax",
    ),
    Convention(
        "a cosine schedule past its end", "the rate rises again",
        "the same in PyTorch, it stays at its least in Optax",
    ),
    Convention(
        "clipping by norm", "times min(1, limit / (norm + 10⁻⁶))",
        "the same in PyTorch, times limit / norm if that is below 1 in Optax",
    ),
    Convention(
        "clipping by norm with groups", "one norm for all groups",
        "the same in PyTorch, one norm for each part of a multi_transform in Optax",
    ),
    Convention(
        "an average that begins with the first update", "the sources after that update",
        "the same in PyTorch, the initial values in Optax",
    ),
    Convention(
        "weight decay of AdamW unless given", "0.01", "0.01 in PyTorch, 10⁻⁴ in Optax"
    ),
)  # fmt: skip
"""The optimisers: they have PyTorch's form."""
