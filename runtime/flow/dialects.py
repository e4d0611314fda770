"""How other systems report the gradient of a variable, and what optimisers do with it.

Systems: PyTorch 2, JAX, TensorFlow 2 and MXNet 1. They differ where no path connects, and
where the only path leads through rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runtime.calculus import passes
from runtime.engine.naming import find_port
from runtime.flow.numbers import size
from runtime.flow.states import State

if TYPE_CHECKING:
    from runtime.engine.program import Program
    from runtime.flow.reading import FlowRun

SYSTEMS = ("PyTorch", "JAX", "TensorFlow", "MXNet")
ROUNDING = frozenset({"round", "floor", "ceil"})
"""Primitives whose gradient is 0 here, in PyTorch, JAX and MXNet, and None in TensorFlow."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one system says about a variable: ``None``, ``zeros``, or the gradient; and by what."""

    system: str
    says: str
    by: str


@dataclass(frozen=True, slots=True)
class Fate:
    """What one optimiser does with a variable, with and without weight decay."""

    optimiser: str
    plain: str
    decayed: str


@dataclass(frozen=True, slots=True)
class Dialects:
    """A variable in the words of other systems; ``fates`` by system."""

    variable: str
    state: State
    reports: tuple[Report, ...]
    fates: dict[str, tuple[Fate, ...]]


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
OPTIMISERS = ("SGD", "SGD with momentum", "AdamW")
NOT_ASKED = "not asked for"
NO_STEP = "no step is made"
STAYS = "stays as it is"
DRIFTS = "shrinks: weight decay moves it without a gradient"
GOES_ON = "stays as it is, unless it has momentum from earlier steps: then it goes on"


def dialects(reading: FlowRun, variable: str, loss: str | None = None) -> Dialects:
    """What other systems say about one variable of a reading."""
    state = reading.variable(variable, loss).state
    gradient = reading.gradient(variable, loss)
    heads = reading.losses if loss is None else (loss,)
    through = _reached(reading.program, heads, all_slots=True)
    smooth = _reached(reading.program, heads, all_slots=False)
    if state is State.FROZEN:
        reports = tuple(Report(s, NOT_ASKED, _FROZEN_BY[s]) for s in SYSTEMS)
    elif gradient is None:
        reports = _unconnected(lost=not through & set(reading.program.trainable))
    else:
        shown = size(gradient) if np.any(gradient) else "zeros"
        rounded = variable not in smooth
        reports = tuple(
            Report(s, "None" if rounded and s == "TensorFlow" else shown, _BY[s]) for s in SYSTEMS
        )
    return Dialects(variable, state, reports, {r.system: _fates(r) for r in reports})


def _unconnected(lost: bool) -> tuple[Report, ...]:
    """``lost`` tells that no variable at all gets a gradient."""
    error = Report("PyTorch", "error", "element 0 of tensors does not require grad")
    return (
        error if lost else Report("PyTorch", "None", _BY["PyTorch"]),
        Report("JAX", "zeros", _BY["JAX"]),
        Report("TensorFlow", "None", _BY["TensorFlow"]),
        Report("MXNet", "zeros", _BY["MXNet"]),
    )


def _reached(program: Program, heads: Iterable[str], all_slots: bool) -> set[str]:
    """The variables that gradient comes to; through rounding only with ``all_slots``."""
    reached = {program.ports[find_port(program, head)] for head in heads}
    for value in reversed(program.trace.values[: program.forward_end]):
        if value in reached and (all_slots or value.primitive.name not in ROUNDING):
            reached |= {s for slot, s in enumerate(value.inputs) if passes(value, slot)}
    return {name for name in program.trainable
            if name in program.leaves and program.leaves[name].value in reached}  # fmt: skip


def _fates(report: Report) -> tuple[Fate, ...]:
    if report.says == "error":
        return tuple(Fate(name, NO_STEP, NO_STEP) for name in OPTIMISERS)
    if report.says in ("None", NOT_ASKED):
        return tuple(Fate(name, STAYS, STAYS) for name in OPTIMISERS)
    if report.says == "zeros":
        return (
            Fate("SGD", STAYS, DRIFTS),
            Fate("SGD with momentum", GOES_ON, DRIFTS),
            Fate("AdamW", GOES_ON, DRIFTS),
        )
    moves = "moves with its gradient"
    decayed = f"{moves}, and shrinks a little"
    return tuple(Fate(name, moves, decayed) for name in OPTIMISERS)
