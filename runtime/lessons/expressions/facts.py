"""What a lesson's expressions ask of a diagram: gradients, values, states, open stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.observing import observe
from gradwire.runtime.flow.tools.contracts import Contract, Outcome, check_contracts, needs_run
from gradwire.runtime.lessons.recording import RunRecording, record_step

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Run, Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.lessons.expressions.wording import Trial
    from gradwire.runtime.lessons.misconceptions import Wrong
    from gradwire.runtime.lessons.timeline import Timeline

NO_TRIALS: Mapping[Trial, ObservedFlow] = MappingProxyType({})


class Facts:
    """The facts about one state of a diagram, for the sum of some losses; all if none are given.

    They are computed when they are first asked for, and belong to the values that the session had
    then. Every method raises RunError for a path that means nothing, and what
    ``Session.backward`` does.
    """

    def __init__(self, session: Session, losses: Sequence[str] = ()) -> None:
        self.session = session
        self._losses = list(losses) or None
        self._each: dict[str, Facts] = {}
        self._tried: dict[Trial, Facts] = {}

    def tried(self, steps: Trial) -> Facts:
        """The facts with these interventions made, in a copy. Raises ChangeError."""
        from gradwire.runtime.flow.tools.repairs import trial  # few texts try anything

        if steps not in self._tried:
            self._tried[steps] = Facts(trial(self.session, steps)[0], self._losses or ())
        return self._tried[steps]

    @cached_property
    def _recording(self) -> RunRecording:
        return record_step(self.session, self._losses)

    @cached_property
    def timeline(self) -> Timeline:
        """The recorded training step."""
        from gradwire.runtime.lessons.timeline import timeline_of  # texts ask for numbers alone

        return timeline_of(self._recording)

    @property
    def observed(self) -> ObservedFlow:
        """The states of all wires."""
        return self._recording.observed

    @property
    def diagram(self) -> Diagram:
        """What the facts are about."""
        return self.session.diagram

    @property
    def _run(self) -> Run:
        return self._recording.run

    @property
    def _program(self) -> Program:
        return self.session.program

    @cached_property
    def backpropagation(self) -> tuple[Mapping[InstancePath, Array], Wrong]:
        """The gradients of the variables block by block, right and with each misconception; none
        of a diagram that is too large for all of these passes.
        """
        from gradwire.runtime.lessons.misconceptions import MOST_BLOCKS, Backpropagation

        way = Backpropagation(self.timeline)
        if len(way) > MOST_BLOCKS:
            return {}, []
        return way.gradients(), way.wrong_gradients()

    def gradient(self, path: str, loss: str = "") -> Array | None:
        """The gradient of a variable, or what arrives at a port; None if nothing does."""
        if loss:
            return self._of(loss).gradient(path)
        run, program = self._run, self._program
        if not run.losses:
            raise RunError(
                "There is no loss, so nothing has a gradient.",
                next_step="Put a Loss block behind what is to become small.",
            )
        name = program.flat.canonical(path)
        if name in program.sources("variable"):
            return run.gradients.get(name)
        port = program.flat.source(PortPath(path))
        if port in program.ports:
            return self._arriving(port)
        raise _unknown("variable", path, [*program.sources("variable"), *program.ports])

    def value(self, name: str) -> Array:
        """The value of a port, or of a block with one output."""
        program = self._program
        port = program.flat.source(PortPath.named(name))
        found = self._run.values.get(port)
        if found is not None:
            return found
        if port in program.ports:
            raise RunError(f"The value of {name} is too large to be kept.")
        raise _unknown("value", name, [port.short for port in program.ports])

    def state(self, target: str) -> str:
        """The name of the state of the wire into a port."""
        wires = self._program.wire_sources
        if WirePath(target) not in wires:
            raise _unknown("wire", target, [*wires])
        return str(self.observed.state(target))

    def is_open(self, stop: str) -> bool:
        """Whether a StopGradient lets gradient pass."""
        diagram = self.diagram
        address = resolve(diagram, InstancePath(stop))
        block = None if address is None else address.block(diagram)
        if not isinstance(block, StopGradient):
            stops = [*map(str, self._program.instances)]
            raise _unknown("StopGradient", stop, stops)
        return block.open

    def outcome(self, contract: Contract) -> Outcome:
        """The outcome of a contract."""
        observed = observe(self.session, self._losses) if needs_run([contract]) else None
        flow = analyse(self.session.program, self._losses)
        return check_contracts([contract], observed, flow, self.session.diagram.training)[0]

    def _arriving(self, port: PortPath) -> Array | None:
        return self.observed.arriving(port)

    def _of(self, loss: str) -> Facts:
        if loss not in self._each:
            self._each[loss] = Facts(self.session, [loss])
        return self._each[loss]


class FlowFacts(Facts):
    """The facts about a run that has been analysed: nothing is computed for them.

    A gradient of a loss that was not run on its own is an error, as are contracts and a what-if
    that is not among the ``trials``.
    """

    def __init__(
        self,
        flow: ObservedFlow,
        diagram: Diagram,
        loss: str | None = None,
        trials: Mapping[Trial, ObservedFlow] = NO_TRIALS,
        steps: Trial = (),
    ) -> None:
        self._flow, self._diagram, self._loss = flow, diagram, loss
        self._trials, self._steps = trials, steps

    def tried(self, steps: Trial) -> Facts:
        """The facts with these interventions made. Raises RunError if they were not."""
        steps = (*self._steps, *steps)
        flow = self._trials.get(steps)
        if flow is None:
            raise RunError("This what-if has not been computed.")
        return FlowFacts(flow, self._diagram, self._loss, self._trials, steps)

    @property
    def observed(self) -> ObservedFlow:
        """The flow itself."""
        return self._flow

    @property
    def diagram(self) -> Diagram:
        """The diagram that was run."""
        return self._diagram

    @property
    def _run(self) -> Run:
        run = self._flow.run(self._loss)
        if run is None:
            raise RunError(f"There is no run of {self._loss or 'all losses'}.")
        return run

    @property
    def _program(self) -> Program:
        return self._flow.flow.program

    def outcome(self, contract: Contract) -> Outcome:
        """Raises RunError: contracts need a session."""
        raise RunError("A contract has no value.")

    def _arriving(self, port: PortPath) -> Array | None:
        return self._flow.arriving(port, self._loss)

    def _of(self, loss: str) -> Facts:
        return FlowFacts(self._flow, self._diagram, loss, self._trials, self._steps)


def _unknown(what: str, path: str, known: Sequence[str]) -> RunError:
    return RunError(
        f"There is no {what} {path!r}.",
        next_step=did_you_mean(path, known),
    )
