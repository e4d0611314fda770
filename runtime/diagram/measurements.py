"""What a program measured in its own run, kept with the diagram of that run, not in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.model import Diagram, Page
    from gradwire.runtime.diagram.paths import PortPath


class Short(Protocol):
    """An array in short, as ``runtime.calculus.measuring`` has it."""

    @property
    def elements(self) -> int:
        """The number of elements."""

    @property
    def size(self) -> float:
        """The root mean square of what is finite."""

    @property
    def wild(self) -> tuple[int, int, int]:
        """How many are NaN, ∞ and −∞."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Numbers of one run and one loss, in short."""

    of: Mapping[str, Page]
    """The pages of the diagram that they hold for."""
    loss: PortPath
    gradients: Mapping[str, Short | None]
    """By the paths of variables."""
    arriving: Sequence[Short]
    """What gradient came to intermediate results."""
    sums: Sequence[tuple[float, float]]
    """Gradients that were added up: the root mean square of the sum, and of its largest term."""
    values: Mapping[str, Short]
    """Intermediate results by port."""
    compare: Callable[[], Comparison | None]
    """Compares the numbers of the diagram with these, by a run of it."""

    @cached_property
    def comparison(self) -> Comparison | None:
        """How they compare; it takes a run."""
        return self.compare()

    def hold_for(self, diagram: Diagram) -> bool:
        """Whether a diagram has all its blocks and wires, and so computes the same."""
        return diagram.pages.keys() == self.of.keys() and all(
            page.blocks is self.of[name].blocks and page.wires is self.of[name].wires
            for name, page in diagram.pages.items()
        )
