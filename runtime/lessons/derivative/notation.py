"""Formulas of primitives, as LaTeX and as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

LONGEST = 240
"""Characters of a formula; a longer one explains nothing."""
SUM, PRODUCT, POWER, ATOM = range(4)
"""How tightly the outermost operation of a formula binds."""
_SAME = frozenset({"wire", "cast", "broadcast_to", "reshape", "loss_head"})
"""Primitives that change the form of a value but not what a formula says of it."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula. ``constant`` is the number if it is one; ``is_truth`` marks Iverson brackets."""

    text: str
    binds: int = ATOM
    constant: float | None = None
    is_truth: bool = False


@dataclass(frozen=True, slots=True)
class _Operation:
    """How a primitive is written: a template, and what the operands must bind at least."""

    template: str
    operands: tuple[int, ...] = (SUM, SUM)
    binds: int = ATOM
    is_truth: bool = False


@dataclass(frozen=True)
class Notation:
    """How formulas look. ``unknown`` stands for an array that no formula describes."""

    operations: Mapping[str, _Operation]
    functions: Mapping[str, str]
    minus: str
    group: str
    bracket: str
    upright: str
    underscore: str
    negation: str
    separator: str
    unknown: str

    def written(self, value: Value, names: Mapping[Value, Formula]) -> str:
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

    def number(self, value: float) -> Formula:
        """A number as a constant."""
        text = number(value)
        binds = SUM if text.startswith("−") else ATOM
        return Formula(text.replace("−", self.minus), binds, float(value))

    def _formula(self, value: Value, inputs: list[Formula]) -> Formula:
        name = value.primitive.name
        if value.primitive is CONSTANT:
            array = value.attributes["array"]
            is_one = array.size and (array == array.flat[0]).all()
            return self.number(array.flat[0]) if is_one else Formula(self.unknown)
        if name in _SAME:
            return inputs[0]
        if name == "where":
            return self._where(*inputs)
        return self._simpler(name, inputs) or self._applied(name, inputs)

    def _simpler(self, name: str, inputs: list[Formula]) -> Formula | None:
        """Without a factor of 1 or −1."""
        if name == "divide" and inputs[1].constant == 1:
            return inputs[0]
        for one, other in (inputs, inputs[::-1]) if name == "multiply" else ():
            if one.constant == 1:
                return other
            if one.constant == -1:
                return self._applied("negative", [other])
        return None

    def _applied(self, name: str, inputs: Sequence[Formula]) -> Formula:
        operation = self.operations.get(name)
        if operation is None:
            arguments = self.separator.join(formula.text for formula in inputs)
            title = name.replace("_", self.underscore)
            function = self.functions.get(name) or self.upright.format(title)
            return Formula(f"{function}{self.group.format(arguments)}")
        parts = (
            formula.text if formula.binds >= wanted else self.group.format(formula.text)
            for formula, wanted in zip(inputs, operation.operands, strict=False)
        )
        truth = operation.is_truth or (name == "logical_and" and all(x.is_truth for x in inputs))
        return Formula(operation.template.format(*parts), operation.binds, is_truth=truth)

    def _where(self, condition: Formula, a: Formula, b: Formula) -> Formula:
        """A bracket times what is chosen, where the other is 0; else a function."""
        if b.constant == 0:
            chosen = condition if condition.is_truth else self._truth(condition.text)
            return self._product(a, chosen)
        if a.constant == 0:
            return self._product(b, self._truth(f"{self.negation}{condition.text}"))
        return self._applied("choose", (condition, a, b))

    def _product(self, a: Formula, b: Formula) -> Formula:
        return self._simpler("multiply", [a, b]) or self._applied("multiply", [a, b])

    def _truth(self, text: str) -> Formula:
        return Formula(self.bracket.format(text), is_truth=True)


def _comparisons(bracket: str, signs: Mapping[str, str]) -> dict[str, _Operation]:
    return {
        name: _Operation(bracket.format(f"{{}} {sign} {{}}"), is_truth=True)
        for name, sign in signs.items()
    }


