"""Gives shapes and numbers to the names of a formula that nothing else determines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.lowering import lower

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.blocks.block import Block, Shape
    from gradwire.blocks.formulas.reading import ParsedFormula
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.engine.program import Program

_MOST_TRIES = 200
"""Shapes that are tried at most."""
_ROWS, _INPUTS, _OUTPUTS = 4, 3, 2
"""Examples in data of two axes, and lengths of the axes of a weight."""


def with_shapes(diagram: Diagram, formula: ParsedFormula) -> dict[str, Block]:
    """By name, the sources of a formula with what they need so that the diagram runs.

    ``diagram`` has the formula's blocks, the shapes of its free names still open. What the blocks
    around a source determine stays open. Scalars are 1; a factor of a matrix product is drawn,
    data are small numbers, biases are 0. Where no shape fits, a source stays as it is.
    """
    if not formula.free:
        return {}
    determined = _shapes(lower(diagram), formula)
    chosen = _Search(diagram, formula).run(determined)
    chosen |= _biases(diagram, formula, chosen)
    return {
        name: made
        for name in formula.free
        if (made := _filled(formula, name, chosen.get(name), is_open=name not in determined))
        is not None
    }


class _Search:
    """Tries shapes for one name after the other, and takes them back where others don't fit."""

    def __init__(self, diagram: Diagram, formula: ParsedFormula) -> None:
        self._diagram, self._formula = diagram, formula
        self._tries = _MOST_TRIES
        self._best: dict[str, Shape] = {}

    def run(self, known: dict[str, Shape]) -> dict[str, Shape]:
        """The shapes of as many names as possible: those of factors first, data before weights."""
        self._best = dict(known)
        self._go_on({}, known)
        return self._best

    def _go_on(self, given: dict[str, Shape], known: dict[str, Shape]) -> bool:
        """Whether all names that are open can have shapes."""
        formula = self._formula
        if len(known) > len(self._best):
            self._best = dict(known)
        order = sorted(
            formula.free, key=lambda name: (name not in formula.factors, name not in formula.data)
        )
        name = next((name for name in order if name not in known), None)
        if name is None:
            return True
        for shape in _candidates(formula, name):
            if self._tries == 0:
                return False
            self._tries -= 1
            program = lower(self._diagram, given | {name: shape})
            if not _conflicts(program, formula):
                after = known | _shapes(program, formula)
                if name in after and self._go_on(given | {name: shape}, after):
                    return True
        return False


def _candidates(formula: ParsedFormula, name: str) -> Iterator[Shape]:
    """Shapes to try for a name, the likeliest first."""
    is_data = name in formula.data
    if name not in formula.factors:
        yield from ((), (_ROWS,), (_ROWS, _OUTPUTS), (_ROWS, _INPUTS))
        yield (_OUTPUTS, _INPUTS, 8, 8) if is_data else (_ROWS, _INPUTS, 3, 3)  # images, filters
        return
    on_left = formula.factors[name]
    if is_data:
        yield from ([(_ROWS, _INPUTS)] if on_left else [(_INPUTS,), (_INPUTS, _ROWS)])
    square = (_INPUTS, _INPUTS)
    yield from ([(_OUTPUTS, _INPUTS)] if on_left else [(_INPUTS, _OUTPUTS)])
    yield from ((_OUTPUTS, _OUTPUTS), square, (_INPUTS,), (_OUTPUTS,), (_ROWS,))


def _biases(diagram: Diagram, formula: ParsedFormula, known: dict[str, Shape]) -> dict[str, Shape]:
    """One axis for each variable that is no factor, where broadcasting gives the same result."""
    found: dict[str, Shape] = {}
    for name, shape in known.items():
        if name in formula.factors or name in formula.data or len(shape) < 2:
            continue
        program = lower(diagram, known | found | {name: shape[-1:]})
        if not _conflicts(program, formula):
            found[name] = shape[-1:]
    return found


def _shapes(program: Program, formula: ParsedFormula) -> dict[str, Shape]:
    """The shapes of those free names that have one."""
    paths = {name: InstancePath(name) for name in formula.free}
    leaves = program.leaves
    return {name: leaves[path].value.shape for name, path in paths.items() if path in leaves}


def _conflicts(program: Program, formula: ParsedFormula) -> bool:
    """Whether a block other than an open source can't be traced."""
    return any(
        problem.severity == "error" and problem.location.block not in formula.free
        for problem in program.diagnostics
    )


def _filled(
    formula: ParsedFormula, name: str, shape: Shape | None, *, is_open: bool
) -> Block | None:
    """The source with a value, or with a shape that its initialiser fills; None if as it is."""
    source = formula.free[name].node.block
    if shape is None:
        return None
    updates: dict[str, object]
    if name in formula.data:
        updates = {"value": _numbers(shape)}
    elif not shape:
        updates = {"value": 1.0}
    else:
        updates = {"shape": list(shape)} if is_open or name.startswith("b") else {}
        if name.startswith("b"):
            updates["initialiser"] = "zeros"
    return type(source).from_record(updates) if updates else None


def _numbers(shape: Shape) -> object:
    """Numbers of data that are easily told apart: 1, or halves from −1 to 1.5."""
    if not shape:
        return 1.0
    count = int(np.prod(shape))
    return ((np.arange(count) % 6 - 2) / 2.0).reshape(shape).tolist()
