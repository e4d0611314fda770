"""How other systems report the gradient of a variable, and what optimisers do with it.

Systems: PyTorch 2, JAX, TensorFlow 2 and MXNet 1. They differ where no path connects, where the
only path leads through rounding, and at the points of the table of choices, where the gradient is
computed by their own definitions. Claims about PyTorch and JAX are compared with these systems in
the tests; those about TensorFlow and MXNet are from their source, named beside the definitions.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus import passes_gradient
from gradwire.runtime.calculus.choices.choice import SYSTEMS
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.session.lookup import find_port
from gradwire.runtime.flow.words.formatting import size
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.observed import ObservedFlow

ROUNDING = frozenset({"round", "floor", "ceil"})
"""Primitives whose gradient is 0 here, in PyTorch, JAX and MXNet, and None in TensorFlow."""


@dataclass(frozen=True, slots=True)
class SystemReport:
    """What one system reports for a variable, ``None``, ``zeros`` or the gradient, and by what.

    ``because`` names the block at which the system has another gradient than this one, and how;
    empty where it has none. ``gradient`` has the numbers, None where there are none.
    """

    system: str
    says: str
    by: str
    because: str = ""
    gradient: Array | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OptimiserFate:
    """What one optimiser does with a variable, with and without weight decay."""

    optimiser: str
    plain: str
    decayed: str


@dataclass(frozen=True, slots=True)
class Dialects:
    """A variable in the words of other systems; ``fates`` by system, none for another port."""

    variable: str
    state: State
    reports: tuple[SystemReport, ...]
    fates: dict[str, tuple[OptimiserFate, ...]]


_BY = {
    "PyTorch": "grad after loss.backward()",
    "JAX": "jax.grad",
    "TensorFlow": "tape.gradient",
    "MXNet": "grad after loss.backward()",
}
_FROZEN_BY = {
    "PyTorch": "requires_grad=False",
    "JAX": "left out of argnums",
    "TensorFlow": "trainable=False",
    "MXNet": "grad_req='null'",
}
_ABSENT = {"PyTorch": "None", "JAX": "zeros", "TensorFlow": "None", "MXNet": "zeros"}
"""What a system reports where no path connects."""
OPTIMISERS = ("SGD", "SGD with momentum", "AdamW")
NOT_REQUESTED = "not requested"
NOT_RUN = "a gradient; run the diagram to see it"
NOT_KNOWN = "not known"
FOLLOWS = "follows its gradient"
NO_STEP = "no step is made"
STAYS = "stays unchanged"
DRIFTS = "shrinks: weight decay moves it without a gradient"
DEPENDS = "depends on its gradient"
RUINED = "becomes {0}: no later step brings it back"
_STEPPED = {"NaN": "NaN", "∞": "infinite"}
"""What a step of gradient descent makes of a weight, by its gradient."""
GOES_ON = "stays unchanged, unless momentum from earlier steps keeps moving it"


_LEAF_BY = {
    "PyTorch": "requires_grad_() before",
    "JAX": "jax.grad, chosen by argnums",
    "TensorFlow": "tape.gradient, after tape.watch",
    "MXNet": "attach_grad() before",
}
_INNER_BY = {
    "PyTorch": "retain_grad() before",
    "JAX": "jax.vjp of what follows it",
    "TensorFlow": "tape.gradient",
    "MXNet": "attach_grad() on it, which cuts it off from what lies before",
}


@explained
def dialects(observed: ObservedFlow, key: str, loss: str | None = None) -> Dialects:
    """What other systems report for the gradient of a variable, or of any other port (an input or a
    constant by its block). Only variables are moved by optimisers.

    Raises RunError where there is no such port.
    """
    heads = observed.losses if loss is None else (loss,)
    key = observed.program.flat.canonical(key)
    if key in observed.program.sources("variable"):
        return _of_variable(observed, key, loss, heads)
    port = find_port(observed.program, key)
    value = observed.program.ports.get(port)
    known = [a for h in heads if (a := observed.arriving(port, h)) is not None]
    is_leaf = PortPath(port).short in observed.program.leaves
    by = _LEAF_BY if is_leaf else _INNER_BY
    if value not in _reached(observed.program, heads, all_slots=True):
        reports = tuple(SystemReport(s, _ABSENT[s], by[s]) for s in SYSTEMS)
        return Dialects(key, observed.flow.arrival(port, loss), reports, {})
    rounded = value not in _reached(observed.program, heads, all_slots=False)
    ours = sum(known[1:], known[0]) if known else None
    claims = _Claims(observed, port, loss, ours, rounded)
    return Dialects(key, State.CARRIES, tuple(claims.report(s, by[s], _size) for s in SYSTEMS), {})


def _of_variable(
    observed: ObservedFlow, variable: str, loss: str | None, heads: tuple[str, ...]
) -> Dialects:
    state = observed.variable(variable, loss).state
    gradient = observed.gradient(variable, loss)
    program = observed.program
    leaf = program.leaves.get(variable)
    through = _reached(program, heads, all_slots=True)
    smooth = _reached(program, heads, all_slots=False)
    trained = {program.leaves[n].value for n in program.trainable if n in program.leaves}
    if state is State.FROZEN:
        reports = tuple(SystemReport(s, NOT_REQUESTED, _FROZEN_BY[s]) for s in SYSTEMS)
    elif gradient is None:
        reports = _unconnected(lost=not through & trained)
    else:
        rounded = leaf is None or leaf.value not in smooth
        claims = _Claims(observed, PortPath.named(variable), loss, gradient, rounded)
        reports = tuple(claims.report(s, _BY[s], _size_or_zeros) for s in SYSTEMS)
    return Dialects(variable, state, reports, {r.system: _fates(r) for r in reports})


@dataclass(frozen=True, slots=True, eq=False)
class _Claims:
    """The gradient of a connected port, which is ``ours`` here; None where nothing was run.

    ``rounded`` where every path leads through rounding.
    """

    observed: ObservedFlow
    port: PortPath
    loss: str | None
    ours: Array | None
    rounded: bool

    def report(self, system: str, by: str, words: Callable[[Array], str]) -> SystemReport:
        """What a system reports; ``words`` are those for a gradient that there is."""
        cut = self.rounded and system == "TensorFlow"
        there = self.observed.elsewhere(self.loss)
        if there is None or self.ours is None:
            return SystemReport(system, "None" if cut else NOT_RUN, by)
        if cut:
            return SystemReport(system, "None", by, there.reason(system, self.port, self.ours))
        answer = there.answer(system, self.port, self.ours)
        if not answer.known:
            return SystemReport(system, NOT_KNOWN, by, answer.because)
        says = _ABSENT[system] if answer.gradient is None else words(answer.gradient)
        return SystemReport(system, says, by, answer.because, answer.gradient)


def _size_or_zeros(gradient: Array) -> str:
    return _size(gradient) if np.any(gradient) else "zeros"


def _size(gradient: Array) -> str:
    return _wild(gradient) or size(gradient)


def _wild(gradient: Array) -> str:
    """``NaN``, ``∞``, ``NaN in 2 of 3``: what is not finite; empty where all is."""
    for what, found in (("NaN", np.isnan(gradient)), ("∞", np.isinf(gradient))):
        if found.all() and found.size:
            return what
        if found.any():
            return f"{what} in {np.count_nonzero(found)} of {found.size}"
    return ""


def _unconnected(lost: bool) -> tuple[SystemReport, ...]:
    """``lost`` means that no variable at all gets a gradient."""
    error = SystemReport("PyTorch", "error", "element 0 of tensors does not require grad")
    reports = [SystemReport(s, _ABSENT[s], _BY[s]) for s in SYSTEMS]
    return (error, *reports[1:]) if lost else tuple(reports)


@lru_cache(maxsize=2)
def _reached(program: Program, heads: tuple[str, ...], all_slots: bool) -> frozenset[Value]:
    """The values that gradient comes to; through rounding only with ``all_slots``."""
    reached = {program.ports[find_port(program, head)] for head in heads}
    for value in reversed(program.trace.values[: program.forward_end]):
        if value in reached and (all_slots or value.primitive.name not in ROUNDING):
            reached |= {s for slot, s in enumerate(value.inputs) if passes_gradient(value, slot)}
    return frozenset(reached)


def _fates(report: SystemReport) -> tuple[OptimiserFate, ...]:
    if report.says == "error":
        return tuple(OptimiserFate(name, NO_STEP, NO_STEP) for name in OPTIMISERS)
    if report.says in ("None", NOT_REQUESTED):
        return tuple(OptimiserFate(name, STAYS, STAYS) for name in OPTIMISERS)
    if report.says == "zeros":
        return (
            OptimiserFate("SGD", STAYS, DRIFTS),
            OptimiserFate("SGD with momentum", GOES_ON, DRIFTS),
            OptimiserFate("AdamW", GOES_ON, DRIFTS),
        )
    if report.says == NOT_KNOWN:
        return tuple(OptimiserFate(name, DEPENDS, DEPENDS) for name in OPTIMISERS)
    if report.gradient is not None and (wild := _wild(report.gradient)):
        return _ruined(wild)
    decayed = f"{FOLLOWS}, and shrinks a little"
    return tuple(OptimiserFate(name, FOLLOWS, decayed) for name in OPTIMISERS)


def _ruined(wild: str) -> tuple[OptimiserFate, ...]:
    """What becomes of a weight with a gradient that is not finite; Adam divides ∞ by ∞."""
    what, _, where = wild.partition(" ")
    plain, adam = (RUINED.format(f"{made} {where}".rstrip()) for made in (_STEPPED[what], "NaN"))
    return tuple(
        OptimiserFate(name, *(adam if name == "AdamW" else plain,) * 2) for name in OPTIMISERS
    )
