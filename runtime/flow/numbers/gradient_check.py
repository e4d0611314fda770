"""Gradient checks: the derivative of every block against a central difference, where a run is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.gradient import Gradient, StopGradient
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.progress_bars import bar

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.flat import Instance
    from gradwire.runtime.engine.program import Program

FINE, COARSE = (1e-5, 1e-4), (1e-2, 3e-2)
"""Length of a step against values of about 1, and the share by which slopes may differ: where a
block computes in float64, and where it rounds to fewer digits."""


@dataclass(frozen=True, slots=True)
class Check:
    """One block: its derivative along a random direction, by its rule and by a difference.

    ``excuse`` says why they may differ: by the rule, or because there is no derivative here.
    """

    block: str
    rule: float
    difference: float
    agrees: bool
    excuse: str = ""

    @property
    def is_wrong(self) -> bool:
        """They differ, and nothing excuses it."""
        return not (self.agrees or self.excuse)

    @property
    def sentence(self) -> str:
        """``✓ mul1``, or what differs from what, and the excuse if there is one."""
        if self.agrees:
            return f"✓ {self.block}"
        slopes = f"its rule gives {number(self.rule)}, a difference {number(self.difference)}"
        return f"{self.mark} {self.block}: {slopes}{f' ({self.excuse})' if self.excuse else ''}"

    @property
    def comparison(self) -> str:
        """Both slopes, whether they agree or not, and the excuse if there is one."""
        slopes = (
            f"Along a random direction the rule gives {number(self.rule)}, "
            f"a central difference {number(self.difference)}"
        )
        return f"{self.mark} {slopes}{f': {self.excuse}' if self.excuse else ''}."

    @property
    def mark(self) -> str:
        """``✓`` where they agree, ``≈`` where something excuses that they do not, else ``✗``."""
        return "✓" if self.agrees else "✗" if self.is_wrong else "≈"


@explained
def check_gradients(session: Session, paths: Iterable[str] | None = None) -> list[Check]:
    """A check of each block that makes floats of floats, each by itself, in float64, at the values
    of a run; blocks that take trees, and Gradient blocks, are left out.

    Raises what ``run`` raises.
    """
    program, values = session.program, session.run().values
    wanted = list(program.instances if paths is None else paths)
    with bar("Derivatives", len(wanted)) as shown:
        found = [_checked(program, InstancePath(path), values) for path in shown.over(wanted)]
    return [check for check in found if check is not None]


def _checked(program: Program, path: InstancePath, values: Mapping[str, Array]) -> Check | None:
    instance = program.instances[path]
    sources = {port: source for port, (_, source) in instance.wires.items()}
    outputs = [instance.port(name) for name in instance.block.output_names()]
    ports = [program.flat.source(port) for port in (*sources.values(), *outputs)]
    if isinstance(instance.block, Gradient) or not all(port in values for port in ports):
        return None
    inputs = {port: values[program.flat.source(source)] for port, source in sources.items()}
    moved = [port for port, array in inputs.items() if is_float(array.dtype.name) and array.size]
    made = [
        port
        for port in outputs
        if is_float(values[port].dtype.name) and not _is_held_back(program, instance, port)
    ]
    if not (moved and made):
        return None
    slopes = _Slopes(instance, inputs, moved, [port.port for port in made])
    try:
        rule, left, right, share = slopes.found()
    except GradwireError:
        return None  # in float64 it takes other shapes or dtypes than here
    difference = (left + right) / 2
    size = max(abs(rule), abs(difference), share)
    agrees = abs(rule - difference) <= share * size
    kink = abs(left - right) > max(0.1 * size, share)
    excuse = "" if agrees else _excuse(instance.block, kink)
    return Check(path, rule, difference, agrees, excuse)


def _is_held_back(program: Program, instance: Instance, port: PortPath) -> bool:
    """Whether a block stops the gradient of one of its outputs, as BatchNorm that of statistics."""
    stops = program.ports[port].primitive.stops
    return stops and not isinstance(instance.block, StopGradient)


def _excuse(block: Block, kink: bool) -> str:
    if isinstance(block, StopGradient):
        return "it stops the gradient"
    if block.surrogate:
        return "its rule is not the derivative"
    return "there is a kink or a jump here" if kink else ""


class _Slopes:
    """A block in a diagram of its own, with floats as float64, and its slopes there."""

    def __init__(
        self, instance: Instance, inputs: Mapping[str, Array], moved: list[str], made: list[str]
    ) -> None:
        exact = {
            port: array.astype(np.float64) if is_float(array.dtype.name) else array
            for port, array in inputs.items()
        }
        self._values = {port: exact[port] for port in moved}
        self._block = IsolatedBlock(instance.block, exact)
        self._made = made
        self._random = np.random.default_rng(crc32(instance.path.encode()))

    def found(self) -> tuple[float, float, float, float]:
        """The slope along a random direction: by the rule, to the left and to the right; and the
        share by which they may differ.
        """
        draw = self._random.standard_normal
        way = {port: draw(array.shape) for port, array in self._values.items()}
        here = self._at(way, 0.0)
        weights = {port: draw(array.shape).astype(array.dtype) for port, array in here.items()}
        fine = all(array.dtype == np.float64 for array in here.values())
        step, share = FINE if fine else COARSE

        def weighed(found: Mapping[str, Array]) -> float:
            with np.errstate(all="ignore"):
                return sum(
                    float((weights[port] * array).sum(dtype=np.float64))
                    for port, array in found.items()
                )

        left, middle, right = (weighed(self._at(way, step * side)) for side in (-1, 0, 1))
        self._at(way, 0.0)
        gradients = self._block.gradients(weights)
        rule = sum(
            float((gradient * way[port]).sum())
            for port in way
            if (gradient := gradients[port]) is not None
        )
        return rule, (middle - left) / step, (right - middle) / step, share

    def _at(self, way: Mapping[str, Array], step: float) -> dict[str, Array]:
        """The outputs, so many steps along the way."""
        moved = {port: array + step * way[port] for port, array in self._values.items()}
        return self._block.outputs(moved, self._made)
