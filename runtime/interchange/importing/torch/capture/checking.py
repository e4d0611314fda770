"""Compares a diagram with the run that it comes from: values, gradients, and which are None.

Where they differ, the gradients of intermediate results show from where on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.structure.singles import single
from gradwire.runtime.flow.words.states import PASSING
from gradwire.runtime.interchange.importing.comparing import (
    LEAST,
    apart,
    differing,
    largest,
    with_comparison,
)
from gradwire.runtime.interchange.importing.torch.capture.draws import with_draws
from gradwire.runtime.interchange.importing.torch.capture.passing import gradients_aside, recomputes

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Run
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.torch.capture.passing import GradientSum
    from gradwire.runtime.interchange.importing.torch.types import Tensor

VALUE, GRADIENT = 1e-5, 1e-4
"""How far apart numbers of float32 may be, relative to the largest of them."""
_VALUE_STEPS, _GRADIENT_STEPS = 8, 64
"""The same in machine epsilons, of what is computed more coarsely."""
_OF_TERMS = 1e-1
"""A loss is compared relative to at least this share of what is added up in it."""
_OF_ZERO = 1e-1
"""A gradient that is exactly 0 here is compared relative to this share of the largest of all: what
a framework has of it is rounding.
"""
_ADDING = frozenset({"Add", "AddN", "Loss", "Mean", "Neg", "Sub", "Sum"})
_MAGNIFIED = 0.25
"""How far apart numbers may be where rounding is magnified on the way, at most."""
_OF_ONE = 4
"""The rounding of numbers near 1, in machine epsilons."""
_LAST_DIGITS, _RUNS = 16, 4
"""By how many machine epsilons variables are moved to see how far that moves the numbers, and how
often: a Relu near 0 may open by it, or not.
"""
_NAMED = 2
"""Blocks that are named as the cause, at most."""
Places: TypeAlias = "Mapping[str, Measured | None]"
"""What arrives at ports, or has been computed there, in short."""


@by_identity
class Theirs(NamedTuple):
    """What PyTorch computed of a loss."""

    loss: str
    """Its name in the import."""
    value: Array
    gradients: Mapping[str, Array | Measured | None]
    """The gradients of what is trained, by the model's names."""
    arriving: Callable[[], Places]
    """The gradients of intermediate results, by port."""


@by_identity
class CapturedProgram(NamedTuple):
    """The program that was captured, as far as a comparison needs it."""

    losses: Sequence[Theirs]
    draws: Mapping[str, Array | None]
    """What random blocks drew, by path; None if that is not known."""
    epsilon: float
    """That of the coarsest dtype in which PyTorch computed."""
    values: Callable[[], Places]
    """Intermediate results, by port."""

    def settled(self) -> CapturedProgram:
        """The same, without what the run has left."""
        losses = [x._replace(arriving=partial(dict, x.arriving())) for x in self.losses]
        return self._replace(losses=losses, values=partial(dict, self.values()))


def measured_by(
    imported: Imported,
    theirs: CapturedProgram,
    sums: Sequence[GradientSum],
    told_besides: Callable[[Imported], Imported],
) -> Imported:
    """The import of a program with one loss, with what it measured in its own run in place of a
    comparison of numbers, which takes a run of the diagram; ``told_besides`` completes one.

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
        return told_besides(checked(imported, theirs))
    absent = sum(gradient is None for gradient in loss.gradients.values())
    told = Comparison(losses=(port,), gradients=len(paths), absent=absent, numbers=False)
    found = told_besides(with_comparison(imported, told, is_light=True))
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
        compare=lambda: told_besides(checked(imported, theirs)).diagram.comparison,
    )
    return replace(found, diagram=replace(found.diagram, measured=measurements))


def gradients_of(loss: Tensor, trained: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients of a loss, whose graph stays; the parameters' own stay as they are.

    Raises RuntimeError where the program has freed what PyTorch needs for it.
    """
    if not loss.requires_grad:
        return [None] * len(trained)
    if any(p._post_accumulate_grad_hooks for p in trained):
        return _by_backward(loss, trained)  # grad() accumulates nothing
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


