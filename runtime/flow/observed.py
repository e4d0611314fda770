"""Gradient flow after a run: structural states refined by the numbers, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.blocks.paths import path_text
from gradwire.runtime.briefly import MOST, few, lines
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.lazy import overlaid
from gradwire.runtime.flow.numbers.contributions import Contributions
from gradwire.runtime.flow.numbers.flat_spots import Zero
from gradwire.runtime.flow.numbers.magnitudes import measure
from gradwire.runtime.flow.numbers.origins import Origin, Values
from gradwire.runtime.flow.numbers.rules import (
    BY_ROUNDING,
    NUMERIC,
    THRESHOLDS,
    Thresholds,
    classify,
    classify_each,
)
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.structure.leaves import combined_verdict
from gradwire.runtime.flow.structure.stops import StoppedPort, closed_stops, stopped_ports
from gradwire.runtime.flow.structure.surrogates import surrogates
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.numeric_sentences import NumericSentences
from gradwire.runtime.flow.words.states import State, Verdict

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Run
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.numbers.elsewhere import Elsewhere

ALL = PortPath()
"""Key of the run of the sum of all losses."""
_MAX_NAMED = 4
"""Maximum number of losses that a label lists; of more, it names the first two and the last."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Contributions that cancel at a port: the RMS of their sum, and of the largest of them."""

    port: str
    total: float
    largest: float

    @property
    def sentence(self) -> str:
        """The sentence of the badge CANCELS."""
        share = self.total / self.largest
        return f"CANCELS: the sum at {self.port} is {number(share)} of its largest term."


