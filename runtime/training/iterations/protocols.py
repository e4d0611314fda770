"""What a trainer needs of whatever makes its iterations: in place, or in a loop of an engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.training.records import DivergedError, StepRecord


class Stateful(Protocol):
    """An optimiser or an average, with a state of its own."""

    @property
    def name(self) -> str:
        """Its name in the recipe."""

    @property
    def updates(self) -> int:
        """Updates since the start."""

    def state(self) -> dict[str, Array]:
        """Copies of its arrays, by name."""

    def restore(self, arrays: Mapping[str, Array], updates: int) -> None:
        """Take over what ``state`` returned."""


@by_identity
class Sizes(NamedTuple):
    """The variables that an optimiser moves, as they are after an iteration, and the gradients that
    moved them.
    """

    paths: Sequence[str]
    lengths: Sequence[int]
    """Elements of each."""
    values: Array
    """Sums of the squares of their elements."""
    gradients: Array
    """Sums of the squares of the elements of their gradients, after clipping."""


class OptimiserStep(Stateful, Protocol):
    """An optimiser."""

    @property
    def missing(self) -> Sequence[str]:
        """Variables without a gradient."""

    @property
    def norm(self) -> float | None:
        """The Euclidean norm of its last gradient before clipping; None without a gradient."""

    def sizes(self) -> list[Sizes]:
        """The sizes of its variables and gradients; nothing without a gradient."""

    def value(self, path: str) -> Array:
        """A copy of a variable as it is now."""

    def take_flag(self) -> bool:
        """Whether its passes since the last call made a number that is not finite of others."""


class Iterations(Protocol):
    """Makes iterations of a recipe on a session's variables."""

    @property
    def program(self) -> Program:
        """The program that they run."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """What calls of the session hold."""

    @property
    def optimisers(self) -> Sequence[OptimiserStep]:
        """The optimisers, in the order of the recipe."""

    @property
    def moving(self) -> Collection[str]:
        """The paths of the variables that iterations move."""

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or iteration."""

    def parts(self) -> Iterator[tuple[str, Sequence[Stateful]]]:
        """The optimisers and the averages, with what they are called in states."""

    def refresh(self) -> None:
        """Take over what was set in the session."""

    def assigned(self) -> Mapping[str, Array]:
        """What was set in the session, by path, but for the variables that move."""

    def restore(self, variables: Mapping[str, Array]) -> None:
        """Let the variables that move have these values."""

    def make(self, first: int, count: int) -> tuple[list[StepRecord], DivergedError | None]:
        """Make up to ``count`` iterations, of which ``first`` is the number of the first.

        Returns what they did, and an error if the one that follows these diverged: the session is
        as it was in that pass, and the iteration does not count.
        """
