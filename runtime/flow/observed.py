"""Flow after a run: structural states refined by the numbers, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.errors import RunError
from blocks.library.gradient import Gradient, StopGradient
from blocks.paths import path_text
from runtime.diagram.paths import InstancePath, PortPath, WirePath
from runtime.engine.norms import rms
from runtime.flow.analyse import Flow, analyse
from runtime.flow.numbers.contributions import Contributions
from runtime.flow.numbers.magnitudes import combined_size, measure
from runtime.flow.numbers.rules import THRESHOLDS, Thresholds, classify
from runtime.flow.structure.leaves import together
from runtime.flow.structure.surrogates import surrogates
from runtime.flow.words import sentences
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


def observe(
    session: Session,
    losses: Sequence[str] | None = None,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> ObservedFlow:
    """Run each loss by itself, and their sum, and read it all; raises what ``backward`` does.

    The session's accumulated gradients stay as they are.
    """
    flow = analyse(session.program, losses)
    inside = any(isinstance(i.block, Gradient) for i in session.program.instances.values())
    kept = dict(session.gradients)
    groups: dict[str, list[PortPath]] = {head: [head] for head in flow.losses}
    if len(groups) > 1:
        groups[ALL] = list(flow.losses)
    runs = {
        name: session.backward(heads, feeds=feeds, adjoints="all" if inside else "stops")
        for name, heads in groups.items()
    }
    session.gradients = kept
    return ObservedFlow(flow, runs, thresholds, session.diagram)


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
        state = self.state(wire, loss)
        text = self._sentences_about(key, contributions).wire(
            WirePath(wire), state, verdict.witness
        )
        return replace(verdict, state=state, sentence=text)

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
        return None if contributions is None else contributions.arriving(PortPath(port))

    def variable(self, name: str, loss: str | None = None) -> Verdict:
        """Why a variable gets a gradient or not, and how much of it."""
        key = self._key(loss)
        verdict = self.flow.variable(name, key or None)
        gradient, contributions = self.gradient(name, loss), self._of(key)
        if verdict.state is not State.CARRIES or contributions is None or gradient is None:
            return verdict
        state = classify(measure(gradient), contributions.scale, self.thresholds)
        text = self._sentences_about(key, contributions).variable(
            InstancePath(name), state, gradient, verdict.sentence
        )
        return replace(verdict, state=state, sentence=text)

    def explain(self, key: str, loss: str | None = None) -> Verdict:
        """The verdict of a wire or of a variable, whichever ``key`` names."""
        if key in self.program.wire_sources:
            return self.verdict(key, loss)
        return self.variable(key, loss)

    # ---- badges -------------------------------------------------------------------------------

    def cancels(self, loss: str | None = None) -> dict[PortPath, Cancel]:
        """Ports at which contributions cancel."""
        contributions, found = self._of(self._key(loss)), {}
        if contributions is None:
            return {}
        for port in self.program.ports:
            wires = contributions.leaving(port)
            sizes = [contributions.sizes[wire] for wire in wires]
            total = contributions.arriving(port) if len(wires) > 1 else None
            if total is None or not all(size.finite for size in sizes):
                continue
            largest, summed = max(size.rms for size in sizes), rms(total)
            if largest > 0 and summed < self.thresholds.cancels * largest:
                found[port] = Cancel(port, summed, largest)
        return found

    @cached_property
    def surrogates(self) -> tuple[InstancePath, ...]:
        """Blocks whose gradient is deliberately not the derivative (badge ≈)."""
        return surrogates(self.flow)

    @property
    def stops(self) -> tuple[InstancePath, ...]:
        """The StopGradient blocks that are not open."""
        blocks = {path: instance.block for path, instance in self.program.instances.items()}
        return tuple(p for p, b in blocks.items() if isinstance(b, StopGradient) and not b.open)

    def idle_stops(self) -> dict[str, str]:
        """StopGradients that cut nothing, for any of the losses, and why in a sentence."""
        reasons = {stop: self._why_idle(stop) for stop in self.stops if self.losses}
        return {s: f"This stop cuts nothing: {why}." for s, why in reasons.items() if why}

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
            for wire, size in contributions.sizes.items():
                if found[wire] is State.CARRIES:
                    found[wire] = classify(size, contributions.scale, self.thresholds)
            for wire, tree in self.program.wire_trees.items():
                sizes = [
                    contributions.sizes[w] for w in tree.arrays.values() if w in contributions.sizes
                ]
                if sizes and found[wire] is State.CARRIES:
                    found[wire] = classify(
                        combined_size(sizes), contributions.scale, self.thresholds
                    )
        return found

    def _sentences_about(self, key: PortPath, contributions: Contributions) -> NumericSentences:
        if key not in self._sentences:
            names: list[str] = [loss.block for loss in contributions.run.losses]
            if len(names) > _SUMMED:
                names[2:-1] = ["…"]
            label = names[0] if len(names) == 1 else f"({' + '.join(names)})"
            self._sentences[key] = NumericSentences(contributions, label, self.thresholds)
        return self._sentences[key]

    def _why_idle(self, stop: InstancePath) -> str | None:
        """Why a stop cuts nothing, or None where it cuts something."""
        port, wires = stop.port("out"), self.program.instances[stop].wires
        if "x" not in wires:
            return None
        if port not in self.program.trees:
            return self._why_idle_at(port, (wires["x"][0],))
        leaves = self.program.leaf_ports(port)
        stopped = [leaf for leaf in leaves if self.program.ports[leaf].primitive.stops]
        reasons = [self._why_idle_at(leaf, self._into(wires["x"][0], leaf)) for leaf in stopped]
        if not reasons:
            return "it spares every array that it selects"
        return reasons[0] if all(reasons) else None

    def _into(self, wire: WirePath, port: PortPath) -> tuple[WirePath, ...]:
        """The wire of the same leaf as a port's; all leaves where sequences have changed."""
        leaves = self.program.leaf_wires(wire)
        same = [leaf for leaf in leaves if leaf.leaf == port.leaf]
        return tuple(same) or leaves

    def _why_idle_at(self, port: PortPath, wires: Sequence[WirePath]) -> str | None:
        if port not in self.program.ports:
            return None
        arriving = [loss for loss in self.losses if self.flow.arrives(port, loss)]
        if not arriving:
            if not (others := self.flow.ahead(port)):
                if set(self.losses) >= set(self.program.heads()):
                    return "no loss depends on its output"
                losses = sentences.names([loss.block for loss in self.losses])
                verb = "does" if len(self.losses) == 1 else "do"
                return f"{losses} {verb} not depend on its output"
            return f"{sentences.names(others)} already cut{'s' * (len(others) == 1)} its routes"
        if not any(map(self.flow.trained_before, wires)):
            return "no trained variable could get a gradient through it"
        runs = [run for loss in arriving if (run := self.run(loss)) is not None]
        adjoints = [run.adjoints.get(port) for run in runs]
        known = [a for a in adjoints if a is not None]
        if known and len(known) == len(arriving) and not any(np.any(a) for a in known):
            return "the gradient that arrives here is 0"
        return None


def _name(run: Run) -> PortPath:
    return run.losses[0] if len(run.losses) == 1 else ALL
