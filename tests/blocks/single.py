"""One block in a diagram of its own: every input is a source, the first output is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.library.shape import Cast
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName, PortPath
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from gradwire.blocks import Block, Source

Array = NDArray[Any]
NAME, PROBE = "block", "probe"


def floats(*rows: Any) -> Array:
    """A float64 array; differences of it are accurate."""
    return np.array(rows, dtype=np.float64)


class Single:
    """A block whose inputs are the given arrays: floats as variables, the rest as constants."""

    def __init__(self, block: Block, **inputs: Any) -> None:
        self.block = block
        self.inputs = {name: np.asarray(value) for name, value in inputs.items()}
        places = {port: f"in_{port.replace('.', '_')}" for port in self.inputs}
        self.places = places
        blocks = {places[port]: _source(array) for port, array in self.inputs.items()}
        wires = {PortName(NAME, p): PortName(place, "out") for p, place in places.items()}
        self.output = f"{NAME}.{block.outputs[0]}"
        blocks[NAME] = block
        self._extend(blocks, wires)
        wires[PortName(PROBE, "x")] = PortName.parse(self.output)
        blocks[PROBE] = Cast(dtype="float64")
        self.session = Session(Diagram(pages={MAIN: Page(blocks=blocks, wires=wires)}))

    def _extend(self, blocks: dict[str, Block], wires: dict[PortName, PortName]) -> None:
        """Put more behind the block, and look at that."""

    @property
    def traced(self) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of the first output, as tracing says."""
        program = self.session.program
        value = program.ports[program.flat.source(PortPath(self.output))]
        return value.shape, value.dtype

    def value(self, **changes: Array) -> Array:
        """The first output, some inputs changed."""
        for port, array in (self.inputs | changes).items():
            if array.dtype.kind == "f":
                self.session.set(self.places[port], array)
        return self.session.run().values[self.output]

    def gradients(self, seed: Any = None) -> dict[str, Array | None]:
        """d(seed · first output)/d(input) by input port; None where nothing passes."""
        if self.block.head:
            run = self.session.backward([self.output])
        else:
            given = np.ones(self.traced[0]) if seed is None else seed
            run = self.session.backward([PROBE], out_gradients={PROBE: given})
        return {port: run.gradients.get(place) for port, place in self.places.items()}


class Slope(Single):
    """Looks at the gradient of sum(output²) with respect to one input, to differentiate again."""

    def __init__(self, block: Block, wrt: str, **inputs: Any) -> None:
        self.wrt = wrt
        super().__init__(block, **inputs)

    def _extend(self, blocks: dict[str, Block], wires: dict[PortName, PortName]) -> None:
        blocks |= {"square": Square(), "slope": Gradient()}
        wires |= {
            PortName("square", "x"): PortName.parse(self.output),
            PortName("slope", "of"): PortName("square", "out"),
            PortName("slope", "wrt"): PortName(self.places[self.wrt], "out"),
        }
        self.output = "slope.out"


def value(block: Block, **inputs: Any) -> Array:
    """The first output of a block."""
    return Single(block, **inputs).value()


def gradients(block: Block, seed: Any = None, **inputs: Any) -> dict[str, Array | None]:
    """The gradients of a block's inputs; ones as the gradient of its first output by default."""
    return Single(block, **inputs).gradients(seed)


def differences(single: Single, port: str, seed: Array, step: float = 1e-6) -> Array:
    """Central differences of ``sum(seed * output)`` by the elements of one input."""
    result = np.zeros_like(single.inputs[port])
    for index in np.ndindex(result.shape):
        direction = np.zeros_like(result)
        direction[index] = 1
        result[index] = difference(single, port, seed, direction, step)
    return result


def difference(
    single: Single, port: str, seed: Array, direction: Array, step: float = 1e-6
) -> float:
    """The central difference of ``sum(seed * output)`` as one input moves in this direction."""
    x = single.inputs[port]
    after, before = (
        np.sum(seed * single.value(**{port: x + sign * step * direction})) for sign in (1, -1)
    )
    return float(after - before) / (2 * step)


def _source(array: Array) -> Source:
    if array.dtype.kind == "f":
        return Variable(value=array, dtype=array.dtype.name)
    return Constant(value=array, dtype=array.dtype.name)
