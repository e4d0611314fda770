"""Why a block's value is NaN or infinite, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.sentences import names

if TYPE_CHECKING:
    import numpy as np


class InputElement(NamedTuple):
    """One element of a block's input: the port, the number, its index (empty for a scalar), and
    how many elements were reduced with it.
    """

    port: str
    value: float
    at: tuple[int, ...]
    among: int = 1

    @property
    def place(self) -> str:
        """``element 2 of x``, ``element [0, 1] of x``, or ``x``."""
        if not self.at:
            return self.port
        return f"element {self.at[0] if len(self.at) == 1 else list(self.at)} of {self.port}"


SYMBOLS = {"Sqrt": "√", "Neg": "−"}
BETWEEN = {"Add": "+", "Sub": "−", "Mul": "·", "Div": "÷", "Pow": "to the power", "Mod": "mod"}
_POLES: Mapping[str, Callable[[Sequence[float]], bool]] = {
    "Log": lambda x: x[0] == 0,
    "Log1p": lambda x: x[0] == -1,
    "Div": lambda x: x[-1] == 0,
    "Pow": lambda x: x[0] == 0,
    "Arctanh": lambda x: abs(x[0]) == 1,
}
"""Where a block is infinite at finite inputs, and not just too large for its dtype."""
_WITHIN_1 = "Clip its input to a range just inside −1 to 1: at ±1 its {} is infinite."
_INVERSES = {
    "Arccos": _WITHIN_1.format("slope"),
    "Arcsin": _WITHIN_1.format("slope"),
    "Arctanh": _WITHIN_1.format("value"),
    "Arccosh": "Clip its input from below, just above 1: at 1 its slope is infinite.",
}
CURES = _INVERSES | {
    "Sqrt": "Clip its input from below, at a small number above 0.",
    "Log": "Keep its input above 0: clip it, or make it positive with Softmax or Softplus.",
    "Log1p": "Keep its input above −1.",
    "Div": "Add a small number to the denominator.",
    "Expm1": "Clip its input from above.",
    "Mod": "Keep what it divides by away from 0.",
    "Pow": "Keep the base above 0.",
    "Sin": "Keep its input finite.",
    "Cos": "Keep its input finite.",
    "Tan": "Keep its input finite.",
    "Sinh": "Clip its input from above and below.",
    "Cosh": "Clip its input from above and below.",
}
"""What keeps the value of a block finite, by its type."""
AT_ZERO = {
    "Sqrt": "Add a small number under the root.",
    "Log": "Add a small number to its input.",
    "Div": "Add a small number to the denominator.",
    "Pow": "Keep the base above 0: add a small number to it.",
}
"""The same where a block's input is 0."""
AT_POLE = AT_ZERO | _INVERSES
"""What keeps the slope of a block finite where it is infinite at a finite value, by its type."""
IN_FLOAT32 = "Use float32 there."
SCALE_UP = "Scale the loss up. Multiplied by {0}, it lets gradient through."
UNDER_ROOT = {
    "Pow": "Add a small number under the root, or halve the exponent of {0} instead of taking the "
    "root.",
    "Square": "Add a small number under the root, or use Abs instead of the root of a square.",
    "Variance": "Add a small number under the root, or use the variance itself.",
}
"""What to do instead of taking the root of what a block makes, by the type of that block."""
RELU_AT_OUTPUT = "It is the output: leave it out, or use Softplus or LeakyRelu there."
_POLES_NEARBY = {
    "Arctan2": "Keep the inputs of {0} from being small together.",
    "Div": "Keep the denominator of {0} away from 0: add a larger number to it.",
}
SMALL_WEIGHTS = "Start with larger weights, or normalise between the blocks."
OTHER_AXIS = "Set its axis to the one along which the elements compete, or use Sigmoid."
SINGLE = "Use Sigmoid for a single output."
MORE_CLASSES = "Give it logits of two classes or more, or use BinaryCrossEntropy for one logit."
MORE_KEYS = "Give it a sequence of two keys or more."
LARGER_BATCH = (
    "Give it two numbers or more per channel by a larger batch, or use LayerNorm or running "
    "statistics."
)
FEWER_GROUPS = "Use fewer groups, or leave it out."
MORE_AXES = "Normalise along axes of more than one number, or leave it out."
ANGLE_AXIS = "Move the axis of the vectors to the end."
WHOLE = "Let the loss read its elements, not their sum."
CONSTANT_TOTAL = f"{{0}}, so no loss changes with it. {WHOLE}"
EXPLODES = "Clip the gradient by its norm with a GradientClip, or start with smaller weights."
GIVEN = "Give a finite number instead."
SWAPPED = (
    "{0} trains by its {2} alone, and no variable leads to its {1}. If the two are swapped, "
    "exchange them: what is predicted goes to {1}."
)
TWICE = "{0} takes a {1} itself: give it the logits, not the output of {2}."
ACROSS = (
    "{0} normalises along axis {1}, and {2} picks a class along axis {3}: they are no logarithms "
    "of the probabilities of classes. Use axis {3} in {0}."
)
DECAYS = (
    "The gradient decays along the sequence: that of step {0} is {1} of step {2}'s, in what comes "
    "to {3}."
)
PLAIN_DECAY = (
    "Use an LSTM or a GRU, start with orthogonal recurrent weights, or shorten the sequence."
)
GATED_DECAY = "Start with open gates, by a bias of 1 of the forget gate, or shorten the sequence."
SYMMETRIC = (
    "{0} units of {1} have equal weights and get equal gradients: they stay equal, and do what one "
    "does. Start {3} with random numbers."
)
SYMMETRIC_GROUPS = (
    "{0} units of {1} are in {2} groups of equal weights and equal gradients: they stay equal, and "
    "a group does what one unit does. Start {3} with random numbers."
)
CROSSED = (
    "{0} compares each number with each: {1} of shape {2} and {3} of shape {4} are broadcast to "
    "{5}. Give both one shape."
)
NO_LIKELIHOOD = (
    "{0} is negated and averaged as a log-likelihood is, and {1} gives no logarithms of "
    "probabilities."
)
NO_DIVERGENCE = (
    "{0} is a Kullback-Leibler divergence, which takes logarithms of probabilities, and {1} gives "
    "none."
)
LOG_SOFTMAX_INSTEAD = "Use LogSoftmax in place of {0}."
LOGARITHM = "Put a {0} behind {1}."
AS_FLOAT = "Give it a float dtype, such as float32."
EXP = {
    "LogSoftmax": "Subtract the maximum before it, or use LogSoftmax.",
    "LogSumExp": "Subtract the maximum before it, or use LogSumExp.",
    "Sigmoid": "Use Sigmoid in its place, which never overflows.",
    "Softmax": "Subtract the maximum before it, or use Softmax.",
    "Softplus": "Use Softplus in its place, which never overflows.",
    "": "Clip its input from above, or calculate with logarithms.",
}
"""What keeps an Exp finite, by the block that does the same as what it is part of."""


