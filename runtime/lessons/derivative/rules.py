"""Derivative rules as formulas: what a block sends back to each input, read off its own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.terms import split_term
from gradwire.runtime.calculus import sweep, unwrap
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.lessons.derivative.notation import LATEX, FormulaText

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.flow.numbers.isolated import IsolatedBlock


def rules(block: IsolatedBlock) -> dict[str, str | None]:
    """For each input of a block the LaTeX of the gradient that goes back to it.

    ``g`` is the gradient that arrives at the output, ``y`` the output itself; of several outputs
    ``g_1``, ``y_1`` and so on. The formula is written from the rule that computes the gradient.
    None where nothing goes back, empty where the formula would be too long.
    """
    outputs = block.output_values()
    names: dict[Value, FormulaText] = {}
    heads = []
    for index, value in enumerate(outputs, 1):
        mark = "" if len(outputs) == 1 else f"_{{{index}}}"
        if not is_float(value.dtype):
            continue
        seed = value.trace.apply(LEAF, shape=value.shape, dtype=value.dtype)
        names[unwrap(value)], names[seed] = FormulaText(f"y{mark}"), FormulaText(f"g{mark}")
        heads.append((value, seed))
    leaves = block.input_values()
    names |= {leaf: FormulaText(port_name(port)) for port, leaf in leaves.items()}
    found = sweep(heads, leaves.values())
    return {
        port: None if leaf not in found else LATEX.written(found[leaf], names)
        for port, leaf in leaves.items()
    }


def port_name(port: str) -> str:
    """The name of a port as LaTeX."""
    letters, index = split_term(port)
    text = letters if len(letters) == 1 else rf"\mathrm{{{letters}}}".replace("_", r"\_")
    return f"{text}_{{{index}}}" if index else text
