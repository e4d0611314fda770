"""The timeline of a training step: forward, seed, backward and update, one event for each block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from numpy import typing as npt

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.runtime.engine.flat import topological_order
from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.gc_pause import uncollected
from gradwire.runtime.lessons.recording import RunRecording, record_step
from gradwire.runtime.lessons.steps import Phase, Steps
from gradwire.runtime.training.optimisers import SGD

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.session import Optimiser
    from gradwire.runtime.lessons.steps import Step

_Event: TypeAlias = "tuple[Phase, InstancePath, PortPath | None, Value | None]"


class Detail(StrEnum):
    """What an event is: a block that has its turn, or one of the primitives inside it."""

    BLOCK = "block"
    PRIMITIVE = "primitive"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens: a block computes, a loss is seeded, a gradient passes through a
    block or ends there, a variable is updated.

    ``position`` counts from 1; the event has happened at that position of the timeline and after.
    ``port`` is the loss that a seed starts. ``primitive`` is that which computes, or at which
    gradient arrives, where steps are by primitive.
    """

    position: int
    phase: Phase
    path: InstancePath
    port: PortPath | None = None
    primitive: Value | None = field(default=None, compare=False)


class Timeline:
    """The recorded events of one training step; ``record`` makes it.

    Everything that was computed is kept, so going to any position, back too, computes nothing.
    Positions go from 0, where nothing has happened, to ``len(timeline)``, where the step is done.
    """

    def __init__(self, program: Program, steps: Steps, detail: Detail = Detail.BLOCK) -> None:
        self.program = program
        self.steps = steps
        self.detail = detail
        found = _events(program, steps)
        if detail is Detail.PRIMITIVE:
            found = (part for event in found for part in _by_primitive(steps, event))
        self.events = tuple(Event(at, *event) for at, event in enumerate(found, 1))
        self._firsts = {(e.phase, e.path): e.position for e in reversed(self.events)}
        self._lasts = {(e.phase, e.path): e.position for e in self.events}

    def __len__(self) -> int:
        """Number of events, which is the last position."""
        return len(self.events)

    @cached_property
    def phases(self) -> Mapping[Phase, range]:
        """The positions of the events of each phase that has any."""
        found: dict[Phase, range] = {}
        for event in self.events:
            first = found[event.phase].start if event.phase in found else event.position
            found[event.phase] = range(first, event.position + 1)
        return found

    def event(self, position: int) -> Event | None:
        """The event that has just happened at a position; None at the start.

        Raises RunError for a position that the timeline does not have.
        """
        if not 0 <= position <= len(self.events):
            raise RunError(
                "The timeline has no such position.",
                expected=f"0 to {len(self.events)}",
                got=str(position),
            )
        return self.events[position - 1] if position else None

    def step(self, position: int) -> Step | None:
        """What has just happened at a position, with its numbers; None at the start.

        Raises RunError for a position that the timeline does not have.
        """
        event = self.event(position)
        return None if event is None else self._step(event)

    def position(self, phase: Phase, path: InstancePath) -> int | None:
        """The position of the last event of a block in a phase; None if it has none."""
        return self._lasts.get((phase, path))

    def by(self, detail: Detail) -> Timeline:
        """The same run in steps of blocks, or of the primitives inside them."""
        return self if detail is self.detail else Timeline(self.program, self.steps, detail)

    def counterpart(self, event: Event | None) -> int:
        """The position of an event of the same run in other steps: the first of its block."""
        if event is None:
            return 0
        if event.phase is Phase.SEED:
            return next(e.position for e in self.events if e.port == event.port)
        return self._firsts[event.phase, event.path]

    # ---- what is known at a position ----------------------------------------------------------

    def shows_value(self, port: PortPath, position: int) -> bool:
        """Whether the value of a port has been computed."""
        return self._has_happened(Phase.FORWARD, self.program.flat.source(port).block, position)

    def shows_gradient(self, wire: WirePath, position: int) -> bool:
        """Whether it is known what a wire brings back, be it an array or None.

        None is known once the block at the end of the wire has had its turn; where no gradient
        arrives, once the whole backward pass is done.
        """
        target = self.program.wire_targets.get(wire.whole)
        if target is not None and (Phase.BACKWARD, target) in self._lasts:
            return self._has_happened(Phase.BACKWARD, target, position)
        return position >= self._end_of_backward

    def shows_sum(self, port: PortPath, position: int) -> bool:
        """Whether everything that arrives at a port has been added up."""
        block = self.program.flat.source(port).block
        if (Phase.BACKWARD, block) in self._firsts:
            return self._firsts[Phase.BACKWARD, block] <= position
        return position >= self._end_of_backward

    def is_updated(self, variable: InstancePath, position: int) -> bool:
        """Whether the optimiser has had its turn with a variable."""
        return self._has_happened(Phase.UPDATE, variable, position)

    def _has_happened(self, phase: Phase, path: InstancePath, position: int) -> bool:
        at = self._lasts.get((phase, path))
        return at is not None and at <= position

    @cached_property
    def _end_of_backward(self) -> int:
        before = [span[-1] for phase, span in self.phases.items() if phase is not Phase.UPDATE]
        return max(before, default=0)

    # ---- going to a position ------------------------------------------------------------------

    def events_of(self, paths: Collection[InstancePath]) -> list[Event]:
        """The events of these blocks, and of all blocks inside these pages, in order."""
        return [
            event
            for event in self.events
            if any(event.path == path or event.path.is_inside(path) for path in paths)
        ]

    def following(self, position: int, paths: Collection[InstancePath]) -> int:
        """The next position with an event of one of these blocks or pages; ``position`` itself if
        there is none.
        """
        later = (e.position for e in self.events_of(paths) if e.position > position)
        return next(later, position)

    def preceding(self, position: int, paths: Collection[InstancePath]) -> int:
        """Like ``following``, towards the start."""
        earlier = [e.position for e in self.events_of(paths) if e.position < position]
        return earlier[-1] if earlier else position

    def search(self, wanted: Callable[[Step], bool], position: int = 0) -> int | None:
        """The first position after ``position`` whose step is ``wanted``, such as one of the
        ``breakpoints``; None if there is none.
        """
        events = until_cancelled(self.events[position:])
        return next((event.position for event in events if wanted(self._step(event))), None)

    def _step(self, event: Event) -> Step:
        return self.steps.of(event.phase, event.path, event.port, event.primitive)