OF_MANY = "{0} of {1} numbers up to {2}"
OVERFLOWS = "{0} overflows {1}"
LIMITED = {
    "min": "Raise the min of {0}, which lets {1} through{2}.",
    "max": "Lower the max of {0}, which lets {1} through{2}.",
    "both": "Raise the min and lower the max of {0}, which lets {1} and {2} through.",
}
ROUNDED = ": {0} is {1} in {2}"
TOO_LARGE = "Scale {0} down: its numbers reach {1}."
STEEP = "the slope of {0} is not finite there"
"""Why the value of a Gradient block is not finite that differentiates through a block."""


def reason(name: str, what: str, elements: Sequence[InputElement], dtype: str) -> str:
    """``log of −1.00 (x)``: what a block of type ``name`` made its value of."""
    numbers = [element.value for element in elements]
    if len(elements) == 2 and name in BETWEEN:
        made = f"{number(numbers[0])} {BETWEEN[name]} {number(numbers[1])}"
    elif len(elements) == 1 and elements[0].among > 1 and math.isfinite(numbers[0]):
        made = OF_MANY.format(name.lower(), elements[0].among, number(numbers[0]))
    elif len(elements) == 1:
        made = f"{SYMBOLS.get(name, name.lower())} of {number(numbers[0])}"
    else:
        made = f"{name} of {', '.join(map(number, numbers))}"
    overflows = what != "NaN" and all(map(math.isfinite, numbers))
    if overflows and not (name in _POLES and _POLES[name](numbers)):
        made = OVERFLOWS.format(made, dtype)
    return f"{made} ({_culprit(name, elements).place})" if elements else made


def underflows(block: str) -> str:
    """Words that follow ``log of 0 (x)`` where a block makes that 0 of what is not 0."""
    return f", as {block} underflows"


def limit_cure(clip: str, limit: str, given: float, value: np.generic) -> str:
    """To move the ``min`` or ``max`` of a Clip further inside, which was ``given`` and is rounded
    to ``value``.
    """
    passed = number(float(value))
    rounded = "" if str(value) == str(given) else ROUNDED.format(given, passed, value.dtype)
    return LIMITED[limit].format(clip, passed, rounded)


def limits_cure(clip: str, low: float, high: float) -> str:
    """To move both limits of a Clip further inside."""
    return LIMITED["both"].format(clip, number(low), number(high))


