"""Sentences of the numeric states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.importing.kinds import is_kind
from gradwire.runtime.flow.numbers import flat_spots
from gradwire.runtime.flow.numbers.cures import Cures
from gradwire.runtime.flow.numbers.magnitudes import ArraySize, measure
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.words import phrases, sentences, value_sentences
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.formatting import size as size_text
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import InstancePath, WirePath
    from gradwire.runtime.flow.numbers.contributions import Blame, Contributions
    from gradwire.runtime.flow.numbers.rules import Thresholds

_LIMITS = ("Clip", "Maximum", "Minimum")


class NumericSentences:
    """Sentences about the wires with a contribution, for one loss (``label``) of one run."""

    def __init__(self, contributions: Contributions, label: str, thresholds: Thresholds) -> None:
        self._contributions = contributions
        self._label = label
        self._thresholds = thresholds
        self._reasons: dict[str, str] = {}
        self._spots: dict[str, flat_spots.ZeroSpot] = {}
        self._block_cures = Cures(contributions)

    def wire(self, wire: WirePath, state: State, witness: Sequence[str]) -> str:
        """The sentence of a wire in a numeric state, or of CARRIES."""
        size = self._contributions.sizes[wire]
        match state:
            case State.ZERO:
                return self._zero(wire)
            case State.NONFINITE:
                return self._nonfinite(wire)
            case State.VANISHING | State.EXPLODING:
                return self._scaled(wire, state)
            case State.PARTIAL:
                return self._partial(wire, size)
            case State.CARRIES:
                return self._carries(wire, witness)
            case _:
                return _filled(state.row.sentence, size)

    def _carries(self, wire: WirePath, witness: Sequence[str]) -> str:
        port = self._contributions.program.wire_sources[wire]
        source = port.block.with_leaf(port.leaf)
        if why := self.invariance((wire,)):
            return phrases.INVARIANT.format(self._label, source, self._amount(wire), why)
        return phrases.CARRIES.format(
            self._label, source, self._amount(wire), sentences.route(witness)
        )

    def variable(self, name: InstancePath, state: State, gradient: Array, structural: str) -> str:
        """The sentence of a variable with a gradient; ``structural`` is the one without a run."""
        size, ahead = measure(gradient), self._contributions.leaving(name.port("out"))
        if state is State.CARRIES and (why := self.invariance(ahead)):
            return phrases.INVARIANT.format(self._label, name, size_text(gradient), why)
        similar = [w for w in ahead if self._is_similar(state, self._contributions.sizes[w])]
        if state is State.ZERO and not similar and len(ahead) > 1:
            return phrases.CANCEL.format(sentences.names(ahead))
        if state is State.VANISHING and (near := self._nearly_cancel(size, ahead)):
            return near
        if state is State.CARRIES or not similar:
            return phrases.VARIABLE.format(self._label, name, size_text(gradient), structural)
        if len(ahead) > 1 and state not in (State.ZERO, State.NONFINITE):
            worst = max(similar, key=lambda w: self._contributions.sizes[w].rms)
            told = self.wire(worst, state, ())
            return phrases.TOGETHER.format(sentences.names(ahead), told)
        return self.wire(similar[0], state, ())

    def _nearly_cancel(self, size: ArraySize, ahead: Sequence[WirePath]) -> str:
        """That little is left of contributions that are large; empty where they are not."""
        largest = max((self._contributions.sizes[wire].rms for wire in ahead), default=0.0)
        if len(ahead) < 2 or not size.rms < self._thresholds.cancels * largest < np.inf:
            return ""
        left = f"{'rms ' * (size.total > 1)}{number(size.rms)}"
        return phrases.NEARLY_CANCEL.format(sentences.names(ahead), left, number(largest))

    def invariance(self, ahead: Sequence[WirePath]) -> str:
        """Why the losses don't change with what goes over these wires; empty where they may."""
        run = self._contributions.run
        return invariance(self._contributions.program, run.losses, ahead)

    def _amount(self, wire: WirePath) -> str:
        """What a wire brings back: the value of a scalar, else its root mean square."""
        return size_text(self._contributions.run.contributions[wire])

    def culprit(self, wire: WirePath, state: State) -> tuple[InstancePath, str] | None:
        """The block that brings a wire into a state, and a clause that says how."""
        if state is State.ZERO:
            zeroed = self._contributions.zeroed_by(wire)
            cancels = f"The contributions to {zeroed.block} cancel"
            if zeroed.derived:
                return zeroed.block, f"The derivative of {zeroed.block} is 0"
            return zeroed.block, cancels if zeroed.cancelled else self._flat(zeroed)
        if state is State.NONFINITE:
            blamed = self._contributions.blame(wire, "not finite", _is_bad)
            origin = self._contributions.values.origin(blamed.block)
            block = blamed.block if origin is None else origin.block
            return block, f"{block} makes NaN or ∞"
        if state not in (State.VANISHING, State.EXPLODING):
            return None
        grows, factors = state is State.EXPLODING, self._contributions.route_factors(wire)
        worst, into = factors.most if grows else factors.least
        if into is None or not factors.changes(grows):
            return None
        if not grows and self._block_cures.decay(into.block):
            return None  # along the sequence, and at no single block
        verb = "enlarges" if grows else "shrinks"
        return into.block, f"{into.block} {verb} gradients ×{number(worst)}"

    def cure(self, wires: Sequence[WirePath], state: State) -> str:
        """What would help wires that are in a state together; empty if no cure is known."""
        cures = self._block_cures
        if state is State.EXPLODING:
            return cures.of_exploding(wires)
        if state is State.VANISHING:
            return cures.of_vanishing(wires)
        if state is not State.ZERO:
            return ""
        found: dict[str, None] = {}
        norms: dict[str, None] = {}
        for wire, blame in zip(wires, map(self._contributions.zeroed_by, wires), strict=True):
            if not (blame.cancelled or blame.derived):
                found[cures.of_output(blame.block) or self._of_spot(wires, blame)] = None
            norms |= dict.fromkeys(cures.of_norms(wire, blame.block))
        return " ".join(filter(None, found | norms))

    def _of_spot(self, wires: Sequence[WirePath], blame: Blame) -> str:
        spot = self._spot(blame)
        if spot.kind is flat_spots.Zero.UNDERFLOWS:
            return self._block_cures.of_underflow(wires, spot.dtype)
        if spot.kind is flat_spots.Zero.FLAT and spot.is_product:
            return self._block_cures.of_stuck(wires, spot.stuck)
        return spot.cure

    def _is_similar(self, state: State, size: ArraySize) -> bool:
        if state is State.ZERO:
            return size.is_zero
        if state is State.NONFINITE:
            return not size.finite
        return size.finite and not size.is_zero

    # ---- zero ---------------------------------------------------------------------------------

    def _zero(self, wire: WirePath) -> str:
        blame = self._contributions.zeroed_by(wire)
        if blame.cancelled:
            return phrases.ZERO_AS_SUM.format(blame.block)
        if blame.derived:
            return phrases.ZERO_AS_DERIVATIVE.format(blame.block)
        reason = self._flat(blame)
        if blame.block in self._seeds:
            return phrases.ZERO_AT_LOSS.format(reason)
        if blame.local:
            return phrases.ZERO_HERE.format(reason)
        return phrases.ZERO_BEFORE.format(blame.block, reason.removeprefix(blame.block))

    def _flat(self, blame: Blame) -> str:
        return f"{blame.block} {self._spot(blame).reason}"

    def _spot(self, blame: Blame) -> flat_spots.ZeroSpot:
        if blame.wire not in self._spots:
            self._spots[blame.wire] = self._contributions.zero_spot(blame)
        return self._spots[blame.wire]

    @cached_property
    def _seeds(self) -> set[InstancePath]:
        """The losses, and what Loss blocks mark."""
        program, losses = self._contributions.program, self._contributions.run.losses
        markers = (program.instances[loss.block] for loss in losses)
        wires = (key for m in markers if m.block.head for key, _ in m.wires.values())
        return {loss.block for loss in losses} | {program.wire_sources[w].block for w in wires}

    # ---- not finite ---------------------------------------------------------------------------

    def _nonfinite(self, wire: WirePath) -> str:
        contributions = self._contributions
        blame = contributions.blame(wire, "not finite", _is_bad)
        if blame.wire not in self._reasons:
            self._reasons[blame.wire] = self._origin(blame)
        if not blame.local:
            return f"{self._reasons[blame.wire]} {phrases.VICTIM}"
        sizes = (contributions.sizes.get(behind) for behind in contributions.behind(wire))
        spread = any(size is not None and not size.finite for size in sizes)
        return f"{self._reasons[blame.wire]}{f' {phrases.VICTIMS}' * spread}"

    def _origin(self, blame: Blame) -> str:
        """Where NaN or ∞ was made first, and why."""
        contribution = self._contributions.run.contributions[blame.wire]
        assert contribution is not None  # blame follows only what brings something back
        what = "NaN" if np.isnan(contribution).any() else "∞"
        values, program = self._contributions.values, self._contributions.program
        origin = values.origin(blame.block) or values.of_derivative(blame.block)
        if origin is not None:
            factor = program.block(blame.block).type_name() in phrases.FACTORS
            slope = origin.what if factor else values.what(blame.block)
            slope = "NaN" if slope == "NaN" else "∞"
            cure = self._safe_form(blame.wire, origin.block, slope) or origin.cure
            made = phrases.AT_VALUE.format(origin.block, origin.what, origin.reason)
            if isinstance(program.block(origin.block), Source):
                made = phrases.AS_GIVEN.format(blame.block, origin.block, origin.what)
            elif origin.block != blame.block and what == "NaN" != origin.what:
                made = phrases.AS_MADE.format(blame.block, origin.block, origin.what, origin.reason)
            return " ".join(filter(None, (phrases.FIRST.format(what, made), cure)))
        arrived = self._contributions.arrivals(blame.wire)
        same = [a for a in arrived if a.shape == contribution.shape]
        reason = flat_spots.nonfinite_reason(same[0] if same else None, contribution)
        if is_kind(program.block(blame.block), "Recorded"):
            reason = phrases.OWN_RULE
        remedies = self._contributions.values.remedies
        cure = self._safe_form(blame.wire, blame.block, "∞") or remedies.of_slope(blame.block)
        first = phrases.FIRST.format(what, phrases.AT_SLOPE.format(blame.block, reason))
        return " ".join(filter(None, (first, cure)))

    def _safe_form(self, wire: WirePath, culprit: InstancePath, what: str) -> str:
        """What to do about a value or slope that is ``what`` where a Where, or a limit, takes
        something else: it sends back 0 there.
        """
        contributions, program = self._contributions, self._contributions.program
        name = program.block(culprit).type_name()
        brought = contributions.run.contributions[wire]
        for at in contributions.route(wire):
            block, sent = program.wire_targets[at], contributions.run.contributions[at]
            if sent is None or not _meets_zero(brought, sent):
                continue
            kind = program.block(block).type_name()
            if kind == "Where":
                return value_sentences.double_where(block, culprit, name, what)
            if kind in _LIMITS:
                return value_sentences.guard_too_late(block, culprit, what)
        return ""

    # ---- too small, too large, in parts -------------------------------------------------------

    def _scaled(self, wire: WirePath, state: State) -> str:
        route_factors = self._contributions.route_factors(wire)
        grows = state is State.EXPLODING
        if not route_factors.blocks:
            return phrases.AT_SEED.format(self._amount(wire))
        worst, into = route_factors.most if grows else route_factors.least
        factor = route_factors.factor
        if not route_factors.changes(grows):
            largest = number(self._contributions.scale.largest)
            return phrases.AGAINST.format(self._amount(wire), largest, self._label, number(factor))
        if into and not grows and (decays := self._block_cures.decay(into.block)):
            return decays.sentence
        count = route_factors.blocks
        blocks = f"{count} block{'s' * (count > 1)}"
        verb = phrases.GROWS if grows else phrases.SHRUNK
        block = into.block if into else ""
        return phrases.SCALED.format(
            verb, number(factor), blocks, block, number(worst), self._amount(wire)
        )

    def _partial(self, wire: WirePath, size: ArraySize) -> str:
        share = self._thresholds.partial

        def masked(array: Array) -> bool:
            found = measure(array)
            return 0 < found.total and found.zeros >= share * found.total

        blame = self._contributions.blame(wire, "masked", masked)
        how = phrases.CANCELLED_AT if blame.cancelled else phrases.MASKED_BY
        text = phrases.PARTIAL.format(size.zeros, size.total, how.format(blame.block))
        block = self._contributions.program.block(blame.block)
        padding = getattr(block, "padding", None) if block.type_name() == "Embedding" else None
        if padding is not None:
            return f"{text} {phrases.PADDING.format(padding)}"
        return text


def _meets_zero(brought: Array | None, sent: Array) -> bool:
    """Whether what is not finite came of a 0 that was sent, as far as places can be compared."""
    if brought is None or brought.shape != sent.shape:
        return not np.all(sent)
    return bool(np.any(~np.isfinite(brought) & (sent == 0)))


def _is_bad(array: Array) -> bool:
    return not bool(np.isfinite(array).all())


def _filled(sentence: str, size: ArraySize) -> str:
    """The sentence of a row of the table, with what was measured on a wire."""
    return sentence.format(
        rms=number(size.rms), peak=number(size.peak), zeros=size.zeros, total=size.total
    )
