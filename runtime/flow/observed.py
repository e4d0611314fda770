"""Flow after a run: structural states refined by the numbers, and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.arguments import explained
from blocks.errors import RunError
from blocks.library.gradient import Gradient
from blocks.paths import path_text
from runtime.diagram.paths import InstancePath, PortPath, WirePath
from runtime.engine.norms import rms
from runtime.flow.analyse import Flow, analyse
from runtime.flow.numbers.contributions import Contributions
from runtime.flow.numbers.flat_spots import Zero
from runtime.flow.numbers.magnitudes import measure
from runtime.flow.numbers.origins import Origin, Values
from runtime.flow.numbers.rules import THRESHOLDS, Thresholds, classify, classify_each
from runtime.flow.structure.leaves import together
from runtime.flow.structure.stops import StoppedPort, closed_stops, stopped_ports
from runtime.flow.structure.surrogates import surrogates
from runtime.flow.words.formatting import number
from runtime.flow.words.numeric_sentences import NumericSentences
from runtime.flow.words.states import State, Verdict

if TYPE_CHECKING:
    from runtime.diagram import Diagram
    from runtime.engine import Run, Session
    from runtime.engine.program import Program

Array = NDArray[Any]
ALL = PortPath()
"""Key of the run of all losses together."""
_SUMMED = 4
"""Losses that a sum names; of more the first two and the last."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Terms that cancel at a port: the size of their sum, and of the largest of them."""

    port: str
    total: float
    largest: float

    @property
    def sentence(self) -> str:
        """What the badge CANCELS says."""
        share = self.total / self.largest
        return f"CANCELS: the sum at {self.port} is {number(share)} of its largest term."


def flow_of_run(
    program: Program,
    run: Run | Mapping[str, Run],
    losses: Sequence[str] | None = None,
    thresholds: Thresholds = THRESHOLDS,
    diagram: Diagram | None = None,
) -> ObservedFlow:
    """The states and sentences of a run.

    A run with several losses has their sum. For numbers per loss, pass a mapping with a run for
    each under its port, and the sum under "". ``diagram`` is what was run; it shows what is stale.
    Raises RunError for a loss that does not exist.
    """
    runs: dict[str, Run] = dict(run) if isinstance(run, Mapping) else {_name(run): run}
    if losses is None:
        losses = next((r.losses for r in (runs.get(ALL), *runs.values()) if r is not None), ())
    return ObservedFlow(analyse(program, losses), runs, thresholds, diagram)


