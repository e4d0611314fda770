"""One block of a run in a diagram of its own, where any gradient can be made to arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.library.sources import Constant, Variable
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram import MAIN, Diagram, Page, PortName
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from gradwire.blocks.block import Block, Source
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value

NAME = InstancePath("block")


class IsolatedBlock:
    """A block whose inputs are arrays: floats are variables of their dtype, others constants.

    Raises what a Session does, where the block does not take these inputs.
    """

    def __init__(self, block: Block, inputs: Mapping[str, Array]) -> None:
        self._places = {port: f"in_{i}" for i, port in enumerate(inputs)}
        blocks: dict[str, Block] = {
            self._places[port]: _source(array) for port, array in inputs.items()
        }
        blocks[NAME] = block
        wires = {
            PortName(NAME, port): PortName(place, "out") for port, place in self._places.items()
        }
        self._session = Session(Diagram({MAIN: Page(blocks, wires)}))

    def input_values(self) -> dict[str, Value]:
        """The traced values of the inputs, by port."""
        leaves = self._session.program.leaves
        return {port: leaves[place].value for port, place in self._places.items()}

    def output_values(self) -> list[Value]:
        """The traced values of the outputs, in order."""
        program = self._session.program
        names = program.instances[NAME].block.output_names()
        return [program.ports[NAME.port(name)] for name in names]

    def outputs(self, inputs: Mapping[str, Array], ports: list[str]) -> dict[str, Array]:
        """The values of output ports, with other values for some of the inputs."""
        for port, array in inputs.items():
            self._session.set(self._places[port], array)
        wanted = [NAME.port(port) for port in ports]
        values = self._session.run(ports=wanted).values
        return {port: values[NAME.port(port)] for port in ports}

    def gradients(self, arriving: Mapping[str, Array]) -> dict[str, Array | None]:
        """What comes back at each input for what arrives at outputs."""
        ports: dict[str, Array] = {NAME.port(port): a for port, a in arriving.items()}
        run = self._session.backward([*ports], out_gradients=ports)
        return {port: run.gradients.get(place) for port, place in self._places.items()}


def _source(array: Array) -> Source:
    kind = Variable if is_float(array.dtype.name) else Constant
    return kind(value=array, dtype=array.dtype.name)