def checked(imported: Imported, theirs: CapturedProgram) -> Imported:
    """The import, with a comparison of its losses and gradients with those of PyTorch."""
    if not all(loss.loss in imported.outputs for loss in theirs.losses):
        return unchecked(imported, RuntimeError("its loss is a constant of this run"))
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
        self, imported: Imported, session: Session, theirs: CapturedProgram, has_numbers: bool
    ) -> None:
        self._imported = imported
        self._session = session
        self._theirs = theirs
        self._has_numbers = has_numbers
        self._value_within = max(VALUE, _VALUE_STEPS * theirs.epsilon)
        self._within = max(GRADIENT, _GRADIENT_STEPS * theirs.epsilon)
        self._most_apart = 0.0
        self._roundings: dict[str, list[Run]] = {}

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
            least = _OF_TERMS * self._terms(port, run)
            how_far = apart(value, theirs.value, least)
            if not self._is_near(how_far, self._value_within, port, "", value, least):
                whole = differing("value", port, port, theirs.value, value, how_far)
                return [self._first_value(whole, run)]
        found = list(self._gradients(port, theirs, run))
        return self._located(port, theirs, found) if found else []

    def _is_near(
        self, how_far: float, within: float, loss: str, variable: str, ours: Array, least: float
    ) -> bool:
        """Whether numbers differ by rounding alone: a loss, or its gradient of a variable.

        What is left of probabilities that meet their labels has the rounding of numbers near 1. And
        norms over few elements magnify it: then other last digits of the variables move the
        diagram's own numbers as far.
        """
        if how_far <= within:
            return True
        if not how_far <= _MAGNIFIED:
            return False
        if how_far * max(largest([ours]), least) <= _OF_ONE * self._theirs.epsilon:
            return True
        for run in self._rounded(loss):
            moved = run.gradients.get(variable) if variable else np.asarray(run.values[loss])
            if moved is not None and how_far <= 2.0 * apart(moved, ours, least):
                return True
        return False

    def _is_rounding(self, loss: str, variable: str, *gradients: Array | Measured) -> bool:
        """Whether all of a gradient is rounding, as the loss does not change with the variable."""
        program = self._session.program
        wires = neighbours_of(program).readers(InstancePath(variable))
        is_small = largest(gradients) <= _GRADIENT_STEPS * self._theirs.epsilon
        return is_small and bool(invariance(program, [PortPath(loss)], wires))

    def _rounded(self, loss: str) -> Sequence[Run]:
        """Runs with other last digits of all variables."""
        if loss not in self._roundings:
            session, draw = self._session, np.random.default_rng(0)
            before = {name: np.asarray(session.values[name]) for name in session.program.trainable}
            found = []
            for _ in range(_RUNS):
                for name, array in before.items():
                    signs = draw.choice([-1.0, 1.0], array.shape)
                    epsilon = max(self._theirs.epsilon, float(np.finfo(array.dtype).eps))
                    session.set(
                        name, (array * (1.0 + _LAST_DIGITS * epsilon * signs)).astype(array.dtype)
                    )
                found.append(session.backward([loss], contributions=False, accumulate=False))
            for name, array in before.items():
                session.set(name, array)
            self._roundings[loss] = found
        return self._roundings[loss]

    def _terms(self, loss: str, run: Run) -> float:
        """The largest number that is added up in a loss: where such cancel, rounding is relative
        to them.
        """
        program = self._session.program
        found: list[Array] = []
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
        most = largest(theirs.gradients.values())
        least, least_of_zero = LEAST * most, (1.0 if self._has_single_norms else _OF_ZERO) * most
        for name, gradient in theirs.gradients.items():
            path = self._imported.parameters.get(name, "")
            ours = run.gradients.get(path)
            at = f"{path}.out" if path else loss
            if ours is None or gradient is None:
                if ours is not None or gradient is not None:
                    yield differing("gradient", loss, at, gradient, ours)
            elif self._has_numbers:
                at_least = least if ours.any() else least_of_zero
                how_far = apart(ours, gradient, at_least)
                if self._is_near(how_far, self._within, loss, path, ours, at_least):
                    self._most_apart = max(self._most_apart, how_far)
                elif self._is_rounding(loss, path, ours, gradient):
                    continue
                else:
                    yield differing("gradient", loss, at, gradient, ours, how_far)

    @cached_property
    def _has_single_norms(self) -> bool:
        """Whether some norm divides what rounding leaves of single elements by almost 0."""
        program, near = self._session.program, neighbours_of(self._session.program)
        for path, instance in program.instances.items():
            sources = near.sources(path)
            shapes = {n: program.ports[s].shape for n, s in sources.items() if s in program.ports}
            if single(instance.block, shapes):
                return True
        return False

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


def _by_backward(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor | None]:
    with gradients_aside(parameters):
        loss.sum().backward(retain_graph=True)
        return [p.grad for p in parameters]