LATEX = Notation(
    operations={
        "add": _Operation("{} + {}", (SUM, PRODUCT), SUM),
        "subtract": _Operation("{} - {}", (SUM, PRODUCT), SUM),
        "negative": _Operation("-{}", (PRODUCT,), SUM),
        "multiply": _Operation(r"{} \cdot {}", (PRODUCT, PRODUCT), PRODUCT),
        "divide": _Operation(r"\frac{{{}}}{{{}}}", binds=POWER),
        "matmul": _Operation(r"{}\, {}", (PRODUCT, PRODUCT), PRODUCT),
        "power": _Operation("{}^{{{}}}", (ATOM, SUM), POWER),
        "square": _Operation("{}^{{2}}", (ATOM,), POWER),
        "sqrt": _Operation(r"\sqrt{{{}}}"),
        "exp": _Operation("e^{{{}}}", binds=POWER),
        "abs": _Operation(r"\left|{}\right|"),
        "sum": _Operation(r"\sum {}", (PRODUCT,), PRODUCT),
        "permute_dims": _Operation(r"{}^{{\top}}", (ATOM,), POWER),
        "inverse": _Operation("{}^{{-1}}", (ATOM,), POWER),
        "solve": _Operation(r"{}^{{-1}} {}", (ATOM, PRODUCT), PRODUCT),
        "log_determinant": _Operation(r"\ln\left|\det {}\right|", (ATOM,)),
        "logical_and": _Operation("{} {}", (ATOM, ATOM)),
        "choose": _Operation(r"\mathrm{{where}}\left({},\, {},\, {}\right)", (SUM,) * 3),
        **_comparisons(
            r"\left[{}\right]",
            {
                "less": "<", "less_equal": r"\leq", "equal": "=",
                "greater": ">", "greater_equal": r"\geq", "not_equal": r"\neq",
            },
        ),
    },
    functions={
        "log": r"\ln", "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "tanh": r"\tanh",
        "arcsin": r"\arcsin", "arccos": r"\arccos", "arctan": r"\arctan", "sinh": r"\sinh",
        "cosh": r"\cosh", "arcsinh": r"\operatorname{arsinh}",
        "arccosh": r"\operatorname{arcosh}", "arctanh": r"\operatorname{artanh}",
        "maximum": r"\max", "minimum": r"\min", "sigmoid": r"\sigma",
        "determinant": r"\det", "cholesky": r"\mathrm{chol}",
        "conv2d": r"\mathrm{conv}", "conv2d_x": r"\mathrm{conv}^{\top}",
    },
    minus="-",
    group=r"\left({}\right)",
    bracket=r"\left[{}\right]",
    upright=r"\mathrm{{{}}}",
    underscore=r"\_",
    negation=r"\neg\, ",
    separator=r",\, ",
    unknown=r"\ldots",
)  # fmt: skip
PLAIN = Notation(
    operations={
        "add": _Operation("{} + {}", (SUM, PRODUCT), SUM),
        "subtract": _Operation("{} − {}", (SUM, PRODUCT), SUM),
        "negative": _Operation("−{}", (PRODUCT,), SUM),
        "multiply": _Operation("{} × {}", (PRODUCT, PRODUCT), PRODUCT),
        "divide": _Operation("{} / {}", (PRODUCT, POWER), PRODUCT),
        "matmul": _Operation("{} @ {}", (PRODUCT, POWER), PRODUCT),
        "power": _Operation("{}^{}", (ATOM, ATOM), POWER),
        "square": _Operation("{}²", (ATOM,), POWER),
        "sqrt": _Operation("√{}", (ATOM,), POWER),
        "abs": _Operation("|{}|"),
        "permute_dims": _Operation("{}ᵀ", (ATOM,), POWER),
        "inverse": _Operation("{}⁻¹", (ATOM,), POWER),
        "solve": _Operation("{}⁻¹ {}", (ATOM, PRODUCT), PRODUCT),
        "log_determinant": _Operation("ln |det {}|", (ATOM,)),
        "logical_and": _Operation("{} {}", (ATOM, ATOM)),
        "choose": _Operation("where({}, {}, {})", (SUM,) * 3),
        **_comparisons(
            "[{}]",
            {
                "less": "<", "less_equal": "≤", "equal": "=",
                "greater": ">", "greater_equal": "≥", "not_equal": "≠",
            },
        ),
    },
    functions={
        "log": "ln", "maximum": "max", "minimum": "min", "conv2d": "conv", "conv2d_x": "convᵀ",
        "determinant": "det", "cholesky": "chol",
    },
    minus="−",
    group="({})",
    bracket="[{}]",
    upright="{}",
    underscore="_",
    negation="not ",
    separator=", ",
    unknown="…",
)  # fmt: skip
