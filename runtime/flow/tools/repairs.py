"""Fixes: what would let gradient through, and the gradient it would give, found by running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.recorded import Recorded
from gradwire.runtime.diagram import apply
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.norms import combined_rms, rms
from gradwire.runtime.flow.analyse import Flow, analyse
from gradwire.runtime.flow.structure.disagreements import carried
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.structure.slots import Bypass
from gradwire.runtime.flow.structure.surrogates import Surrogate, surrogate_of
from gradwire.runtime.flow.tools.interventions import (
    Bridge,
    Intervention,
    OpenStop,
    Train,
    change_of,
)
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.formatting import apart, size
from gradwire.runtime.flow.words.states import State, Verdict
from gradwire.runtime.progress_bars import bar

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Batch
    from gradwire.runtime.engine import Run

MOST_LOSSES = 6
"""Losses that numbers are given of apart, at most."""
REPAIRABLE = (State.STOPPED, State.NO_RULE, State.FROZEN)


@dataclass(frozen=True, eq=False)
class Fix:
    """The cheapest repair of a wire or a variable, and what the repaired diagram gives there.

    ``opened`` are StopGradients to open, ``straight_through`` blocks without a derivative that a
    StraightThrough would get past (the gradient is then that of the surrogate), ``trained``
    variables to make trainable. ``change`` makes the repair; it is None, with the reason in
    ``obstacle``, where blocks alone can't. ``gradient`` is the variable's, or what the wire
    would bring back (what the StraightThrough does where it leads past the wire), and ``rms`` its
    size. ``past`` tells that the repair leads past the wire, and ``cost`` which
    variables would lose the gradient they have: a StraightThrough takes all there is. Of a wire
    with a tree ``leaves`` are the gradients by leaf, ``gradient`` is None and ``rms`` the size of
    them all; a stop is opened for these leaves alone. ``zeroed`` are the variables whose gradient
    would become exactly 0, and ``surrogates`` the straight-through estimators that the opened
    stops are part of. Where the repair changes what comes of several losses, ``by_loss`` has that
    of each, and ``total`` that of the sum of all losses.
    """

    opened: tuple[str, ...]
    straight_through: tuple[str, ...]
    trained: tuple[str, ...]
    steps: tuple[Intervention, ...] = ()
    change: Batch | None = None
    gradient: Array | None = None
    rms: float | None = None
    obstacle: str = ""
    leaves: Mapping[str, Array | None] = field(default_factory=dict)
    past: bool = False
    cost: tuple[str, ...] = ()
    zeroed: tuple[str, ...] = ()
    surrogates: tuple[Surrogate, ...] = ()
    by_loss: Mapping[str, Array] = field(default_factory=dict)
    total: Array | None = None

    @property
    def sentence(self) -> str:
        """For example ``Without sg1: 3.00.`` (the gradient, or its root mean square)."""
        parts = []
        if self.opened:
            parts.append(f"without {sentences.names(self._stops)}")
        if self.straight_through:
            parts.append(f"straight through {sentences.names(self.straight_through)}")
        if self.trained:
            parts.append(f"with {sentences.names(self.trained)} trained")
        if not parts or (self.obstacle and not self.steps):
            return self.obstacle
        text = ", ".join(parts)
        if self.past:
            text = f"{text}, past this wire"
        cost = f", but {sentences.names(self.cost)} would get none" if self.cost else ""
        if self.zeroed:
            cost = f"{cost}, but the gradient of {sentences.names(self.zeroed)} would be exactly 0"
        said = f"{text[0].upper()}{text[1:]}: {self._found.removesuffix('.')}{cost}."
        return " ".join([said, *(found.advice for found in self.surrogates)])

    @property
    def helps(self) -> bool:
        """Whether a gradient comes that is neither 0 nor infinite, of the sum of losses too."""
        found = self.rms if self.total is None else rms(self.total)
        return bool(self.rms) and bool(found) and np.isfinite(found or 0.0)

    @property
    def switches(self) -> tuple[str, ...]:
        """The stops to open as WhatIf takes them: ``sg1``, or for a leaf ``sg1:encoder/w``."""
        steps = [step for step in self.steps if isinstance(step, OpenStop)]
        return tuple(InstancePath(step.block).with_leaf(step.leaf) for step in steps)

    @property
    def _stops(self) -> list[str]:
        """``sg1``, or with the leaves it is opened for ``sg1 on encoder/w and encoder/b``."""
        leaves: dict[str, list[str]] = {block: [] for block in self.opened}
        for step in self.steps:
            if isinstance(step, OpenStop) and step.leaf:
                leaves[step.block].append(step.leaf)
        return [f"{b} on {sentences.names(paths)}" if paths else b for b, paths in leaves.items()]

    @property
    def _found(self) -> str:
        if self.obstacle:
            return self.obstacle
        reached = {path: found for path, found in self.leaves.items() if found is not None}
        if reached:
            return sentences.names([f"{path} {size(found)}" for path, found in reached.items()])
        return apart(self.by_loss, self.total) if self.by_loss else size(self.gradient)


@explained
def fix(
    session: Session,
    key: str,
    loss: str | None = None,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    flow: Flow | None = None,
) -> Fix | None:
    """The cheapest repair of a wire or variable for one loss (the best of all without it).

    Of a wire with a tree, that of its leaves that are stopped, or else that have no rule, or else
    that are frozen; where it passes through rounding alone, and is 0, a way past that. None where
    gradient passes already, or nothing could make it pass. ``flow``
    saves time where there is one of the same program.
    """
    flow = flow or analyse(session.program)
    verdicts = _repairable(flow, key, loss)
    plans = [(v, plan) for v in verdicts if (plan := _plan(flow, v)) is not None]
    possible = [(v, plan) for v, plan in plans if not plan.obstacle]
    if not possible:
        return plans[0][1] if plans else None
    loss = str(possible[0][0].loss)
    if key not in flow.program.wire_sources:
        return _of_variables(session, {key: possible[0][1]}, loss, feeds, flow)[key]
    wanted = [WirePath(verdict.wire) for verdict, _ in possible]
    plans_of = [plan for _, plan in possible]
    estimators = dict.fromkeys(one for plan in plans_of for one in plan.surrogates)
    found = Fix(*_together(plans_of), surrogates=tuple(estimators))
    return _of_wire(session, found, key, wanted, loss, feeds, flow)


@explained
def fixes(
    session: Session,
    variables: Iterable[str],
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    flow: Flow | None = None,
    most: int | None = None,
) -> dict[str, Fix]:
    """The fix of each variable that has one, in at most ``most`` runs.

    Variables with the same fix share a run; those beyond the last run are left out.
    """
    flow = flow or analyse(session.program)
    found: dict[str, Fix] = {}
    alike: dict[tuple[str, tuple[Intervention, ...]], dict[str, Fix]] = {}
    for name in variables:
        for verdict in _repairable(flow, name, None):
            plan = _plan(flow, verdict)
            if plan is not None and plan.obstacle:
                found[name] = plan
            elif plan is not None:
                alike.setdefault((str(verdict.loss), plan.steps), {})[name] = plan
    tried = list(islice(alike.items(), most))
    with bar("Trying repairs", len(tried)) as shown:
        for (loss, _), plans in shown.over(tried):
            found |= _of_variables(session, plans, loss, feeds, flow)
    return found


def _repairable(flow: Flow, key: str, loss: str | None) -> list[Verdict]:
    """The verdict to repair; for a wire with a tree, those of its leaves in the same state."""
    if key not in flow.program.wire_trees:
        verdict = flow.explain(key, loss)
        wanted = verdict.state in REPAIRABLE or flow.step_bypasses(verdict)
        return [verdict] if wanted and verdict.loss else []
    leaves = list(flow.leaves(key, loss).values())
    state = next((s for s in REPAIRABLE if any(v.state is s for v in leaves)), None)
    alike = [verdict for verdict in leaves if verdict.state is state and verdict.loss]
    alike = [verdict for verdict in alike if not verdict.frozen] or alike
    return [verdict for verdict in alike if verdict.loss == alike[0].loss]


def _plan(flow: Flow, verdict: Verdict) -> Fix | None:
    """What would have to be done, not run yet."""
    stops = [c for c in verdict.repair if flow.slots.openable(c)]
    others = [c for c in verdict.repair if not flow.slots.openable(c)]
    trained = flow.to_train(verdict)
    bypasses = flow.step_bypasses(verdict) or flow.bypasses(verdict)
    if not (verdict.repair or trained or bypasses):
        return None
    names = tuple(dict.fromkeys(c.block for c in stops))
    steep = [b.cutter for b in bypasses if isinstance(b, Bypass)]
    found = Fix(names, tuple(dict.fromkeys(c.block for c in (*others, *steep))), trained)
    steps: list[Intervention] = [*(OpenStop(c.block, c.leaf) for c in stops), *map(Train, trained)]
    estimators = (surrogate_of(flow, stop) for stop in names)
    found = replace(found, surrogates=tuple(one for one in estimators if one is not None))
    for bypass in bypasses:
        if isinstance(bypass, str):
            return replace(found, obstacle=bypass)
        steps.append(Bridge(bypass.hard, bypass.soft))
    return replace(found, steps=tuple(steps))


def _together(
    plans: Sequence[Fix],
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[Intervention, ...]]:
    """What is opened, got past and trained by any of the plans, and all their steps."""
    return (
        tuple(dict.fromkeys(name for plan in plans for name in plan.opened)),
        tuple(dict.fromkeys(name for plan in plans for name in plan.straight_through)),
        tuple(dict.fromkeys(name for plan in plans for name in plan.trained)),
        tuple(dict.fromkeys(step for plan in plans for step in plan.steps)),
    )


def with_fix(
    session: Session,
    verdict: Verdict,
    *,
    feeds: Mapping[str, ArrayLike] | None = None,
    flow: Flow | None = None,
) -> Verdict:
    """The verdict, with its cure and the sentence of its fix at the end of its own."""
    found = fix(session, verdict.wire, verdict.loss, feeds=feeds, flow=flow)
    said = (verdict.sentence, verdict.cure, found.sentence if found else "")
    return replace(verdict, sentence=" ".join(filter(None, said)), cure="")


def trial(session: Session, steps: tuple[Intervention, ...]) -> tuple[Session, Batch]:
    """A session of the diagram with the steps made, and the change that makes them.

    It has the engine, the variables' values and the step number of ``session``. Raises ChangeError.
    """
    change = change_of(session.diagram, steps)
    after = carried(session.program, apply(session.diagram, change).after)
    repaired = Session(after, partial=session.partial, engine=session.engine)
    known = repaired.program.instances  # once: computing it takes a walk over the program
    for name, value in session.values.items():
        if name in known:
            repaired.set(name, value)
    repaired.step_number = session.step_number
    return repaired, change


def _tried(
    session: Session, steps: tuple[Intervention, ...], run: Callable[[Session], Run]
) -> tuple[Session, Batch, Run]:
    """A session of the repaired diagram, the change that makes it, and its run.

    Live blocks may be asked there for the first time. What they send no gradient to then gets none,
    rather than 0, so it is traced once more. Raises GradwireError.
    """
    repaired, change = trial(session, steps)
    before, found = _withheld(repaired), run(repaired)
    if _withheld(repaired) != before:
        repaired, change = trial(session, steps)
        found = run(repaired)
    return repaired, change, found


def _withheld(session: Session) -> list[tuple[int, int]]:
    """Between which outputs and inputs of live blocks no gradient came."""
    blocks = (instance.block for instance in session.program.instances.values())
    runs = [block.run.live for block in blocks if isinstance(block, Recorded)]
    return [edge for live in runs if live is not None for edge in sorted(live.withheld)]


def told(
    repaired: Session,
    losses: Sequence[PortPath],
    variable: str,
    feeds: Mapping[str, ArrayLike] | None,
) -> tuple[Array | None, str]:
    """What a variable gets of the sum of losses in a repaired diagram, and that in words, with what
    it gets of each loss.
    """

    def gradient(of: Sequence[PortPath]) -> Array | None:
        run = repaired.backward(
            of, feeds=feeds, ports=[], contributions=False, wrt=[variable], accumulate=False
        )
        return run.gradients[variable]

    total = gradient(losses)
    by_loss: dict[str, Array] = {}
    for loss in losses[:MOST_LOSSES] if len(losses) > 1 else ():
        found = gradient([loss])
        if found is not None and np.any(found):
            by_loss[loss.block] = found
    return total, apart(by_loss, total) if by_loss else size(total)


def _of_variables(
    session: Session,
    plans: Mapping[str, Fix],
    loss: str,
    feeds: Mapping[str, ArrayLike] | None,
    flow: Flow,
) -> dict[str, Fix]:
    """The gradients of variables, by one run, once what their plans have in common is done."""
    names = list(plans)
    try:
        also = session.program.trainable if plans[names[0]].opened else ()
        wanted = [*dict.fromkeys([*names, *also])]
        repaired, change, run = _tried(
            session,
            plans[names[0]].steps,
            lambda trial: trial.backward(
                [loss], feeds=feeds, ports=[loss], contributions=False, wrt=wanted
            ),
        )
    except GradwireError as error:
        obstacle = f"it can't be run: {error.what}"
        return {name: replace(plan, obstacle=obstacle) for name, plan in plans.items()}
    cost = _cost(session, repaired, plans[names[0]], loss)
    zeroed = _zeroed(session, run, plans[names[0]], loss, feeds)

    def gradients(trial: Session, losses: Sequence[str]) -> Mapping[str, Array | None]:
        run = trial.backward(
            losses, feeds=feeds, ports=[], contributions=False, wrt=names, accumulate=False
        )
        return run.gradients

    try:
        totals, several = _by_loss(session, repaired, loss, flow.losses, gradients)
    except GradwireError as error:  # of another loss
        obstacle = f"it can't be run: {error.what}"
        return {name: replace(plan, obstacle=obstacle) for name, plan in plans.items()}
    return {
        name: _in_vain(plan)
        if gradient is None
        else replace(plan, obstacle=sentences.without_effect(why))
        if (why := _invariance(repaired, name))
        else replace(
            plan, change=change, gradient=gradient, rms=rms(gradient), cost=cost, zeroed=zeroed,
            by_loss=several.get(name, {}), total=totals.get(name),
        )
        for name, plan in plans.items()
        for gradient in [run.gradients[name]]
    }  # fmt: skip


def _invariance(repaired: Session, name: str) -> str:
    """Why no loss of a repaired diagram changes with a variable; empty where one may."""
    wires = neighbours_of(repaired.program).readers(InstancePath(name))
    return invariance(repaired.program, repaired.losses, wires)


def _by_loss(
    session: Session,
    repaired: Session,
    loss: str,
    losses: Sequence[PortPath],
    gradients: Callable[[Session, Sequence[str]], Mapping[str, Array | None]],
) -> tuple[Mapping[str, Array | None], dict[str, dict[str, Array]]]:
    """By name what comes of the sum of the losses, and of each that the repair changes it for, this
    one first; nothing where it does that for one loss alone.
    """
    head = session.program.flat.source(PortPath.named(loss))
    others = [other for other in losses if other != head]
    found: dict[str, dict[str, Array]] = {}
    for other in [head, *others[: MOST_LOSSES - 1]] if others else ():
        before, after = (gradients(each, [other]) for each in (session, repaired))
        for name, array in after.items():
            if array is not None and (other == head or not _is_same(before.get(name), array)):
                found.setdefault(name, {})[other.block] = array
    several = {name: arrays for name, arrays in found.items() if len(arrays) > 1}
    return (gradients(repaired, losses) if several else {}), several


def _is_same(before: Array | None, after: Array) -> bool:
    return before is not None and np.array_equal(before, after, equal_nan=True)


def _in_vain(plan: Fix) -> Fix:
    """A plan after which nothing comes back all the same."""
    opened = sentences.names([*plan.opened, *plan.straight_through, *plan.trained])
    return replace(plan, steps=(), obstacle=sentences.in_vain(opened))


def _of_wire(
    session: Session,
    found: Fix,
    key: str,
    wanted: Sequence[WirePath],
    loss: str,
    feeds: Mapping[str, ArrayLike] | None,
    flow: Flow,
) -> Fix:
    """What comes back at ``key``, or with a tree at its ``wanted`` leaves, once all is repaired."""
    try:
        repaired, change, run = _tried(
            session,
            found.steps,
            lambda trial: trial.backward([loss], feeds=feeds, ports=[loss], contributions=True),
        )
    except GradwireError as error:
        return replace(found, obstacle=f"it can't be run: {error.what}")
    gradients = run.contributions
    past = list(wanted) == [key] and _is_past(session, found, key, gradients.get(key))
    if past:
        gradients = {key: _past(session, run)}
    known = [array for name in wanted if (array := gradients.get(name)) is not None]
    if not known:
        return _in_vain(found)
    found = replace(
        found,
        change=change,
        rms=combined_rms((rms(array), array.size) for array in known),
        past=past,
        cost=_cost(session, repaired, found, loss),
        zeroed=_zeroed(session, run, found, loss, feeds),
    )
    if list(wanted) != [key]:
        return replace(found, leaves={n.leaf: gradients.get(n) for n in wanted})

    def brought(trial: Session, losses: Sequence[str]) -> Mapping[str, Array | None]:
        run = trial.backward(losses, feeds=feeds, contributions=True, accumulate=False)
        return {key: _past(session, run) if past else run.contributions.get(key)}

    try:
        totals, several = _by_loss(session, repaired, loss, flow.losses, brought)
    except GradwireError as error:  # of another loss
        return replace(found, obstacle=f"it can't be run: {error.what}", change=None)
    by_loss, total = several.get(key, {}), totals.get(key)
    return replace(found, gradient=gradients.get(key), by_loss=by_loss, total=total)


def _cost(session: Session, repaired: Session, plan: Fix, loss: str) -> tuple[str, ...]:
    """The trained variables that a repair takes the gradient of a loss from."""
    if not plan.straight_through:
        return ()
    before, after = (analyse(s.program, [loss]) for s in (session, repaired))
    return tuple(
        name
        for name in session.program.trainable
        if before.arrives(port := PortPath.named(name), loss) and not after.arrives(port, loss)
    )


def _zeroed(
    session: Session,
    repaired: Run,
    plan: Fix,
    loss: str,
    feeds: Mapping[str, ArrayLike] | None,
) -> tuple[str, ...]:
    """The trained variables whose gradient the opening of stops would turn into exactly 0."""
    if not plan.opened:
        return ()
    gradients = repaired.gradients
    zero = [
        name
        for name in session.program.trainable
        if (found := gradients.get(name)) is not None and found.size and not np.any(found)
    ]
    if not zero:
        return ()
    run = session.backward(
        [loss], feeds=feeds, ports=[loss], contributions=False, wrt=zero, accumulate=False
    )
    return tuple(name for name in zero if (g := run.gradients[name]) is not None and np.any(g))


def _is_past(session: Session, found: Fix, key: str, brought: Array | None) -> bool:
    """Nothing comes back by a wire; or 0, from a step that what comes back is led past."""
    into = session.program.wire_targets[WirePath(key)]
    return brought is None or (into in found.straight_through and not np.any(brought))


def _past(session: Session, run: Run) -> Array | None:
    """The contribution of a new StraightThrough, in place of the wire that it bypasses."""
    known = session.program.wire_sources
    new = (array for wire, array in run.contributions.items() if wire not in known)
    return next((array for array in new if array is not None), None)
