"""What a loss is given in place of what it takes: probabilities for logits or for logarithms.

The rules see through pages, and through blocks that only arrange numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.importing.kinds import is_kind
from gradwire.runtime.flow.structure.neighbours import SHAPES, neighbours_of
from gradwire.runtime.flow.tools.findings import (
    NO_LOGARITHM,
    SIGMOID_TWICE,
    SOFTMAX_TWICE,
    Finding,
)
from gradwire.runtime.flow.words import value_sentences

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.flow.observed import ObservedFlow

_SQUASHING = ("Sigmoid", "Softmax")
_OWN = {
    "BinaryCrossEntropy": ("prediction", "sigmoid"),
    "CrossEntropy": ("logits", "softmax"),
    "LogSoftmax": ("x", "softmax"),
    "Softplus": ("x", "sigmoid"),
}
"""Types that squash an input themselves: which one, and how."""
_SAME = SHAPES | {"Cast", "Clip", "Dropout", "StopGradient"}
"""Types whose result is still a probability, or a logarithm, where their input is."""
_ENDS = {"PageInput", "PageOutput"}
_LOGARITHMS = ("Log", "Log1p", "LogSoftmax", "LogSumExp", "Softplus")
_NORMALISING = {"Log", "LogSumExp"}
"""Types that may make a likelihood of scores in another term."""
_ARITHMETIC = _SAME | {"Add", "AddN", "Div", "Maximum", "Mean", "Minimum", "Mul", "Neg", "Sub",
                       "Sum", "Where"}  # fmt: skip
_MOST = 64
"""Blocks of a formula that are looked at, at most."""
_AVERAGING = _SAME | {"Mean", "Neg", "Sum", "Where"}
"""Types between a likelihood and a loss that have one input with a gradient."""
_REDUCED = 1e-3
"""By how much the sum of probabilities may differ from 1."""


def wrong_inputs(observed: ObservedFlow) -> Iterator[Finding]:
    """Losses that squash what is squashed, and those that miss a logarithm."""
    rules = LossInputs(observed)
    yield from rules.squashed_twice()
    yield from rules.likelihoods()
    yield from rules.divergences()


class LossInputs:
    """What the losses of an observed flow are given."""

    def __init__(self, observed: ObservedFlow) -> None:
        self.observed = observed
        self.program = observed.program
        self.near = neighbours_of(observed.program)
        self.heads = {loss.block for loss in observed.losses}

    # ---- squashed twice -----------------------------------------------------------------------

    def squashed_twice(self) -> Iterator[Finding]:
        """Blocks that are given the output of a Softmax or a Sigmoid in place of logits."""
        for path, instance in self.program.instances.items():
            block: Any = instance.block
            kind = next((kind for kind in _OWN if is_kind(block, kind)), "")
            if not kind or (kind == "BinaryCrossEntropy" and block.given != "logits"):
                continue
            port, own = _OWN[kind]
            complaint = SOFTMAX_TWICE if own == "softmax" else SIGMOID_TWICE
            is_term = kind == "Softplus"
            makers = self._makers(path, port, _SAME | {"Neg"} if is_term else _SAME)
            if not makers or not all(map(self._is_squashing, makers)):
                continue
            if self._along_another_axis(path, port, makers[0]):
                continue
            if not is_term or self._is_added_up(path):
                text = value_sentences.TWICE.format(path, own, makers[0])
                yield Finding(complaint, path, text)

    def _along_another_axis(self, path: InstancePath, port: str, maker: InstancePath) -> bool:
        """Whether a Softmax next to a LogSoftmax normalises along another axis than it."""
        outer: Any = self.program.block(path)
        inner: Any = self.program.block(maker)
        if not (is_kind(outer, "LogSoftmax") and is_kind(inner, "Softmax")):
            return False
        (source,) = self._makers(path, port, _ENDS)
        axes = len(self.program.ports[maker.port("out")].shape)
        return source == maker and (outer.axis - inner.axis) % axes != 0

    def _is_added_up(self, path: InstancePath) -> bool:
        """Whether a block is a term of a loss."""
        return any(at in self.heads for at in self.near.through(path, _ARITHMETIC | {"Loss"}))

    # ---- logarithms ---------------------------------------------------------------------------

    def likelihoods(self) -> Iterator[Finding]:
        """Means of what a class is given, negated, where that is no logarithm."""
        for path, instance in self.program.instances.items():
            block: Any = instance.block
            if not is_kind(block, "PickAlong"):
                continue
            makers = self._makers(path, "x")
            if text := self._across(path, block.axis):
                yield Finding(NO_LOGARITHM, path, text)
            elif self._lacks_logarithm(path, "x", makers, (block.axis,)):
                if self._is_likelihood(path, makers[0]):
                    text = value_sentences.NO_LIKELIHOOD.format(path, makers[0])
                    yield Finding(NO_LOGARITHM, path, f"{text} {self._logarithm_cure(makers[0])}")

    def _across(self, path: InstancePath, axis: int) -> str:
        """What is said where a class is picked along an axis that its LogSoftmax, next to it,
        doesn't normalise along; empty elsewhere.
        """
        for source in self._makers(path, "x", _ENDS):
            maker: Any = self.program.block(source)
            if is_kind(maker, "LogSoftmax") and self._is_likelihood(path, source):
                axes = len(self.program.ports[source.port("out")].shape)
                own = maker.axis % axes
                if own != axis % axes:
                    return value_sentences.ACROSS.format(source, own, path, axis % axes)
        return ""

    def _logarithm_cure(self, maker: InstancePath) -> str:
        if is_kind(self.program.block(maker), "Softmax"):
            return value_sentences.LOG_SOFTMAX_INSTEAD.format(maker)
        is_sigmoid = self._is_squashing(maker)
        return value_sentences.LOGARITHM.format("Log" if is_sigmoid else "LogSoftmax", maker)

    def divergences(self) -> Iterator[Finding]:
        """Kullback-Leibler divergences of what is no logarithm: ``t * log(t) - t * x``, which
        may be written ``t * (log(t) - x)``.
        """
        for path in self.program.instances:
            kind = self.near.kind(path)
            terms = self._separate(path) if kind == "Sub" else self._factored(path)
            for product, port, certain in terms if kind in ("Sub", "Mul") else ():
                makers = self._makers(product, port)
                if not self._lacks_logarithm(product, port, makers, None if certain else ()):
                    continue
                if self._is_added_up(path):
                    text = value_sentences.NO_DIVERGENCE.format(path, makers[0])
                    yield Finding(NO_LOGARITHM, path, f"{text} {self._logarithm_cure(makers[0])}")

    def _separate(self, path: InstancePath) -> Iterator[tuple[InstancePath, str, bool]]:
        """The product and its input that is to be a logarithm in ``t * log(t) - t * x``, and
        whether ``0 * log(0)`` is made 0 as no other loss needs it.
        """
        sources = self.near.sources(path)
        if set(sources) != {"a", "b"}:
            return
        first, second = (self._makers(path, port) for port in ("a", "b"))
        if [self.near.kind(maker) for maker in second] != ["Mul"]:
            return
        product = second[0]
        factors = (s.block for maker in first for s in self.near.sources(maker).values())
        is_guarded = any(self.near.kind(at) == "Where" for at in (*first, *factors))
        for given, port in (("a", "b"), ("b", "a")):
            targets = self._makers(product, given)
            if port in self.near.sources(product) and self._is_information(first, targets):
                yield product, port, is_guarded

    def _factored(self, path: InstancePath) -> Iterator[tuple[InstancePath, str, bool]]:
        """The same in ``t * (log(t) - x)``, of both sides of the difference."""
        for given, port in (("a", "b"), ("b", "a")):
            targets, differences = self._makers(path, given), self._makers(path, port)
            if len(differences) != 1 or self.near.kind(differences[0]) != "Sub":
                continue
            logarithms = self._makers(differences[0], "a")
            exponentials = [m for t in targets if self.near.kind(t) == "Exp"
                            for m in self._makers(t, "x")]  # fmt: skip
            is_exponential = bool(exponentials) and exponentials == logarithms
            if is_exponential or self._is_information(logarithms, targets):
                yield from ((differences[0], side, False) for side in ("a", "b"))

    def _is_information(
        self, paths: Collection[InstancePath], targets: Collection[InstancePath]
    ) -> bool:
        """Whether a number is made by the logarithm of these targets."""
        for at in self._behind(paths):
            if self.near.kind(at) == "Log":
                makers = self._behind(source.block for source in self.near.sources(at).values())
                if not makers.isdisjoint(targets):
                    return True
        return False

    def _behind(self, paths: Iterable[InstancePath]) -> set[InstancePath]:
        """Blocks, and those that they are the sum, product or choice of, the nearest."""
        pending = list(paths)
        seen = set(pending)
        while pending and len(seen) < _MOST:
            at = pending.pop(0)
            if self.near.kind(at) in _ARITHMETIC:
                further = {source.block for source in self.near.sources(at).values()} - seen
                seen |= further
                pending += further
        return seen

    def _lacks_logarithm(
        self,
        path: InstancePath,
        port: str,
        makers: Collection[InstancePath],
        axes: Collection[int] | None,
    ) -> bool:
        """Whether numbers are no logarithms of probabilities: made by a Softmax or Sigmoid or, if
        they are trained, neither made by a logarithm nor such that the probabilities add up to 1
        along one of the axes, of all if None; without axes that is not asked.
        """
        if any(map(self._is_squashing, makers)):
            return True
        if any(self.near.kind(at) in _LOGARITHMS for at in self._behind(makers)):
            return False
        array = self._value(self.near.sources(path)[port]) if makers else None
        if array is None or not self.observed.flow.trained_upstream(path.wire(port)):
            return False
        asked = range(array.ndim) if axes is None else axes
        if not asked or not np.isfinite(array).all():
            return False
        with np.errstate(over="ignore"):
            sums = [np.exp(array.astype(float)).sum(axis) for axis in asked]
        return not any(np.allclose(total, 1.0, atol=_REDUCED) for total in sums)

    def _is_likelihood(self, path: InstancePath, maker: InstancePath) -> bool:
        """Whether a loss is the mean or the sum of a block's result, negated and with constant
        weights, without further terms that could normalise it.
        """
        pending, seen = [(path, False)], {path}
        while pending:
            at, negated = pending.pop()
            if at in self.heads:
                return negated
            for wire in self.near.readers(at):
                target = self.program.wire_targets[wire]
                kind = self.near.kind(target)
                others = [s.block for name, s in self.near.sources(target).items()
                          if name != wire.within_block]  # fmt: skip
                if kind in ("Add", "Sub", "Mul", "Div"):
                    before = {b for other in others for b in self.near.before(other)}
                    kinds = set(map(self.near.kind, before))
                    if maker in before or kinds & _NORMALISING:
                        continue
                    if kind == "Sub" and wire.within_block == "b":
                        continue
                    if kind in ("Mul", "Div") and any(map(self._is_measured, before)):
                        continue
                elif kind not in _AVERAGING and target not in self.heads:
                    continue
                if target not in seen:
                    seen.add(target)
                    pending.append((target, negated != (kind == "Neg")))
        return False

    def _is_measured(self, path: InstancePath) -> bool:
        """Whether a block gives floats that are data or trained, as rewards are."""
        kind = self.near.kind(path)
        port = self.program.ports.get(path.port("out"))
        return kind in ("Dataset", "Input", "Variable") and (
            port is None or port.dtype.startswith("float")
        )

    # ---- neighbours ---------------------------------------------------------------------------

    def _makers(
        self, path: InstancePath, port: str, through: Collection[str] = _SAME
    ) -> list[InstancePath]:
        """The blocks that made the numbers of an input, behind those that leave them the same."""
        source = self.near.sources(path).get(port)
        pending, found, seen = [] if source is None else [source.block], [], set()
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            sources = self.near.sources(at)
            if self.near.kind(at) in through and sources:
                pending += [s.block for name, s in sources.items() if name != "indices"]
            else:
                found.append(at)
        return found

    def _is_squashing(self, path: InstancePath) -> bool:
        known = path in self.program.instances
        return known and any(is_kind(self.program.block(path), kind) for kind in _SQUASHING)

    def _value(self, port: PortPath) -> Any:
        run = next(iter(self.observed.runs.values()), None)
        return None if run is None else run.values.get(port)
