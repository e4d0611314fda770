"""How other systems report the gradient of a variable, and what optimisers do with it.

Systems: PyTorch 2, JAX, TensorFlow 2 and MXNet 1. They differ where no path connects, and
where the only path leads through rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.arguments import explained
from runtime.calculus import passes_gradient
from runtime.diagram.paths import PortPath
from runtime.engine.lookup import find_port
from runtime.flow.words.formatting import size
from runtime.flow.words.states import State

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.program import Program
    from runtime.flow.observed import ObservedFlow

Array = NDArray[Any]
SYSTEMS = ("PyTorch", "JAX", "TensorFlow", "MXNet")
ROUNDING = frozenset({"round", "floor", "ceil"})
"""Primitives whose gradient is 0 here, in PyTorch, JAX and MXNet, and None in TensorFlow."""


@dataclass(frozen=True, slots=True)
class SystemReport:
    """What one system reports for a variable, ``None``, ``zeros`` or the gradient, and by what."""

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
    """A variable in the words of other systems; ``fates`` by system, none for another port."""

    variable: str
    state: State
    reports: tuple[SystemReport, ...]
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
NOT_REQUESTED = "not requested"
NOT_RUN = "a gradient; run the diagram to see it"
NO_STEP = "no step is made"
STAYS = "stays unchanged"
DRIFTS = "shrinks: weight decay moves it without a gradient"
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
        says = dict(zip(SYSTEMS, ("None", "zeros", "None", "zeros"), strict=True))
        reports = tuple(SystemReport(s, says[s], by[s]) for s in SYSTEMS)
        return Dialects(key, observed.flow.arrival(port, loss), reports, {})
    shown = size(sum(known[1:], known[0])) if known else NOT_RUN
    rounded = value not in _reached(observed.program, heads, all_slots=False)
    reports = tuple(
        SystemReport(s, "None" if rounded and s == "TensorFlow" else shown, by[s]) for s in SYSTEMS
    )
    return Dialects(key, State.CARRIES, reports, {})


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
        shown = size(gradient) if np.any(gradient) else "zeros"
        rounded = leaf is None or leaf.value not in smooth
        reports = tuple(
            SystemReport(s, "None" if rounded and s == "TensorFlow" else shown, _BY[s])
            for s in SYSTEMS
        )
    return Dialects(variable, state, reports, {r.system: _fates(r) for r in reports})


def _unconnected(lost: bool) -> tuple[SystemReport, ...]:
    """``lost`` means that no variable at all gets a gradient."""
    error = SystemReport("PyTorch", "error", "element 0 of tensors does not require grad")
    return (
        error if lost else SystemReport("PyTorch", "None", _BY["PyTorch"]),
        SystemReport("JAX", "zeros", _BY["JAX"]),
        SystemReport("TensorFlow", "None", _BY["TensorFlow"]),
        SystemReport("MXNet", "zeros", _BY["MXNet"]),
    )


@lru_cache(maxsize=2)
def _reached(program: Program, heads: tuple[str, ...], all_slots: bool) -> frozenset[Value]:
    """The values that gradient comes to; through rounding only with ``all_slots``."""
    reached = {program.ports[find_port(program, head)] for head in heads}
    for value in reversed(program.trace.values[: program.forward_end]):
        if value in reached and (all_slots or value.primitive.name not in ROUNDING):
            reached |= {s for slot, s in enumerate(value.inputs) if passes_gradient(value, slot)}
    return frozenset(reached)


def _fates(report: SystemReport) -> tuple[Fate, ...]:
    if report.says == "error":
        return tuple(Fate(name, NO_STEP, NO_STEP) for name in OPTIMISERS)
    if report.says in ("None", NOT_REQUESTED):
        return tuple(Fate(name, STAYS, STAYS) for name in OPTIMISERS)
    if report.says == "zeros":
        return (
            Fate("SGD", STAYS, DRIFTS),
            Fate("SGD with momentum", GOES_ON, DRIFTS),
            Fate("AdamW", GOES_ON, DRIFTS),
        )
    moves = "follows its gradient"
    decayed = f"{moves}, and shrinks a little"
    return tuple(Fate(name, moves, decayed) for name in OPTIMISERS)