class ObservedFlow:
    """States and verdicts per wire, variable and loss, after a run.

    ``loss=None`` means the sum of all losses. For a loss that was not run on its own the results
    are structural.
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
        self._states: dict[str, Mapping[str, State]] = {}
        self._numeric: dict[str, dict[str, State]] = {}
        self._zero_shares: dict[tuple[str, frozenset[State]], Mapping[str, float]] = {}
        self._sentences: dict[str, NumericSentences] = {}
        self._elsewhere: dict[str, Elsewhere] = {}

    def __repr__(self) -> str:
        names = self.program.trainable
        said = [f"{n}: {self.variable(n).state.value}" for n in islice(names, MOST)]
        more = [""] * (len(names) - len(said))  # only counted
        head = f"<ObservedFlow of {few([x.block for x in self.losses], 'loss', 'losses')}"
        return lines(head, [*said, *more]) + ">"

    @property
    def losses(self) -> tuple[PortPath, ...]:
        """The ports of the losses."""
        return self.flow.losses

    def run(self, loss: str | None = None) -> Run | None:
        """The run of one loss or of the sum of all; None if there was none."""
        return self.runs.get(self._key(loss))

    @property
    def has_each(self) -> bool:
        """Whether each loss has been run on its own."""
        return all(map(self.run, self.losses))

    # ---- wires --------------------------------------------------------------------------------

    def state(self, wire: str, loss: str | None = None) -> State:
        """The state of one wire; raises RunError if there is no such wire."""
        return self.states(loss)[self.flow.require_wire(wire)]

    def states(self, loss: str | None = None) -> Mapping[str, State]:
        """The states of all wires, by path."""
        key = self._key(loss)
        if key not in self._states:
            self._states[key] = self._refined(key, self.flow.states(key or None))
        return self._states[key]

    def numeric_states(self, loss: str | None = None) -> Mapping[str, State]:
        """The states of the wires that carry gradient whose numbers say more than that, by path."""
        self.states(loss)
        return self._numeric.get(self._key(loss), {})

    def is_finite(self, loss: str | None = None) -> bool:
        """Whether no wire brings back NaN or an infinity; so too for a loss that was not run."""
        contributions = self._of(self._key(loss))
        return contributions is None or contributions.are_finite

    @explained
    def verdict(self, wire: str, loss: str | None = None) -> Verdict:
        """Why a wire carries the gradient of a loss or not, and how much of it."""
        key = self._key(loss)
        if self.flow.require_wire(wire) in self.program.wire_trees:
            verdict = combined_verdict(wire, key or None, self.leaves(wire, loss))
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

    def norms(self, loss: str | None = None) -> Mapping[str, float | None]:
        """The root mean square of what each wire carries back, None for nothing; empty for a loss
        that was not run.
        """
        contributions = self._of(self._key(loss))
        return {} if contributions is None else contributions.norms

    def zero_shares(self, states: frozenset[State], loss: str | None = None) -> Mapping[str, float]:
        """The share of exact zeros in what each wire in one of ``states`` carries back."""
        key = self._key(loss)
        contributions = self._of(key)
        if contributions is None:
            return {}
        if (key, states) not in self._zero_shares:
            known = self.numeric_states(loss) if states <= NUMERIC else self.states(loss)
            wires = [wire for wire, state in known.items() if state in states]
            self._zero_shares[key, states] = contributions.zero_shares(wires)
        return self._zero_shares[key, states]

    def leaves(self, wire: str, loss: str | None = None) -> dict[str, Verdict]:
        """The verdicts on the leaves of the tree on a wire, by path; empty without a tree."""
        tree = self.program.wire_trees.get(self.flow.require_wire(wire))
        arrays = {} if tree is None else tree.arrays
        return {path_text(path): self.verdict(leaf, loss) for path, leaf in arrays.items()}

    def connected(self, loss: str) -> list[str]:
        """The wires and variables that the gradient of a loss would reach if all slots were
        open.
        """
        return self.flow.connected(loss)

    # ---- variables ----------------------------------------------------------------------------

    def gradient(self, name: str, loss: str | None = None) -> Array | None:
        """The gradient of a variable; None if no path connects or the loss was not run."""
        run = self.run(loss)
        return None if run is None else run.gradients.get(name)

    def value(self, name: InstancePath) -> Array | None:
        """The numbers of a variable; None if nothing was run."""
        run = self.run()
        return None if run is None else run.values.get(name.port("out"))

    def arriving(self, port: str, loss: str | None = None) -> Array | None:
        """The adjoint of a port; None if nothing arrives or the loss was not run."""
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
        if state in BY_ROUNDING and about.invariance(contributions.leaving(path.port("out"))):
            state = State.CARRIES
        text = about.variable(path, state, gradient, verdict.sentence)
        cure = about.cure(contributions.leaving(path.port("out")), state)
        return replace(verdict, state=state, sentence=text, cure=cure)

    def culprits(self, key: str, loss: str | None = None) -> dict[InstancePath, str]:
        """The blocks that make the gradient on a wire, or of a variable, 0, too small, too large or
        not finite, each with a clause that says how: ``act56 is off (−3)``.
        """
        run = self._key(loss)
        contributions = self._of(run)
        if contributions is None:
            return {}
        state = self.explain(key, loss).state
        is_wire = key in self.program.wire_sources
        outgoing = contributions.leaving(InstancePath(key).port("out"))
        wires = self.program.leaf_wires(WirePath(key)) if is_wire else outgoing
        about = self._sentences_about(run, contributions)
        states = self.states(loss)
        found: dict[InstancePath, str] = {}
        for wire in wires:
            if states.get(wire) is state and (told := about.culprit(wire, state)):
                found.setdefault(*told)  # leaves of a tree may differ: what the first one says
        return found

    def invariance(self, name: str) -> str:
        """Why no loss changes with a variable, whatever the numbers; empty where one may."""
        contributions = self._of(self._key(None))
        ahead = (
            [] if contributions is None else contributions.leaving(InstancePath(name).port("out"))
        )
        return invariance(self.program, self.losses, ahead)

    def zeroed_by(self, name: str) -> list[InstancePath]:
        """The blocks that make the gradient of a variable 0 over all losses; empty if it isn't."""
        contributions = self._of(self._key(None))
        if contributions is None or self.variable(name).state is not State.ZERO:
            return []
        outgoing = contributions.leaving(InstancePath(name).port("out"))
        blames = map(contributions.zeroed_by, outgoing)
        return [*dict.fromkeys(blame.block for blame in blames if not blame.cancelled)]

    def cancelling(self, name: str) -> list[WirePath]:
        """The wires whose contributions, over all losses, add up to exactly 0 and thus make the
        gradient of a variable 0.
        """
        contributions = self._of(self._key(None))
        if contributions is None or self.variable(name).state is not State.ZERO:
            return []
        outgoing = contributions.leaving(InstancePath(name).port("out"))
        if len(outgoing) > 1 and not all(contributions.sizes[wire].is_zero for wire in outgoing):
            return outgoing
        blames = (contributions.zeroed_by(wire) for wire in outgoing)
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
            blame.cancelled
            or (not blame.derived and contributions.zero_spot(blame).kind is Zero.CANCELS)
            for blame in blames
        )

    def elsewhere(self, loss: str | None = None) -> Elsewhere | None:
        """What other systems compute for the run of a loss; None where it was not run."""
        from gradwire.runtime.flow.numbers.elsewhere import Elsewhere  # a table of many systems

        key = self._key(loss)
        contributions = self._of(key)
        if contributions is not None and key not in self._elsewhere:
            self._elsewhere[key] = Elsewhere(contributions, self.flow.differentiates)
        return self._elsewhere.get(key)

    @explained
    def explain(self, key: str, loss: str | None = None) -> Verdict:
        """The verdict on the wire or variable ``key``."""
        if key in self.program.wire_sources:
            return self.verdict(key, loss)
        return self.variable(key, loss)

    # ---- values -------------------------------------------------------------------------------

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """The blocks at which values become non-finite, with their inputs; those that affect a
        loss come first.
        """
        return tuple(self._values.origins(self.losses)) if self._values else ()

    def origin(self, port: str) -> Origin | None:
        """What made the value of a port NaN or infinite first; None where it is finite."""
        source = self.program.flat.source(PortPath(port))
        if self._values is None or self._values.is_fine(source):
            return None
        return self._values.origin(source.block)

    @cached_property
    def _values(self) -> Values | None:
        if not self.runs:
            return None
        return Values(self.program, next(iter(self.runs.values())).values)

    # ---- badges -------------------------------------------------------------------------------

    def cancels(self, loss: str | None = None) -> dict[PortPath, Cancel]:
        """The ports at which contributions cancel."""
        contributions, found = self._of(self._key(loss)), {}
        if contributions is None:
            return {}
        for port, largest in contributions.cancelling(self.thresholds.cancels):
            total = contributions.arriving(port)
            size = largest if total is None else rms(total)
            if size < self.thresholds.cancels * largest:
                found[port] = Cancel(port, size, largest)
        return found

    @property
    def surrogates(self) -> tuple[InstancePath, ...]:
        """Blocks whose gradient is deliberately not the derivative (badge ≈)."""
        return surrogates(self.flow)

    @property
    def stops(self) -> tuple[InstancePath, ...]:
        """The StopGradient blocks that are not open."""
        return closed_stops(self.flow)

    def idle_stops(self, is_tried: bool = False) -> dict[InstancePath, str]:
        """The StopGradients that cut nothing for any loss, each with a sentence that says why.

        That 0 arrives is no proof: behind the stop it may meet an infinite slope. The sentence says
        so unless opening the stops ``is_tried``.
        """
        if not self.losses:
            return {}
        found = {}
        for stop, ports in stopped_ports(self.flow).items():
            reasons = [port.idle or self._zero_at(port) or "" for port in ports]
            if reasons and all(reasons) and not any(port.in_a_row for port in ports):
                each = " or ".join(dict.fromkeys(reasons))  # leaves of a tree may differ
                certain = is_tried or all(port.idle for port in ports)
                unless = "" if certain else ", unless a slope behind it is infinite"
                found[stop] = f"This stop cuts nothing{unless}: {each}."
        return found

    def stale(self, diagram: Diagram) -> bool:
        """Whether blocks or wires have changed since the run (badge STALE); layout is ignored."""
        if self.diagram is None or diagram is self.diagram:
            return False
        return diagram.pages.keys() != self.diagram.pages.keys() or any(
            page.blocks != self.diagram.pages[name].blocks
            or page.wires != self.diagram.pages[name].wires
            for name, page in diagram.pages.items()
        )

    # ---- lookup -------------------------------------------------------------------------------

    def _key(self, loss: str | None) -> PortPath:
        """The key of a loss in ``runs``; for None that of the sum, or of the only loss."""
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

    def _refined(self, key: PortPath, states: Mapping[str, State]) -> Mapping[str, State]:
        contributions = self._of(key)
        if contributions is None:
            return states
        carries = State.CARRIES  # looked up once, not for each wire
        found = self._numeric[key] = {
            wire: state
            for measured in (contributions.sizes, contributions.tree_sizes)
            for wire, state in classify_each(measured, contributions.scale, self.thresholds).items()
            if states[wire] is carries
            and not (state in BY_ROUNDING and self._ignores(key, WirePath(wire)))
        }
        return overlaid(states, found)

    def _ignores(self, key: PortPath, wire: WirePath) -> bool:
        """Whether the losses of a run don't change with what a wire brings."""
        return bool(invariance(self.program, self.runs[key].losses, (wire,)))

    def _sentences_about(self, key: PortPath, contributions: Contributions) -> NumericSentences:
        if key not in self._sentences:
            names: list[str] = [loss.block for loss in contributions.run.losses]
            if len(names) > _MAX_NAMED:
                names[2:-1] = ["…"]
            label = names[0] if len(names) == 1 else f"({' + '.join(names)})"
            self._sentences[key] = NumericSentences(contributions, label, self.thresholds)
        return self._sentences[key]

    def _zero_at(self, stopped: StoppedPort) -> str | None:
        """The reason that the gradient at a stop is 0 for every loss; None if it is not.

        Also None if there are Gradient blocks: opening the stop would change their values.
        """
        if self.flow.differentiates:
            return None
        if not all(map(self.run, self.losses)):
            return None
        losses = [loss for loss in self.losses if self.flow.arrives(stopped.port, loss)]
        runs = [run for loss in losses if (run := self.run(loss)) is not None]
        known = [a for run in runs if (a := run.adjoints.get(stopped.port)) is not None]
        if known and len(known) == len(losses) and not any(np.any(a) for a in known):
            return "the gradient that arrives here is 0"
        return None