def guard_too_late(guard: str, culprit: str, what: str) -> str:
    """Where a limit bounds what ``culprit`` makes, but not its slope, which is ``what``."""
    return (
        f"{guard} limits the value, yet 0·{what} is NaN: limit the input of {culprit} instead, so "
        "that it never sees such values."
    )


def steep_cure(name: str) -> str:
    """What to do where a block of type ``name`` has an infinite slope at a finite value."""
    return AT_POLE.get(name, "")


def root_cure(block: str, name: str) -> str:
    """What to do about the root of 0 that ``block``, of type ``name``, makes."""
    return UNDER_ROOT[name].format(block)


def underflow_cure(scale: float | None, is_wider_enough: bool = False) -> str:
    """What to do where a gradient is too small for its dtype: to scale the loss up, where that
    helps, and to use float32 where a narrower dtype is too narrow.
    """
    up = None if scale is None else SCALE_UP.format(number(scale))
    if not is_wider_enough:
        return up or ""
    return f"Use float32 there, or {up[0].lower()}{up[1:]}" if up else IN_FLOAT32


DIVIDED = (
    "{0} ({1}) divides gradients by their size, so that its steps are about its rate, {2}, all the "
    "same."
)
NEAR_EPS = (
    "{0} ({1}) divides gradients by their size plus eps, {2}, against which this one is small: its "
    "steps are {3} of what they would be. A smaller eps would help."
)
MOVED = "A step of {0}, {1} × the gradient, changes it by {2} of its size."
_GROWS = "gets a gradient itself: this grows"
GROWS_WITH = f"{{0}} is at most {{1}} and {_GROWS} once factors like it do."
"""What to do about a small factor that is trained."""
_PASSES = "gets a gradient itself: this passes"
MOVES = f"{{0}} is 0 and {_PASSES} once {{0}} moves."
"""What to do about a factor of 0 that is trained."""
LATER = f"{{0}} is 0 and {_PASSES} after {{1}} steps of training."
"""The same, where others have to move as well."""


def passes_later(cure: str) -> bool:
    """Whether this is what is said where a gradient of 0 passes by training alone."""
    return _PASSES in cure


def grows(cure: str) -> bool:
    """Whether this is what is said where a small gradient grows by training alone."""
    return _GROWS in cure


START_ONE = "Start {0} away from 0: as it is, neither can move."
"""What to do about a factor of 0 that is trained, and gets no gradient."""
START_SEVERAL = "Start {0} away from 0: as they are, none can move."
"""The same, of several."""


def start_cure(variables: Sequence[str]) -> str:
    """What to do where these trained variables are 0 and multiply one another."""
    return (START_ONE if len(variables) == 1 else START_SEVERAL).format(names(variables))


def norm_cure(block: str, is_squared: bool, is_named: bool) -> str:
    """What to do about a Norm of length 0, of which the square is taken or not, and of which it is
    said already what other systems make of it or not.
    """
    what = "Σx² instead of its square" if is_squared else "√(Σx² + a small number) instead"
    return f"Use {what}." if is_named else f"{block} is at 0, where JAX has NaN: use {what}."


def pole_cure(block: str, name: str) -> str:
    """What to do about a block of type ``name`` that is steep, as it is near its pole."""
    text = _POLES_NEARBY.get(name, "Keep the input of {0} away from 0: add a larger number to it.")
    return text.format(block)


def squashing_cure(blocks: Sequence[str], is_saturated: bool) -> str:
    """What to do where Sigmoid, Tanh or Softmax blocks make a gradient small."""
    if is_saturated:
        return (
            f"Keep the input of {names(blocks)} small: start with smaller weights, or normalise it."
        )
    return f"Use LeakyRelu instead of {names(blocks)}, or normalise between the blocks."


def double_where(where: str, culprit: str, name: str, what: str) -> str:
    """What to do where a Where does not take what ``culprit``, a block of type ``name`` with a
    slope that is ``what``, makes.
    """
    other = " (0 in TensorFlow, but not under XLA)" if name == "Sqrt" else ""
    return (
        f"{where} does not take this branch, yet 0·{what} is NaN{other}: put a "
        f"Where before {culprit} too, so that it never sees such values."
    )


def not_taken(where: str) -> str:
    """That a Where takes other elements than those that are not finite."""
    return f"{where} does not take it."


def _culprit(name: str, elements: Sequence[InputElement]) -> InputElement:
    """The input to look at: one that is not finite, a denominator of 0, else the largest."""
    if name in ("Div", "Mod") and elements[-1].value == 0:
        return elements[-1]
    wild = [element for element in elements if not math.isfinite(element.value)]
    return wild[0] if wild else max(elements, key=lambda element: abs(element.value))
