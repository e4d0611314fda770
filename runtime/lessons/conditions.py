"""Expressions of lessons: goals, conditions and the numbers in texts. Parsed, never executed.

    grad("b") == 2 * grad("a")
    state("mul1.a") == "STOPPED" and not open("sg")
    abs(value("mul1") - 9) < 0.5

``grad("w")`` is the gradient of a variable for the losses of the step, None if it gets none;
``grad("w", "loss")`` that of one loss; with a port, such as ``grad("mul1.out")``, what arrives
there. ``value("mul1")`` and ``value("split.rest")`` are values, ``state("mul1.a")`` the state of
the wire into a port, ``open("sg")`` whether a StopGradient is open. ``opened(grad("w"), "sg")``,
``closed(…, "sg")`` and ``cut(…, "mul1.a")`` are what an expression would be worth with stops opened
or closed, or wires cut. Numbers, texts,
``+ − * / **``, ``abs sum mean max min norm size``, ``[0]``, comparisons, ``is None``, ``and``,
``or`` and ``not`` work on them; ``size`` is the number of elements. Arrays are compared element by
element, and all have to agree. Two numbers are equal within 1e-6 of the larger. None equals
nothing and is neither larger nor smaller; arithmetic with it is an error.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.flow.tools.contracts import REQUIREMENTS, Contract, parse_contracts
from gradwire.runtime.lessons.expressions.evaluation import ExpressionEvaluation, Value
from gradwire.runtime.lessons.expressions.grammar import ConditionError, parse
from gradwire.runtime.lessons.expressions.wording import condition_words, contract_words

if TYPE_CHECKING:
    from gradwire.runtime.lessons.expressions.facts import Facts


@dataclass(frozen=True)
class Condition:
    """An expression that has been parsed."""

    text: str
    tree: ast.expr

    @property
    def functions(self) -> frozenset[str]:
        """The names of the functions that it calls, such as ``grad``."""
        calls = (node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return frozenset(called.id for called in calls if isinstance(called, ast.Name))

    def value(self, facts: Facts) -> Value:
        """What it is worth; raises ConditionError."""
        with np.errstate(all="ignore"):
            return ExpressionEvaluation(self.text, facts).of(self.tree)

    def holds(self, facts: Facts) -> bool:
        """Whether it is true. Raises ConditionError, also for what is neither true nor false."""
        with np.errstate(all="ignore"):
            return ExpressionEvaluation(self.text, facts).truth(self.tree)

    @property
    def words(self) -> str:
        """What it is about, without what that is compared with, which may be the answer."""
        return condition_words(self.tree)

    def reason(self, facts: Facts) -> str:
        """Why it does not hold: what its first comparison that fails compares is now."""
        with np.errstate(all="ignore"):
            return ExpressionEvaluation(self.text, facts).reason(self.tree)


@dataclass(frozen=True)
class ContractGoal:
    """A contract in the place of an expression, such as ``blocked(loss -> w)``."""

    text: str
    contract: Contract

    @property
    def words(self) -> str:
        """What the contract asks for."""
        return contract_words(self.contract)

    def holds(self, facts: Facts) -> bool:
        """Whether the contract is kept."""
        return self._breach(facts) == ""

    def reason(self, facts: Facts) -> str:
        """What breaks it."""
        return self._breach(facts)

    def _breach(self, facts: Facts) -> str:
        try:
            return next((breach.sentence for breach in facts.outcome(self.contract).breaches), "")
        except GradwireError as error:
            raise ConditionError.of(error, 0) from error


Goal: TypeAlias = Condition | ContractGoal


def parse_goal(text: str) -> Goal:
    """A goal: an expression or a contract. Raises ConditionError."""
    name = text.partition("(")[0].strip()
    if name not in REQUIREMENTS:
        return parse_condition(text)
    try:
        contracts = parse_contracts(text)
    except FileError as error:
        raise ConditionError(error.what, expected=error.expected, got=error.got) from None
    return ContractGoal(text, contracts[0])


def parse_condition(text: str) -> Condition:
    """The expression in a text. Raises ConditionError with the character that is wrong."""
    return Condition(text, parse(text))
