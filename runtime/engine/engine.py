"""What a session needs of an engine: the protocol that all engines keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from gradwire.blocks.errors import RunError
from gradwire.blocks.values import Array

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Writer: TypeAlias = Callable[[Array], None]
"""Writes a leaf: copies an array of its shape, cast to its dtype."""
Reader: TypeAlias = Callable[[], Array]
"""Returns one result of the last run, as an array that aliases nothing."""


class LostProcessError(RunError):
    """Several processes computed together, and one of them is gone."""


class PlanWork(Protocol):
    """A piece of the work of a plan, for profiling."""

    @property
    def values(self) -> Sequence[Value]:
        """The values that it writes."""

    @property
    def covers(self) -> Sequence[Value]:
        """Every value that it computes, including those it never writes."""


class Plan(Protocol):
    """Computes some values of a trace from its leaves, as often as it is run.

    What a leaf was written stays for all later runs. Not thread-safe.
    """

    @property
    def leaves(self) -> Collection[Value]:
        """The leaves that the outputs depend on, which must be written before a run."""

    @property
    def bytes(self) -> int:
        """Bytes of memory for intermediate values and results, as far as it is known."""

    @property
    def parts(self) -> Sequence[tuple[Callable[[], object], PlanWork]]:
        """The steps of a run in order, each with the work that it is a part of: for profiling."""

    def __len__(self) -> int:
        """Number of steps."""

    def writer(self, leaf: Value) -> Writer:
        """Writes one of ``leaves``."""

    def run(self) -> None:
        """Compute the outputs.

        Raises RunError with the block that failed, and Interrupted where the run is cancelled.
        """

    def reader(self, value: Value) -> Reader:
        """Returns an output after each run."""

    def read(self, value: Value) -> Array:
        """An output after a run, as its ``reader`` returns it."""


class EngineMemory(Protocol):
    """Leaves where an engine has them, for loops that read and write them."""

    def writer(self, leaf: Value) -> Writer:
        """Writes a leaf."""

    def read(self, leaf: Value) -> Array:
        """What a leaf is now, as an array that aliases nothing."""


class LoopPhase(NamedTuple):
    """A part of an iteration: computes values, and then writes some of them into leaves.

    All are computed from the leaves as they were before. ``rows`` are leaves that get new numbers
    before this stage in each iteration. A stage that is run several ``times`` in each iteration
    gets new ones for each time.
    """

    writes: Mapping[Value, Value]
    """New values by leaf, of the leaf's shape and dtype."""
    results: tuple[Value, ...] = ()
    """Values to return from each iteration."""
    rows: tuple[Value, ...] = ()
    times: int = 1
    guard: Value | None = None
    """A boolean leaf: where it is false, nothing is written, and the results are 0."""
    hands_on: Mapping[Value, Value] = MappingProxyType({})
    """New values of leaves that only later stages of the same iteration read."""


class Loop(Protocol):
    """Runs the stages of an iteration, one after another, many times in one call. Not thread-safe.

    Leaves that are no rows are read from a memory, and those that a stage writes stay there.
    """

    @property
    def leaves(self) -> Collection[Value]:
        """The leaves that must be in the memory before a run."""

    def start(self, rows: Sequence[Sequence[Array]]) -> Callable[[], list[list[Array]]]:
        """Start as many iterations as there are rows, and return without waiting for them.

        ``rows`` has, for each stage, an array for each of its rows, whose axis 0 counts the
        iterations, and axis 1 the times of a stage. What is returned waits, and returns the results
        in the same order: for each stage an array for each of its results, with the same axes
        before its own. It raises RunError with the block that failed.
        """


class Engine(Protocol):
    """Plans and runs values of a trace. One engine may serve several sessions."""

    @property
    def name(self) -> str:
        """Its name, as ``Session(engine=…)`` takes it."""

    @property
    def device(self) -> str:
        """Where it computes, in words, for people."""

    @property
    def updates_in_place(self) -> bool:
        """Whether training reads and updates variables in arrays of NumPy, see ``Resident``;
        otherwise it is a ``LoopingEngine``.
        """

    def unfit(self, values: Sequence[Value]) -> str | None:
        """Why it should not compute these values of a trace, as a clause; None if it may."""

    def plan(self, outputs: Sequence[Value], *, rows: Collection[Value] = ()) -> Plan:
        """Plan the computation of some values; raises LimitError without memory for them.

        ``rows`` are leaves whose axis 0 is that of a batch, which several devices may share.
        """


class LoopingEngine(Engine, Protocol):
    """An engine that keeps the variables while they are trained."""

    def memory(self, *, rows: Collection[Value] = ()) -> EngineMemory:
        """An empty memory; see ``plan`` for ``rows``."""

    def loop(self, stages: Sequence[LoopPhase], memory: Any) -> Loop:
        """Plan iterations that write leaves, as training does, on a memory of this engine."""
