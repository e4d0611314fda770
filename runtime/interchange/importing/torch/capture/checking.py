"""Compares a diagram with the run that it comes from: values, gradients, and which are None.

Where they differ, the gradients of intermediate results show from where on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.calculus.measuring import Measured, measured
from gradwire.runtime.diagram.comparison import MAX_LINE, Comparison, Disagreement
from gradwire.runtime.diagram.measurements import Measurements
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.words.states import PASSING
from gradwire.runtime.interchange.importing.comparing import (
    LEAST,
    apart,
    differing,
    largest,
    with_comparison,
)
from gradwire.runtime.interchange.importing.torch.capture.draws import with_draws
from gradwire.runtime.interchange.importing.torch.passing import recomputes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.engine import Run
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.torch.passing import Sum

VALUE, GRADIENT = 1e-5, 1e-4
"""How far apart numbers of float32 may be, relative to the largest of them."""
_VALUE_STEPS, _GRADIENT_STEPS = 8, 64
"""The same in machine epsilons, of what is computed more coarsely."""
_OF_TERMS = 1e-1
"""A loss is compared relative to at least this share of what is added up in it."""
_ADDING = frozenset({"Add", "AddN", "Loss", "Mean", "Neg", "Sub", "Sum"})
_NAMED = 2
"""Blocks that are named as the cause, at most."""
Places: TypeAlias = "Mapping[str, Measured | None]"
"""What arrives at ports, or has been computed there, in short."""


@by_identity
class Theirs(NamedTuple):
    """What PyTorch computed of a loss."""

    loss: str
    """Its name in the import."""
    value: NDArray[Any]
    gradients: Mapping[str, NDArray[Any] | Measured | None]
    """The gradients of what is trained, by the model's names."""
    arriving: Callable[[], Places]
    """The gradients of intermediate results, by port."""


@by_identity
class Program(NamedTuple):
    """The program that was captured, as far as a comparison needs it."""

    losses: Sequence[Theirs]
    draws: Mapping[str, NDArray[Any] | None]
    """What random blocks drew, by path; None if that is not known."""
    epsilon: float
    """That of the coarsest dtype in which PyTorch computed."""
    values: Callable[[], Places]
    """Intermediate results, by port."""

    def settled(self) -> Program:
        """The same, without what the run has left."""
        losses = [x._replace(arriving=partial(dict, x.arriving())) for x in self.losses]
        return self._replace(losses=losses, values=partial(dict, self.values()))


def measured_by(imported: Imported, theirs: Program, sums: Sequence[Sum]) -> Imported:
    """The import of a program with one loss, with what it measured in its own run in place of a
    comparison of numbers, which takes a run of the diagram.

    Where they don't agree on which gradients are None, they are compared at once.
    """
    loss = theirs.losses[0]
    port = PortPath(imported.outputs[loss.loss])
    program = Session(imported.diagram).program
    flow = analyse(program, [port])
    paths = {imported.parameters.get(name, ""): g for name, g in loss.gradients.items()}
    agree = all(
        (path in program.trainable and flow.variable(path).state in PASSING) == (g is not None)
        for path, g in paths.items()
    )
    if not agree:
        return checked(imported, theirs)
    absent = sum(gradient is None for gradient in loss.gradients.values())
    told = Comparison(losses=(port,), gradients=len(paths), absent=absent, numbers=False)
    found = with_comparison(imported, told, is_light=True)
    measurements = Measurements(
        of=found.diagram.pages,
        loss=program.flat.source(port),
        gradients={
            path: g if g is None or isinstance(g, Measured) else measured(g)
            for path, g in paths.items()
        },
        arriving=[x for x in loss.arriving().values() if x is not None],
        sums=[(one.total, max(one.terms)) for one in sums if one.terms],
        values={place: x for place, x in theirs.values().items() if place and x is not None},
        compare=partial(_comparison, imported, theirs),
    )
    return replace(found, diagram=replace(found.diagram, measured=measurements))


def _comparison(imported: Imported, theirs: Program) -> Comparison | None:
    return checked(imported, theirs).diagram.comparison


