"""Local derivatives: those of one block by itself, at the values of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.terms import split_term
from gradwire.runtime.calculus import sweep, unwrap
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import CAST, LEAF, WIRE
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.lessons.derivative.notation import LATEX, FormulaText

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.flat import Instance
    from gradwire.runtime.engine.program import Program


# Derivative rules as formulas: what a block sends back to each input, read off its own rules.


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


MOST_ELEMENTS = 4096
"""Elements of the largest Jacobian that is computed."""


@dataclass(frozen=True, eq=False)
class LocalDerivative:
    """The derivative of an output with respect to an input.

    ``elementwise`` is in the shape of the output: element by element ∂out/∂input, for blocks that
    work so; None for the others. ``jacobian`` has the shape of the output, then that of the input;
    None if it has more than MOST_ELEMENTS elements. Both None where nothing goes back.
    """

    output: str
    input: str
    elementwise: Array | None
    jacobian: Array | None


class LocalBlock:
    """A block of a run by itself, with its inputs as variables.

    ``inputs`` and ``outputs`` are the arrays of the run by port.
    """

    def __init__(
        self,
        program: Program,
        instance: Instance,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self._program = program
        self._instance = instance
        self._block = IsolatedBlock(instance.block, inputs)

    def returned(self, arriving: Mapping[str, Array]) -> dict[str, Array | None]:
        """What goes back to each input for what arrives at outputs; None where nothing does."""
        return self._block.gradients(arriving)

    def rules(self) -> dict[str, str | None]:
        """The LaTeX of what goes back to each input; see
        ``gradwire.runtime.lessons.derivative.local``.
        """
        return rules(self._block)

    def number(self, output: str, port: str) -> Array | None:
        """∂output/∂input where both have one element, in the shape of the input; None where they
        have more, and where nothing goes back.
        """
        made = self.outputs[output]
        if made.size != 1 or self.inputs[port].size != 1:
            return None
        return self.returned({output: np.ones_like(made)})[port]

    def derivative(self, output: str, port: str) -> LocalDerivative:
        """The derivative of an output with respect to an input."""
        return LocalDerivative(
            output, port, self._elementwise(output, port), self._jacobian(output, port)
        )

    def _elementwise(self, output: str, port: str) -> Array | None:
        made = self.outputs[output]
        if not _works_elementwise(self._program, self._instance, output, port):
            return None
        try:
            wide = np.array(np.broadcast_to(self.inputs[port], made.shape))
            block = IsolatedBlock(self._instance.block, {**self.inputs, port: wide})
            return block.gradients({output: np.ones_like(made)})[port]
        except (GradwireError, ValueError):  # its inputs must have other shapes
            return None

    def _jacobian(self, output: str, port: str) -> Array | None:
        made, given = self.outputs[output], self.inputs[port]
        if made.size * given.size > MOST_ELEMENTS:
            return None
        rows = []
        for index in range(made.size):
            row = self.row(output, port, index)
            if row is None:
                return None
            rows.append(row)
        return np.array(rows, given.dtype).reshape(made.shape + given.shape)

    def row(self, output: str, port: str, index: int) -> Array | None:
        """One row of a Jacobian, in the shape of the input, by one vector–Jacobian product: that of
        the element ``index`` of the output, counted in row-major order.
        """
        arriving = np.zeros_like(self.outputs[output])
        arriving.reshape(-1)[index] = 1
        return self.returned({output: arriving})[port]


def local_block(
    program: Program, path: InstancePath, values: Mapping[str, Array]
) -> LocalBlock | None:
    """The block at a path by itself; None for sources, for blocks with trees or a Gradient inside,
    and where an array of the run is missing.
    """
    instance = program.instances[path]
    sources = {port: program.flat.source(source) for port, (_, source) in instance.wires.items()}
    outputs = {name: instance.port(name) for name in instance.block.output_names()}
    if isinstance(instance.block, Source | Gradient) or not sources:
        return None
    if not all(port in values for port in (*sources.values(), *outputs.values())):
        return None
    inputs = {port: values[source] for port, source in sources.items()}
    made = {name: values[port] for name, port in outputs.items()}
    try:
        return LocalBlock(program, instance, inputs, made)
    except GradwireError:
        return None  # by itself it can't run, for a reason that the run shows


def _works_elementwise(program: Program, instance: Instance, output: str, port: str) -> bool:
    """Whether only elementwise operations lie between an input of a block and an output."""
    start, end = program.wires[instance.wires[port][0]], program.ports[instance.port(output)]
    depends: dict[Value, bool] = {start: True}
    for value in program.trace.values[start.index + 1 : end.index + 1]:
        if not any(depends.get(source) for source in value.inputs):
            continue
        if not (value.primitive.elementwise or value.primitive in (CAST, WIRE)):
            return False
        depends[value] = True
    return depends.get(end, False) and is_float(start.dtype)
