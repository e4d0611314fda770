"""Formulas of primitives, as LaTeX and as plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.primitives.base import BROADCAST, CAST, CONSTANT, RESHAPE, WIRE
from gradwire.runtime.calculus.primitives.elementwise import DIVIDE, MULTIPLY, NEGATIVE
from gradwire.runtime.calculus.primitives.gradient import LOSS_HEAD
from gradwire.runtime.calculus.primitives.logic import LOGICAL_AND, WHERE
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Primitive, Value

LONGEST = 240
"""Characters of a formula; a longer one explains nothing."""
SUM, PRODUCT, POWER, ATOM = range(4)
"""How tightly the outermost operation of a formula binds."""
_BINDS = {"sum": SUM, "product": PRODUCT, "power": POWER, "atom": ATOM}
_OPERAND = re.compile(r"(?<![\w\\])([abc])(?::(product|power|atom)|(?!\w))")
"""An input in the spelling of a primitive."""
_SAME = frozenset({WIRE, CAST, BROADCAST, RESHAPE, LOSS_HEAD})
"""Primitives that change the form of a value but not what a formula says of it."""


@dataclass(frozen=True, slots=True)
class FormulaText:
    """A formula. ``constant`` is the number if it is one; ``is_truth`` marks Iverson brackets."""

    text: str
    binds: int = ATOM
    constant: float | None = None
    is_truth: bool = False


@dataclass(frozen=True)
class Notation:
    """How formulas look: as rows spell primitives under its name, and what lies between them.

    ``unknown`` stands for an array that no formula describes.
    """

    name: str
    minus: str
    group: str
    bracket: str
    upright: str
    underscore: str
    negation: str
    separator: str
    unknown: str

    def written(self, value: Value, names: Mapping[Value, FormulaText]) -> str:
        """The formula of a value in terms of named ones; empty if it is too long."""
        known = dict(names)
        pending = [value]
        while pending:
            current = pending[-1]
            missing = [source for source in current.inputs if source not in known]
            if current in known or not missing:
                pending.pop()
                if current not in known:
                    known[current] = self._formula(current, [known[x] for x in current.inputs])
                if len(known[current].text) > LONGEST:
                    return ""
                continue
            pending += missing
        return known[value].text

    def number(self, value: float) -> FormulaText:
        """A number as a constant."""
        text = number(value)
        binds = SUM if text.startswith("−") else ATOM
        return FormulaText(text.replace("−", self.minus), binds, float(value))

    def _formula(self, value: Value, inputs: list[FormulaText]) -> FormulaText:
        primitive = value.primitive
        if primitive is CONSTANT:
            array = value.attributes["array"]
            is_one = array.size and (array == array.flat[0]).all()
            return self.number(array.flat[0]) if is_one else FormulaText(self.unknown)
        if primitive in _SAME:
            return inputs[0]
        if primitive is WHERE:
            return self._where(*inputs)
        return self._simpler(primitive, inputs) or self._applied(primitive, inputs)

    def _simpler(self, primitive: Primitive, inputs: list[FormulaText]) -> FormulaText | None:
        """Without a factor of 1 or −1."""
        if primitive is DIVIDE and inputs[1].constant == 1:
            return inputs[0]
        for one, other in (inputs, inputs[::-1]) if primitive is MULTIPLY else ():
            if one.constant == 1:
                return other
            if one.constant == -1:
                return self._applied(NEGATIVE, [other])
        return None

    def _applied(self, primitive: Primitive, inputs: Sequence[FormulaText]) -> FormulaText:
        spelled = getattr(primitive.spelling, self.name)
        if spelled is None:
            spelled = self.upright.format(primitive.name.replace("_", self.underscore))
        text, binds = (spelled, "atom") if isinstance(spelled, str) else spelled
        if not _OPERAND.search(text):
            arguments = self.separator.join(formula.text for formula in inputs)
            return FormulaText(f"{text}{self.group.format(arguments)}")

        def operand(match: re.Match[str]) -> str:
            formula, wanted = inputs["abc".index(match[1])], _BINDS[match[2] or "sum"]
            return formula.text if formula.binds >= wanted else self.group.format(formula.text)

        both = primitive is LOGICAL_AND and all(formula.is_truth for formula in inputs)
        is_truth = both or text.startswith(self.bracket.split("{}")[0])
        return FormulaText(_OPERAND.sub(operand, text), _BINDS[binds], is_truth=is_truth)

    def _where(self, condition: FormulaText, a: FormulaText, b: FormulaText) -> FormulaText:
        """A bracket times what is chosen, where the other is 0; else a function."""
        if b.constant == 0:
            chosen = condition if condition.is_truth else self._truth(condition.text)
            return self._product(a, chosen)
        if a.constant == 0:
            return self._product(b, self._truth(f"{self.negation}{condition.text}"))
        return self._applied(WHERE, (condition, a, b))

    def _product(self, a: FormulaText, b: FormulaText) -> FormulaText:
        return self._simpler(MULTIPLY, [a, b]) or self._applied(MULTIPLY, [a, b])

    def _truth(self, text: str) -> FormulaText:
        return FormulaText(self.bracket.format(text), is_truth=True)


LATEX = Notation(
    name="latex",
    minus="-",
    group=r"\left({}\right)",
    bracket=r"\left[{}\right]",
    upright=r"\mathrm{{{}}}",
    underscore=r"\_",
    negation=r"\neg\, ",
    separator=r",\, ",
    unknown=r"\ldots",
)
PLAIN = Notation(
    name="plain",
    minus="−",
    group="({})",
    bracket="[{}]",
    upright="{}",
    underscore="_",
    negation="not ",
    separator=", ",
    unknown="…",
)