def gradients_of(loss: Any, trained: Sequence[Any]) -> list[Any]:
    """The gradients of a loss, whose graph stays; the parameters' own stay as they are.

    Raises RuntimeError where the program has freed what PyTorch needs for it.
    """
    if not loss.requires_grad:
        return [None] * len(trained)
    try:
        found = torch.autograd.grad(loss.sum(), trained, retain_graph=True, allow_unused=True)
    except RuntimeError:  # reentrant checkpoints allow only backward()
        return _by_backward(loss, trained)
    if any(g is None for g in found) and recomputes(loss.grad_fn):
        return _by_backward(loss, trained)  # grad() skips what only checkpoints use
    return list(found)


def unchecked(imported: Imported, error: RuntimeError) -> Imported:
    """The import, with the reason why it can't be compared."""
    why = str(error).partition("\n")[0].partition(". ")[0].removesuffix(".")
    return with_comparison(
        imported, Comparison(unchecked=f"it can't be differentiated: {why}"[:MAX_LINE])
    )


def checked(imported: Imported, theirs: Program) -> Imported:
    """The import, with a comparison of its losses and gradients with those of PyTorch."""
    if not theirs.losses:
        return imported
    known = {path: numbers for path, numbers in theirs.draws.items() if numbers is not None}
    diagram = with_draws(imported.diagram, known) if len(known) == len(theirs.draws) else None
    try:
        session = Session(diagram or imported.diagram)
        found = _Comparing(imported, session, theirs, diagram is not None).all()
    except GradwireError as error:
        found = Comparison(unchecked=f"the diagram could not be run: {error}"[:MAX_LINE])
    return with_comparison(imported, found)


