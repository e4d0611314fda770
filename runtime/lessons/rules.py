"""Derivative rules as formulas: what a block sends back to each input, read off its own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from blocks.terms import split_term
from runtime.calculus import sweep, unwrap
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.base import LEAF
from runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.flow.numbers.isolated import IsolatedBlock

LONGEST = 240
"""Characters of a formula; a longer one explains nothing."""
_SUM, _PRODUCT, _POWER, _ATOM = range(4)
"""How tightly the outermost operation of a formula binds."""


@dataclass(frozen=True, slots=True)
class _Formula:
    text: str
    binds: int = _ATOM

    def within(self, binds: int) -> str:
        return self.text if self.binds >= binds else rf"\left({self.text}\right)"


_Writer: TypeAlias = Callable[..., _Formula]


def rules(block: IsolatedBlock) -> dict[str, str | None]:
    """For each input of a block the LaTeX of the gradient that goes back to it.

    ``g`` is the gradient that arrives at the output, ``y`` the output itself; of several outputs
    ``g_1``, ``y_1`` and so on. The formula is written from the rule that computes the gradient.
    None where nothing goes back, empty where the formula would be too long.
    """
    outputs = block.output_values()
    names: dict[Value, str] = {}
    heads = []
    for index, value in enumerate(outputs, 1):
        mark = "" if len(outputs) == 1 else f"_{{{index}}}"
        if not is_float(value.dtype):
            continue
        seed = value.trace.apply(LEAF, shape=value.shape, dtype=value.dtype)
        names[unwrap(value)], names[seed] = f"y{mark}", f"g{mark}"
        heads.append((value, seed))
    leaves = block.input_values()
    names |= {leaf: port_name(port) for port, leaf in leaves.items()}
    found = sweep(heads, leaves.values())
    return {
        port: None if leaf not in found else _written(found[leaf], names)
        for port, leaf in leaves.items()
    }


def port_name(port: str) -> str:
    """The name of a port as LaTeX."""
    letters, index = split_term(port)
    text = letters if len(letters) == 1 else rf"\mathrm{{{letters}}}".replace("_", r"\_")
    return f"{text}_{{{index}}}" if index else text


def _written(value: Value, names: Mapping[Value, str]) -> str:
    """The formula of a value; empty if it is too long."""
    known: dict[Value, _Formula] = {v: _Formula(name) for v, name in names.items()}
    pending = [value]
    while pending:
        current = pending[-1]
        missing = [source for source in current.inputs if source not in known]
        if current in known or not missing:
            pending.pop()
            if current not in known:
                known[current] = _formula(current, [known[source] for source in current.inputs])
            if len(known[current].text) > LONGEST:
                return ""
            continue
        pending += missing
    return known[value].text


def _formula(value: Value, inputs: list[_Formula]) -> _Formula:
    name = value.primitive.name
    if name == "constant":
        array = value.attributes["array"]
        is_one = array.size and (array == array.flat[0]).all()
        return _Formula(number(array.flat[0]).replace("−", "-")) if is_one else _Formula(r"\ldots")
    if name in _SAME:
        return inputs[0]
    if name in _WRITERS:
        return _WRITERS[name](*inputs)
    if name == "permute_dims":
        return _Formula(rf"{inputs[0].within(_ATOM)}^{{\top}}", _POWER)
    arguments = r",\, ".join(formula.text for formula in inputs)
    title = _FUNCTIONS.get(name) or rf"\mathrm{{{name}}}".replace("_", r"\_")
    return _Formula(rf"{title}\left({arguments}\right)")


def _multiply(a: _Formula, b: _Formula) -> _Formula:
    for one, other in ((a, b), (b, a)):
        if one.text == "1":
            return other
        if one.text == "-1":
            return _negative(other)
    return _Formula(rf"{a.within(_PRODUCT)} \cdot {b.within(_PRODUCT)}", _PRODUCT)


def _divide(a: _Formula, b: _Formula) -> _Formula:
    return a if b.text == "1" else _Formula(rf"\frac{{{a.text}}}{{{b.text}}}", _POWER)


def _negative(a: _Formula) -> _Formula:
    return _Formula(f"-{a.within(_PRODUCT)}", _SUM)


def _infix(sign: str) -> _Writer:
    def write(a: _Formula, b: _Formula) -> _Formula:
        return _Formula(f"{a.text} {sign} {b.within(_PRODUCT)}", _SUM)

    return write


def _compared(sign: str) -> _Writer:
    """An Iverson bracket: 1 where it holds, else 0."""

    def write(a: _Formula, b: _Formula) -> _Formula:
        return _Formula(rf"\left[{a.text} {sign} {b.text}\right]")

    return write


def _where(condition: _Formula, a: _Formula, b: _Formula) -> _Formula:
    """A bracket times what is chosen, where the other is 0; else a function."""
    if b.text == "0":
        return _multiply(a, _bracket(condition))
    if a.text == "0":
        return _multiply(b, _Formula(rf"\left[\neg\, {condition.text}\right]"))
    arguments = r",\, ".join(formula.text for formula in (condition, a, b))
    return _Formula(rf"\mathrm{{where}}\left({arguments}\right)")


def _bracket(condition: _Formula) -> _Formula:
    is_one = condition.text.startswith(r"\left[")
    return condition if is_one else _Formula(rf"\left[{condition.text}\right]")


_SAME = frozenset({"wire", "cast", "broadcast_to", "reshape", "loss_head"})
"""Primitives that change the form of a value but not what a formula says of it."""
_WRITERS: Mapping[str, _Writer] = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "matmul": lambda a, b: _Formula(rf"{a.within(_PRODUCT)}\, {b.within(_PRODUCT)}", _PRODUCT),
    "power": lambda a, b: _Formula(f"{a.within(_ATOM)}^{{{b.text}}}", _POWER),
    "square": lambda a: _Formula(f"{a.within(_ATOM)}^{{2}}", _POWER),
    "sqrt": lambda a: _Formula(rf"\sqrt{{{a.text}}}"),
    "exp": lambda a: _Formula(f"e^{{{a.text}}}", _POWER),
    "abs": lambda a: _Formula(rf"\left|{a.text}\right|"),
    "sum": lambda a: _Formula(rf"\sum {a.within(_PRODUCT)}", _PRODUCT),
    "where": _where,
    "logical_and": lambda a, b: _Formula(rf"{a.within(_ATOM)} {b.within(_ATOM)}"),
    "less": _compared("<"),
    "less_equal": _compared(r"\leq"),
    "greater": _compared(">"),
    "greater_equal": _compared(r"\geq"),
    "equal": _compared("="),
    "not_equal": _compared(r"\neq"),
}
_FUNCTIONS: Mapping[str, str] = {
    "log": r"\ln",
    "sin": r"\sin",
    "cos": r"\cos",
    "tan": r"\tan",
    "tanh": r"\tanh",
    "maximum": r"\max",
    "minimum": r"\min",
    "sigmoid": r"\sigma",
}