@explained
def observe(
    session: Session,
    losses: Sequence[str] | None = None,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> ObservedFlow:
    """Run the losses together, and each by itself, and judge what comes back; raises what
    ``backward`` does.

    The session's accumulated gradients stay as they are.
    """
    flow = analyse(session.program, losses)
    runs = run_losses(session, flow, feeds=feeds) if flow.losses else {}
    return ObservedFlow(flow, runs or {}, thresholds, session.diagram)


def run_losses(
    session: Session,
    flow: Flow,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    most: int | None = None,
    superseded: Callable[[], bool] = lambda: False,
) -> dict[str, Run] | None:
    """The runs that an observation is made of: of the sum of several losses, under ALL, and of each
    loss, under its port. Of more than ``most`` losses only the sum is run.

    None where the runs were superseded on the way. The session's accumulated gradients stay as
    they are. Raises what ``backward`` does.
    """
    heads, kept = flow.losses, dict(session.gradients)
    groups = {ALL if len(heads) != 1 else heads[0]: heads}
    if len(heads) > 1 and (most is None or len(heads) <= most):
        groups |= {head: (head,) for head in heads}
    adjoints: Literal["all", "stops"] = "all" if _differentiates(flow.program) else "stops"
    runs: dict[str, Run] = {}
    try:
        for name, group in groups.items():
            if not runs:
                first = session.backward(group, feeds=feeds, adjoints=adjoints)
                runs[name] = first
            else:
                run = session.backward(group, feeds=feeds, adjoints=adjoints, ports=())
                runs[name] = replace(run, values=first.values, problems=first.problems)
            if superseded():
                return None
    finally:
        session.gradients = kept
    return runs


def _differentiates(program: Program) -> bool:
    """Whether there are Gradient blocks: what comes back through them is on no wire."""
    blocks = (instance.block for instance in program.instances.values())
    return program.derived(
        "differentiates", lambda: any(isinstance(block, Gradient) for block in blocks)
    )


class ObservedFlow:
    """Answers per wire, variable and loss, after a run; ``loss=None`` is all losses together.

    Where a loss was not run by itself its structural answer is given.
    """

    def __init__(
        self,
        flow: Flow,
        runs: Mapping[str, Run],
        thresholds: Thresholds = THRESHOLDS,
        diagram: Diagram | None = None,
    ) -> None:
        self.flow = flow
        self.runs = runs
        self.thresholds = thresholds
        self.diagram = diagram
        self.program = flow.program
        self._contributions: dict[str, Contributions] = {}
        self._states: dict[str, dict[str, State]] = {}
        self._sentences: dict[str, NumericSentences] = {}

    @property
    def losses(self) -> tuple[PortPath, ...]:
        """The ports of the losses."""
        return self.flow.losses

    def run(self, loss: str | None = None) -> Run | None:
        """The run of one loss or of all together, where there was one."""
        return self.runs.get(self._key(loss))

    # ---- wires --------------------------------------------------------------------------------

    def state(self, wire: str, loss: str | None = None) -> State:
        """The state of one wire; raises RunError when there is no such wire."""
        return self.states(loss)[self.flow.known(wire)]

    def states(self, loss: str | None = None) -> Mapping[str, State]:
        """The states of all wires, by key."""
        key = self._key(loss)
        if key not in self._states:
            self._states[key] = self._refined(key, self.flow.states(key or None))
        return self._states[key]

    @explained
    def verdict(self, wire: str, loss: str | None = None) -> Verdict:
        """Why a wire carries the gradient of a loss or not, and how much of it."""
        key = self._key(loss)
        if self.flow.known(wire) in self.program.wire_trees:
            verdict = together(wire, key or None, self.leaves(wire, loss))
            return replace(verdict, state=self.state(wire, loss))
        verdict = self.flow.verdict(wire, key or None)
        contributions = self._of(key)
        if (
            verdict.state is not State.CARRIES
            or contributions is None
            or wire not in contributions.sizes
        ):
            return verdict
        state, about = self.state(wire, loss), self._sentences_about(key, contributions)
        text = about.wire(WirePath(wire), state, verdict.witness)
        cure = about.cure([WirePath(wire)], state)
        return replace(verdict, state=state, sentence=text, cure=cure)

    def leaves(self, wire: str, loss: str | None = None) -> dict[str, Verdict]:
        """The verdicts on the arrays of a tree on a wire, by path; empty where it carries none."""
        tree = self.program.wire_trees.get(self.flow.known(wire))
        arrays = {} if tree is None else tree.arrays
        return {path_text(path): self.verdict(leaf, loss) for path, leaf in arrays.items()}

    # ---- variables ----------------------------------------------------------------------------

    def gradient(self, name: str, loss: str | None = None) -> Array | None:
        """The gradient of a variable, None where no path connects or the loss was not run."""
        run = self.run(loss)
        return None if run is None else run.gradients.get(name)

    def arriving(self, port: str, loss: str | None = None) -> Array | None:
        """The adjoint of a port, None where nothing arrives or the loss was not run."""
        contributions = self._of(self._key(loss))
        source = self.program.flat.source(PortPath(port))
        return None if contributions is None else contributions.arriving(source)

    @explained
    def variable(self, name: str, loss: str | None = None) -> Verdict:
        """Why a variable gets a gradient or not, and how much of it."""
        key = self._key(loss)
        verdict = self.flow.variable(name, key or None)
        gradient, contributions = self.gradient(name, loss), self._of(key)
        if verdict.state is not State.CARRIES or contributions is None or gradient is None:
            return verdict
        state = classify(measure(gradient), contributions.scale, self.thresholds)
        path, about = InstancePath(verdict.wire), self._sentences_about(key, contributions)
        text = about.variable(path, state, gradient, verdict.sentence)
        cure = about.cure(contributions.leaving(path.port("out")), state)
        return replace(verdict, state=state, sentence=text, cure=cure)

    def zeroed_by(self, name: str) -> list[InstancePath]:
        """The blocks that make the gradient of a variable 0, for all losses, where it is 0."""
        contributions = self._of(self._key(None))
        if contributions is None or self.variable(name).state is not State.ZERO:
            return []
        ahead = contributions.leaving(InstancePath(name).port("out"))
        blames = map(contributions.zeroed_by, ahead)
        return [*dict.fromkeys(blame.block for blame in blames if not blame.cancelled)]

    def cancelling(self, name: str) -> list[WirePath]:
        """The wires that bring back gradients which add up to exactly 0, for all losses, and so
        leave a variable none.
        """
        contributions = self._of(self._key(None))
        if contributions is None or self.variable(name).state is not State.ZERO:
            return []
        ahead = contributions.leaving(InstancePath(name).port("out"))
        if len(ahead) > 1 and not all(contributions.sizes[wire].is_zero for wire in ahead):
            return ahead
        blames = (contributions.zeroed_by(wire) for wire in ahead)
        blocks = dict.fromkeys(blame.block for blame in blames if blame.cancelled)
        return [
            wire
            for block in blocks
            for port in contributions.outputs(block)
            for wire in contributions.leaving(port)
        ]

    def adds_up_to_zero(self, name: str) -> bool:
        """Whether the gradient of a variable, for all losses, is 0 because each block that makes it
        0 adds up gradients that are not.
        """
        contributions = self._of(self._key(None))
        if contributions is None or self.variable(name).state is not State.ZERO:
            return False
        ahead = contributions.leaving(InstancePath(name).port("out"))
        blames = [contributions.zeroed_by(wire) for wire in ahead]
        return all(
            blame.cancelled or contributions.zero_spot(blame).kind is Zero.CANCELS
            for blame in blames
        )

    @explained
    def explain(self, key: str, loss: str | None = None) -> Verdict:
        """The verdict of a wire or of a variable, whichever ``key`` names."""
        if key in self.program.wire_sources:
            return self.verdict(key, loss)
        return self.variable(key, loss)

    # ---- values -------------------------------------------------------------------------------

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """The blocks whose values are the first that are not finite, with what they are made of:
        those that spoil a loss first.
        """
        if not self.runs:
            return ()
        values = next(iter(self.runs.values())).values
        return tuple(Values(self.program, values).origins(self.losses))

    # ---- badges -------------------------------------------------------------------------------

    def cancels(self, loss: str | None = None) -> dict[PortPath, Cancel]:
        """Ports at which contributions cancel."""
        contributions, found = self._of(self._key(loss)), {}
        if contributions is None:
            return {}
        for port, largest in contributions.cancelling(self.thresholds.cancels):
            total = contributions.arriving(port)
            summed = largest if total is None else rms(total)
            if summed < self.thresholds.cancels * largest:
                found[port] = Cancel(port, summed, largest)
        return found

    @property
    def surrogates(self) -> tuple[InstancePath, ...]:
        """Blocks whose gradient is deliberately not the derivative (badge ≈)."""
        return surrogates(self.flow)

    @property
    def stops(self) -> tuple[InstancePath, ...]:
        """The StopGradient blocks that are not open."""
        return closed_stops(self.flow)

    def idle_stops(self) -> dict[InstancePath, str]:
        """StopGradients that cut nothing, for any of the losses, and why in a sentence."""
        if not self.losses:
            return {}
        found = {}
        for stop, ports in stopped_ports(self.flow).items():
            reasons = [port.idle or self._zero_at(port) or "" for port in ports]
            if reasons and all(reasons):
                each = " or ".join(dict.fromkeys(reasons))  # leaves of a tree may differ
                found[stop] = f"This stop cuts nothing: {each}."
        return found

    def stale(self, diagram: Diagram) -> bool:
        """Whether blocks or wires have changed since the run (badge STALE); places don't count."""
        if self.diagram is None or diagram is self.diagram:
            return False
        return diagram.pages.keys() != self.diagram.pages.keys() or any(
            page.blocks != self.diagram.pages[name].blocks
            or page.wires != self.diagram.pages[name].wires
            for name, page in diagram.pages.items()
        )

    # ---- within -------------------------------------------------------------------------------

    def _key(self, loss: str | None) -> PortPath:
        """The key of a loss in ``runs``; of all together ALL, or of the only one its port."""
        if loss is None:
            return self.losses[0] if len(self.losses) == 1 else ALL
        head = self.program.flat.source(PortPath.named(loss))
        if head in self.losses:
            return head
        raise RunError(f"{loss!r} is not one of the losses.", expected=", ".join(self.losses))

    def _of(self, key: PortPath) -> Contributions | None:
        if key in self.runs and key not in self._contributions:
            self._contributions[key] = Contributions(self.program, self.runs[key])
        return self._contributions.get(key)

    def _refined(self, key: PortPath, states: Mapping[str, State]) -> dict[str, State]:
        contributions, found = self._of(key), dict(states)
        if contributions is not None:
            trees = {wire: tree.arrays.values() for wire, tree in self.program.wire_trees.items()}
            sizes = contributions.sizes
            for measured in (sizes, sizes.combined(trees)):
                numeric = classify_each(measured, contributions.scale, self.thresholds)
                for wire, state in numeric.items():
                    if found[wire] is State.CARRIES:
                        found[wire] = state
        return found

    def _sentences_about(self, key: PortPath, contributions: Contributions) -> NumericSentences:
        if key not in self._sentences:
            names: list[str] = [loss.block for loss in contributions.run.losses]
            if len(names) > _SUMMED:
                names[2:-1] = ["…"]
            label = names[0] if len(names) == 1 else f"({' + '.join(names)})"
            self._sentences[key] = NumericSentences(contributions, label, self.thresholds)
        return self._sentences[key]

    def _zero_at(self, stopped: StoppedPort) -> str | None:
        """That what comes to a stop is 0 for every loss, where it is.

        With Gradient blocks that does not show that nothing is cut: opening the stop changes
        values too.
        """
        if _differentiates(self.program):
            return None
        runs = [run for loss in stopped.losses if (run := self.run(loss)) is not None]
        known = [a for run in runs if (a := run.adjoints.get(stopped.port)) is not None]
        if known and len(known) == len(stopped.losses) and not any(np.any(a) for a in known):
            return "the gradient that arrives here is 0"
        return None


def _name(run: Run) -> PortPath:
    return run.losses[0] if len(run.losses) == 1 else ALL
