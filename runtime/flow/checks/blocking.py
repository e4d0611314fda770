"""Where a StopGradient would keep the gradient of a loss from a variable, and from no other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.analyse import Flow, analyse
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.tools.interventions import CutWire
from gradwire.runtime.flow.tools.patterns import names_variable, owns
from gradwire.runtime.flow.tools.repairs import trial
from gradwire.runtime.flow.words import sentences, value_sentences
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.states import PASSING, State

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.training import OptimiserRule, Training
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program


# What the optimiser of a recipe makes of a gradient that is too small or too large by itself.

_AGAINST_EPS = 10.0
"""How many times eps a gradient is of which the size is divided away."""
_LEAST, _MOST = 1e-4, 0.1
"""Changes by one step that are neither too small nor too large, as a share of a variable."""


class StepRemark(NamedTuple):
    """What is said of the steps of a variable, and whether they are as they should be."""

    sentence: str
    is_fine: bool


def step_of(
    training: Training | None,
    program: Program,
    name: str,
    state: State,
    value: Array,
    gradient: Array,
) -> StepRemark | None:
    """What the optimiser that owns a variable makes of its gradient, which is VANISHING or
    EXPLODING; None where none or several do, or where that depends on more.
    """
    owners = [] if training is None else training.optimisers
    rules = [rule for rule in owners if owns(rule, name, program)]
    if len(rules) != 1 or rules[0].clip is not None:
        return None
    rule, (lr, decay) = rules[0], _of_group(rules[0], name, program)
    method, size = rule.method, rms(gradient)
    is_coupled = decay > 0.0 and not method.is_decoupled
    if is_coupled or not 0.0 < size < float("inf"):
        return None
    if method.ignores_scale:
        eps = getattr(method, "eps", 0.0)
        if size >= _AGAINST_EPS * eps:
            return StepRemark(
                value_sentences.DIVIDED.format(rule.name, method.kind, number(lr)), True
            )
        share = number(size / (size + eps))
        said = value_sentences.NEAR_EPS.format(rule.name, method.kind, number(eps), share)
        return StepRemark(said, False)
    if method.kind != "sgd" or not (own := rms(value)):
        return None
    change = lr * size / own
    is_fine = change >= _LEAST if state is State.VANISHING else change <= _MOST
    return StepRemark(value_sentences.MOVED.format(rule.name, number(lr), number(change)), is_fine)


def _of_group(rule: OptimiserRule, name: str, program: Program) -> tuple[float, float]:
    """The rate and the weight decay of a variable."""
    for group in rule.groups:
        if any(names_variable(pattern, name, program) for pattern in group.variables):
            lr, decay = group.lr, group.weight_decay
            break
    else:
        lr = decay = None
    method = rule.method
    return (
        method.lr if lr is None else lr,
        method.weight_decay if decay is None else decay,
    )


_TRIED = 4
"""Places for a stop that are tried."""


def stop_that_blocks(
    session: Session, flow: Flow, loss: PortPath, variable: str, blocked: Collection[str] = ()
) -> str:
    """``A StopGradient on mul1.a would block it.`` for a variable that gets a gradient of a loss;
    empty where no single stop leaves all trained variables, but those ``blocked``, theirs. Where
    uses of a page share the stop, so that other losses lose gradient as well, that is said instead.
    """
    program = flow.program
    states = flow.states(loss)
    carrying = [wire for wire in program.wire_sources if states[wire] in PASSING]
    reached = _reached(program, carrying, loss.block)
    kept = {
        name for name in program.trainable if name in reached and name not in {variable, *blocked}
    }
    fitting = []
    for wire in _route(flow, loss, variable, carrying):
        left = _reached(program, (other for other in carrying if other != wire), loss.block)
        if variable not in left and kept <= left:
            fitting.append(wire)
    merging = [wire for wire in fitting if len(program.instances[wire.block].wires) > 1]
    also: list[PortPath] = []
    for wire in list(dict.fromkeys([*merging, *fitting]))[:_TRIED]:
        spoilt = _spoilt(session, flow, wire, loss, variable, kept)
        if spoilt == []:
            others = " All others keep one." if kept else ""
            return f"A StopGradient on {wire} would block it.{others}"
        also = also or spoilt or []
    return sentences.shared_stop(variable, loss.block, [head.block for head in also])


def _route(
    flow: Flow, loss: PortPath, variable: str, carrying: Iterable[WirePath]
) -> list[WirePath]:
    """The wires of the route from a loss to a variable, from the loss on."""
    blocks = list(flow.explain(variable, loss).witness[:MANY])
    places = {pair: place for place, pair in enumerate(pairwise(blocks))}
    program = flow.program
    found = {
        wire: place
        for wire in carrying
        if (place := places.get((program.wire_targets[wire], program.wire_sources[wire].block)))
        is not None
    }
    return sorted(found, key=found.__getitem__)


def _reached(
    program: Program, carrying: Iterable[WirePath], head: InstancePath
) -> set[InstancePath]:
    """The blocks that the gradient of a loss reaches along wires."""
    before: dict[InstancePath, list[InstancePath]] = {}
    for wire in carrying:
        before.setdefault(program.wire_targets[wire], []).append(program.wire_sources[wire].block)
    found, pending = {head}, [head]
    while pending:
        fresh = [block for block in before.get(pending.pop(), ()) if block not in found]
        pending += fresh
        found.update(fresh)
    return found


def _spoilt(
    session: Session,
    flow: Flow,
    wire: WirePath,
    loss: PortPath,
    variable: str,
    kept: Iterable[str],
) -> list[PortPath] | None:
    """The other losses of which trained variables lose the gradient by a stop; None where it does
    not keep that of the loss from the variable, and from it alone.
    """
    try:
        stopped, _ = trial(session, (CutWire(wire),))
    except GradwireError:
        return None
    after = analyse(stopped.program, flow.losses)

    def arrives(flow: Flow, name: str, head: PortPath) -> bool:
        return flow.arrives(InstancePath(name).port("out"), head)

    if arrives(after, variable, loss) or not all(arrives(after, name, loss) for name in kept):
        return None
    trained = flow.program.trainable
    return [
        head
        for head in flow.losses
        if head != loss
        if any(arrives(flow, name, head) and not arrives(after, name, head) for name in trained)
    ]