@explained
@uncollected()
def record(
    session: Session,
    losses: Sequence[str] | None = None,
    *,
    feeds: Mapping[str, npt.ArrayLike] | None = None,
    optimiser: Optimiser | None = None,
    detail: Detail = Detail.BLOCK,
) -> Timeline:
    """Run a training step without changing the session, and return its timeline.

    Steps are by block or, with ``detail``, by primitive. The ``optimiser``, SGD(lr=0.1) by
    default, computes what the variables would become; pass a copy of one that has a state. Without
    losses only the forward pass is recorded. Arrays are kept up to ``recording.MOST_BYTES``; of
    larger runs, the largest are left out, and the steps say so.

    Raises what ``Session.backward`` does.
    """
    return timeline_of(record_step(session, losses, feeds), optimiser, detail)


def timeline_of(
    recording: RunRecording, optimiser: Optimiser | None = None, detail: Detail = Detail.BLOCK
) -> Timeline:
    """The timeline of a training step that has been recorded; see ``record``."""
    observed, run, values = recording
    rule = optimiser if optimiser is not None else SGD()
    updated = rule.update(values, run.gradients) if run.losses else {}
    return Timeline(observed.program, Steps(observed, run, values, updated, rule), detail)


def _events(program: Program, steps: Steps) -> Iterator[_Event]:
    """The events of a training step, in order."""
    order = [instance.path for instance in topological_order(program.flat)[0]]
    yield from ((Phase.FORWARD, path, None, None) for path in order if steps.has_value(path))
    yield from ((Phase.SEED, port.block, port, None) for port in steps.run.losses)
    receiving = (path for path in reversed(order) if steps.receives(path))
    yield from ((Phase.BACKWARD, path, None, None) for path in receiving)
    yield from ((Phase.UPDATE, path, None, None) for path in order if path in steps.trained)


def _by_primitive(steps: Steps, event: _Event) -> Iterator[_Event]:
    """The events inside a block; that of the block where nothing inside can be shown."""
    phase, path, port, _ = event
    inside = steps.inside(path) if phase in (Phase.FORWARD, Phase.BACKWARD) else None
    primitives: Sequence[Value] = ()
    if inside is not None:
        primitives = inside.forward if phase is Phase.FORWARD else inside.backward
    yield from ((phase, path, port, primitive) for primitive in primitives)
    if not primitives:
        yield event