class _Comparing:
    """One comparison of a diagram with the program."""

    def __init__(
        self, imported: Imported, session: Session, theirs: Program, has_numbers: bool
    ) -> None:
        self._imported = imported
        self._session = session
        self._theirs = theirs
        self._has_numbers = has_numbers
        self._value_within = max(VALUE, _VALUE_STEPS * theirs.epsilon)
        self._within = max(GRADIENT, _GRADIENT_STEPS * theirs.epsilon)
        self._most_apart = 0.0

    def all(self) -> Comparison:
        """The losses and gradients of the program beside those of the diagram."""
        losses = self._theirs.losses
        found = [each for loss in losses for each in self._of_loss(loss)]
        compared = [gradient for loss in losses for gradient in loss.gradients.values()]
        return Comparison(
            losses=tuple(self._imported.outputs[loss.loss] for loss in losses),
            gradients=len(compared),
            absent=sum(gradient is None for gradient in compared),
            apart=self._most_apart,
            numbers=self._has_numbers,
            disagreements=tuple(found),
        )

    def _of_loss(self, theirs: Theirs) -> list[Disagreement]:
        port = self._imported.outputs[theirs.loss]
        run = self._session.backward([port], contributions=False, accumulate=False)
        if self._has_numbers:
            value = np.asarray(run.values[port])
            how_far = apart(value, theirs.value, _OF_TERMS * self._terms(port, run))
            if not how_far <= self._value_within:
                whole = differing("value", port, port, theirs.value, value, how_far)
                return [self._first_value(whole, run)]
        found = list(self._gradients(port, theirs, run))
        return self._located(port, theirs, found) if found else []

    def _terms(self, loss: str, run: Run) -> float:
        """The largest number that is added up in a loss: where such cancel, rounding is relative
        to them.
        """
        program = self._session.program
        found: list[NDArray[Any]] = []
        seen: set[InstancePath] = set()
        pending = [program.flat.source(PortPath(loss)).block]
        while pending:
            path = pending.pop()
            if path in seen or program.block(path).type_name() not in _ADDING:
                continue
            seen.add(path)
            for _, source in program.flat.instances[path].wires.values():
                port = program.flat.source(source)
                pending.append(port.block)
                found += [run.values[port]] if port in run.values else []
        return largest(found)

    def _gradients(self, loss: str, theirs: Theirs, run: Run) -> Iterator[Disagreement]:
        least = LEAST * largest(theirs.gradients.values())
        for name, gradient in theirs.gradients.items():
            path = self._imported.parameters.get(name, "")
            ours = run.gradients.get(path)
            at = f"{path}.out" if path else loss
            if ours is None or gradient is None:
                if ours is not None or gradient is not None:
                    yield differing("gradient", loss, at, gradient, ours)
            elif self._has_numbers:
                how_far = apart(ours, gradient, least)
                if how_far <= self._within:
                    self._most_apart = max(self._most_apart, how_far)
                else:
                    yield differing("gradient", loss, at, gradient, ours, how_far)

    # ---- where they part ----------------------------------------------------------------------

    def _first_value(self, whole: Disagreement, run: Run) -> Disagreement:
        """The first intermediate result that differs, in the order of the diagram."""
        theirs = self._theirs.values()
        for port in self._session.program.ports:
            known = theirs.get(port)
            if known is None or port not in run.values:
                continue
            ours = measured(run.values[port])
            if ours.is_apart(known, 4.0 * self._value_within, 0.0):
                single = known.elements == 1
                told = {"theirs": known.shown, "ours": ours.shown, "single": single, "apart": None}
                where = {"at": port, "since": port, "cause": self._named([port.block])}
                return whole.model_copy(update=told | where)
        return whole

    def _located(
        self, loss: str, theirs: Theirs, found: Sequence[Disagreement]
    ) -> list[Disagreement]:
        """The same, with the ports nearest to the loss at which gradients differ."""
        inner = {port: known for port, known in theirs.arriving().items() if port}
        asked = [*inner, *(each.at for each in found)]
        run = self._session.backward(
            [loss], adjoints=asked, contributions=False, accumulate=False, ports=()
        )
        least = LEAST * largest(theirs.gradients.values())
        differ = [each.at for each in found]
        for port, known in inner.items():
            ours = run.adjoints.get(port)
            if ours is None or known is None:
                is_apart = (ours is None) != (known is None)
            else:
                within = 2.0 * self._within
                is_apart = self._has_numbers and measured(ours).is_apart(known, within, least)
            differ += [port] if is_apart else []
        last = self._last(differ)
        return [self._since(each, last) for each in found]

    def _last(self, differ: Sequence[str]) -> Mapping[int, PortPath]:
        """For each value from which one of these ports can be reached, the last of them on the way
        to the losses, by place.
        """
        program = self._session.program
        ports = map(program.flat.source, map(PortPath, differ))
        own = {program.ports[port].index: port for port in ports if port in program.ports}
        found: dict[int, PortPath] = {}
        for value in reversed(program.trace.values[: program.forward_end]):
            last = found.get(value.index) or own.get(value.index)
            if last is not None:
                found[value.index] = last
                for source in value.inputs:
                    found.setdefault(source.index, last)
        return found

    def _since(self, each: Disagreement, last: Mapping[int, PortPath]) -> Disagreement:
        program = self._session.program
        value = program.ports.get(program.flat.source(PortPath(each.at)))
        since = None if value is None else last.get(value.index)
        if since is None:
            return each
        cause = self._named(self._readers.get(since, ()))
        return each.model_copy(update={"since": str(since), "cause": cause})

    @cached_property
    def _readers(self) -> Mapping[PortPath, Sequence[InstancePath]]:
        """The blocks that read each port."""
        program = self._session.program
        found: dict[PortPath, list[InstancePath]] = {}
        for wire, port in program.wire_sources.items():
            found.setdefault(program.flat.source(port), []).append(program.wire_targets[wire])
        return found

    def _named(self, blocks: Sequence[InstancePath]) -> str:
        """Blocks, and where the program has them; empty for none or many."""
        known = [path for path in dict.fromkeys(blocks) if path in self._session.program.instances]
        if len(known) > _NAMED:
            return ""
        places = [(path, self._session.program.block(path).written) for path in known]
        return " and ".join(
            f"{path} ({line})" if (line := written.partition(": ")[0]) else str(path)
            for path, written in places
        )


def _by_backward(loss: Any, parameters: Sequence[Any]) -> list[Any]:
    before = [p.grad for p in parameters]
    for p in parameters:
        p.grad = None
    try:
        loss.sum().backward(retain_graph=True)
        return [p.grad for p in parameters]
    finally:
        for p, gradient in zip(parameters, before, strict=True):
            p.grad = gradient
