"""Decisions and their words as data, which the runtime and published pages ask alike.

A rule has conditions, words, and the facts that stand in the places of these. A condition is a list
of types of blocks (``Max|Min``), a fact that holds (``single``), or one that doesn't (``!floats``).
The first rule whose conditions all hold says its words. What is asked about has its facts by name,
on a page by the same name in camel case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from gradwire.runtime.flow.words.phrases import FACTORS
from gradwire.runtime.flow.words.value_sentences import AT_ZERO, CURES, IN_FLOAT32, WHOLE

Rules: TypeAlias = tuple[tuple[str, ...], ...]
_PRODUCTS = "|".join(FACTORS)


def decide(rules: Rules, kind: str, fact: Callable[[str], object]) -> str:
    """What the first rule says that holds of a block of type ``kind``; empty where none does."""
    for conditions, words, *places in rules:
        if all(_holds(each, kind, fact) for each in conditions.split()):
            return words.format(*map(fact, places))
    return ""


def _holds(condition: str, kind: str, fact: Callable[[str], object]) -> bool:
    if condition[0].isupper():
        return kind in condition.split("|")
    return not fact(condition[1:]) if condition[0] == "!" else bool(fact(condition))


def facts_of(rules: Rules) -> set[str]:
    """The names of all facts that a table asks for."""
    conditions = {each.lstrip("!") for rule in rules for each in rule[0].split()}
    places = {place for rule in rules for place in rule[2:]}
    return {each for each in conditions if not each[0].isupper()} | places


def of_kinds(rules: Rules, kinds: Collection[str]) -> Iterable[tuple[str, ...]]:
    """The rules that may hold of blocks of these types, whose conditions name no others."""
    for conditions, *said in rules:
        left = [
            "|".join(kind for kind in each.split("|") if kind in kinds)
            if each[0].isupper()
            else each
            for each in conditions.split()
        ]
        if all(left):
            yield " ".join(left), *said


REASONS: Rules = (
    ("underflows", "makes the gradient too small for {0}", "dtype"),
    ("cancels whole_softmax", "gets the same gradient for all elements, which always sum to 1"),
    ("cancels", "adds up gradients that cancel"),
    ("single", "{0}", "single"),
    ("Ceil|Floor|Round", "is piecewise constant (None in TensorFlow)"),
    ("Sign", "is piecewise constant"),
    (_PRODUCTS, "multiplies by 0"),
    ("Concat|Stack", "gets only 0 for this part"),
    ("Where", "takes the other branch"),
    ("Maximum|Minimum", "takes its other input"),
    ("Max|Min", "takes another element"),
    ("Gather|Pick|Slice|TakeAlong|TopK", "takes other elements"),
    ("GradientReversal|GradientScale|Loss", "scales the gradient by 0"),
    (
        "Huber|MeanAbsoluteError|MeanSquaredError",
        "is at its minimum: prediction and target agree",
    ),
    ("!floats", "has a derivative of 0 here"),
    ("weight_zero", "multiplies by 0"),
    ("Softmax", "is saturated (its inputs differ by {0})", "spread"),
    ("Div dividend_zero", "divides 0"),
    ("Arctan2 all_zero", "is at (0, 0), where its slope counts as 0 (NaN in JAX)"),
    ("Abs reached_zero", "is at 0, where its slope counts as 0 (1 in JAX)"),
    ("Norm value_zero", "is at 0, where its slope counts as 0, as in PyTorch (NaN elsewhere)"),
    ("Relu one_reached", "is off ({0})", "highest"),
    ("Relu", "is off (at most {0})", "highest"),
    ("Sigmoid|Tanh one_reached", "is saturated ({0})", "nearest"),
    ("Sigmoid|Tanh", "is saturated (from {0})", "nearest"),
    ("improbable", "takes probabilities between 0 and 1 ({0})", "range"),
    ("CosineSimilarity any_zero", "reads zeros, where its slope counts as 0"),
    ("open_limits", "is at or beyond its limits ({0})", "range"),
    ("Clip", "is beyond its limits ({0})", "range"),
    ("one_value", "has a derivative of 0 at {0}", "highest"),
    ("", "has a derivative of 0 here"),
)
"""Why a block sends 0 back: words that follow its name."""

_SMALLER = "Keep its input near 0: start with smaller weights, or normalise it."
FLAT_CURES: Rules = (
    ("underflows", ""),
    ("cancels whole_softmax summed", WHOLE),
    ("cancels", ""),
    ("product", ""),
    ("improbable", "Give it logits, with given set to logits."),
    ("single", "{0}", "single_cure"),
    ("Relu", "Use LeakyRelu, start with other weights, or add a loss that is not flat here."),
    ("Ceil|Floor|Round", "Leave it out, or use a StraightThrough block."),
    ("Sign", "Soften it with Tanh, or use a StraightThrough block."),
    ("Clip", "Start within its limits, or use a StraightThrough block (hard: the Clip)."),
    ("Sigmoid|Tanh", _SMALLER),
    ("Softmax", "Keep its inputs near each other: start with smaller weights, or divide them."),
)
"""What would help where a block sends 0 back; nothing where only another run can tell."""

VALUE_CURES: Rules = (
    ("Exp", "{0}", "instead"),
    (
        "LogSoftmax|Softmax masked",
        "Leave one of them unmasked, or mask with a large negative number.",
    ),
    ("LogSoftmax|Softmax", ""),
    ("limit", "{0}", "limit"),
    (
        "Div zero by_norm",
        "Add a small number to the denominator; JAX and TensorFlow need √(Σx² + a small number) "
        "instead of {0}.",
        "divisor",
    ),
    ("Div zero by_root", "Add a small number under the root of {0}.", "divisor"),
    (
        "Div zero by_nonnegative",
        "Add a small number to the denominator, or clip it from below.",
    ),
    (
        "Log zero complement",
        "Use −Softplus(x) instead of Log of 1 − Sigmoid, or give the logits to BinaryCrossEntropy.",
    ),
    (
        "Log after_softmax",
        "Use LogSoftmax instead of Log of Softmax, or give the logits to CrossEntropy.",
    ),
    (
        "Log zero after_sigmoid",
        "Use −Softplus(−x) instead of Log of Sigmoid, or give the logits to BinaryCrossEntropy.",
    ),
    ("Mul zero infinite", "Choose by a Where instead of multiplying by 0."),
    *((f"{kind} zero", text) for kind, text in AT_ZERO.items()),
    *CURES.items(),
    ("wider", IN_FLOAT32),
)
"""What keeps the value of a block finite, which some elements of its inputs made not so."""
