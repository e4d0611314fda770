"""The wording of what is said about the numbers of a run, with ``{0}``, ``{1}`` for names and
numbers. Published pages write their sentences from the same phrases.
"""

from __future__ import annotations

CARRIES = "Carries ∂{0}/∂{1}: {2}. Route: {3}."
INVARIANT = "∂{0}/∂{1} is 0, and {2} only rounding: {3}."
IGNORES_SHIFT = "the softmax of {0} ignores what is added to all of a row"
ADDS_UP_TO_1 = "what {0} gives adds up to 1 whatever it is given, and {1} adds it all up"
ADDS_UP = "what {0} gives adds up to the same whatever it is given, and {1} adds it all up"
TAKES_MEAN = "{0} takes away the mean, and with it what is added to all"
VARIABLE = "∂{0}/∂{1}: {2}. {3}"
TOGETHER = "{0} together: {1}"
CANCEL = "0: the contributions of {0} cancel."
NEARLY_CANCEL = "The contributions of {0} nearly cancel: {1} is left of {2}."

ZERO_AS_SUM = "Already 0: the contributions to {0} cancel."
ZERO_AS_DERIVATIVE = "Already 0: the derivative of {0} is 0 here."
ZERO_AT_LOSS = "The loss is flat here: {0}."
ZERO_HERE = "Connected, but {0}."
ZERO_BEFORE = "Already 0 after {0}, which{1}."

FIRST = "First {0} made in {1}."
AT_SLOPE = "{0} ({1})"
AT_VALUE = "{0}, whose value is {1}: {2}"
AS_GIVEN = "{0}, as {1} is given as {2}"
AS_MADE = "{0}, as {1} is {2}: {3}"
GIVEN_SO = "it is given so"
VICTIM = "This wire is a victim."
"""Ends the sentence of a wire whose NaN or ∞ arose elsewhere."""
VICTIMS = "The wires behind it are victims."
"""Ends the sentence of a wire where NaN or ∞ arises and spreads."""

AT_SEED = "{0}, as it leaves the loss."
AGAINST = "{0}, against at most {1} for {2}; over this route ×{3}."
SCALED = "{0} ×{1} over {2}; worst: {3} ×{4}. Here: {5}."
GROWS = "Grows"
SHRUNK = "Shrunk"

PARTIAL = "{0} of {1} elements are 0, {2}."
MASKED_BY = "masked by {0}"
PADDING = "Row {0} is its padding, which gets none: give it no padding if that is a real row."
CANCELLED_AT = "where the contributions to {0} cancel"

# ---- after the name of a block: why it sends 0 back, beside the tables of reasons ----------------

STEPS = ("Round", "Floor", "Ceil", "Sign")
"""The blocks that are flat wherever they have a slope."""
FACTORS = ("Mul", "MatMul", "Linear", "Dot", "Einsum", "Conv1D", "Conv2D", "Conv3D",
           "ConvTranspose1D", "ConvTranspose2D", "ConvTranspose3D")  # fmt: skip
SINGLE_SOFTMAX = "has one element along its axis, which is always 1"
SINGLE_LOGARITHM = "has one class, whose logarithm is always 0"
SINGLE_CLASS = "has one class, and is 0 whatever its logits are"
SINGLE_KEY = "has one key, whose weight is always 1"
SINGLE_NORM = "normalises each number by itself: that leaves 0, before weight and bias"
SINGLE_SIGN = "divides each number by its own size: only its sign is left"
SINGLE_ANGLE = "compares single numbers, of which only the signs count"
FROM_TO = "from {0} to {1}"
OWN_RULE = "by a rule of its own"
STEEP_HERE = "its slope is infinite here"
