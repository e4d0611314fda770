"""What would let gradient through, and the gradient it would give: found by running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from blocks.errors import GradwireError
from runtime.diagram import apply
from runtime.engine import Session
from runtime.engine.norms import rms
from runtime.flow import sentences
from runtime.flow.analyse import Flow, analyse
from runtime.flow.numbers import size
from runtime.flow.states import State, Verdict
from runtime.flow.surgery import Bridge, Open, Step, Train, change_of

if TYPE_CHECKING:
    from runtime.diagram import Batch

Array = NDArray[Any]
REPAIRABLE = (State.STOPPED, State.NO_RULE, State.FROZEN)


@dataclass(frozen=True)
class Fix:
    """The cheapest repair of a wire or a variable, and what the repaired diagram gives there.

    ``opened`` are StopGradients to open, ``straight_through`` blocks without a derivative that a
    StraightThrough would get past (the gradient is then that of the surrogate), ``trained``
    variables to make trainable. ``change`` makes the repair; it is None, with the reason in
    ``obstacle``, where blocks alone can't. ``gradient`` is the variable's, or what the wire
    would bring back, and ``rms`` its size.
    """

    opened: tuple[str, ...]
    straight_through: tuple[str, ...]
    trained: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    change: Batch | None = None
    gradient: Array | None = None
    rms: float | None = None
    obstacle: str = ""

    @property
    def sentence(self) -> str:
        """For example ``Without sg1: 3.00.`` (the gradient, or its root mean square)."""
        parts = []
        if self.opened:
            parts.append(f"without {sentences.names(self.opened)}")
        if self.straight_through:
            parts.append(f"straight through {sentences.names(self.straight_through)}")
        if self.trained:
            parts.append(f"with {sentences.names(self.trained)} trained")
        if not parts:
            return self.obstacle
        text = ", ".join(parts)
        found = size(self.gradient) if not self.obstacle else self.obstacle
        return f"{text[0].upper()}{text[1:]}: {found.removesuffix('.')}."


def fix(
    session: Session,
    key: str,
    loss: str | None = None,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    flow: Flow | None = None,
) -> Fix | None:
    """The cheapest repair of a wire or variable for one loss (the best of all without it).

    Of a wire with a tree, that of the first leaf in the wire's state.
    None where gradient passes already, or nothing could make it pass. ``flow`` saves time where
    there is one of the same program.
    """
    flow = flow or analyse(session.program)
    key = flow.leaf_of(key, loss)
    verdict = flow.explain(key, loss)
    if verdict.state not in REPAIRABLE or verdict.loss is None:
        return None
    opened = tuple(dict.fromkeys(c.block for c in verdict.repair if flow.slots.openable(c)))
    others = [c for c in verdict.repair if not flow.slots.openable(c)]
    trained = flow.to_train(verdict)
    if not (verdict.repair or trained):
        return None
    found = Fix(opened, tuple(dict.fromkeys(c.block for c in others)), trained)
    bypasses = flow.bypasses(verdict)
    if None in bypasses:
        stuck = next(c for c, b in zip(others, bypasses, strict=True) if b is None)
        return replace(found, obstacle=f"no block can stand in for {stuck}: soften it.")
    steps: list[Step] = [*map(Open, opened), *map(Train, trained)]
    steps += [Bridge(b.hard, b.soft, b.target) for b in bypasses if b is not None]
    return _run(session, replace(found, steps=tuple(steps)), key, verdict.loss, feeds)


def with_fix(
    session: Session,
    verdict: Verdict,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    flow: Flow | None = None,
) -> Verdict:
    """The verdict, with the sentence of its fix at the end of its own."""
    found = fix(session, verdict.wire, verdict.loss, feeds=feeds, flow=flow)
    if found is None or not found.sentence:
        return verdict
    return replace(verdict, sentence=f"{verdict.sentence} {found.sentence}")


def trial(session: Session, steps: tuple[Step, ...]) -> tuple[Session, Batch]:
    """A session of the diagram with the steps made, and the change that makes them.

    It holds the variables' values and the step number of ``session``. Raises ChangeError.
    """
    change = change_of(session.diagram, steps)
    repaired = Session(apply(session.diagram, change).after, partial=session.partial)
    for name, value in session.values.items():
        if name in repaired.program.instances:
            repaired.set(name, value)
    repaired.step_number = session.step_number
    return repaired, change


def _run(
    session: Session, found: Fix, key: str, loss: str, feeds: Mapping[str, ArrayLike] | None
) -> Fix:
    try:
        repaired, change = trial(session, found.steps)
        wire = key in repaired.program.wire_sources
        run = repaired.backward(
            [loss], feeds=feeds, ports=[loss], contributions=wire, wrt=None if wire else [key]
        )
    except GradwireError as error:
        return replace(found, obstacle=f"it can't be run: {error.what}")
    gradient = run.contributions.get(key) if wire else run.gradients[key]
    return replace(
        found,
        change=change,
        gradient=gradient,
        rms=None if gradient is None else rms(gradient),
    )
