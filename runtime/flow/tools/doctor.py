"""The doctor: what is wrong with the gradients of a whole diagram, the worst first."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.engine.session.session import on_numpy
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.checks.apart import apart
from gradwire.runtime.flow.checks.blocking import StepRemark, step_of, stop_that_blocks
from gradwire.runtime.flow.checks.by_design import ByDesign, mean_of_one, no_effect, stops_that_help
from gradwire.runtime.flow.checks.leaving import (
    CURES,
    cure_of,
    derivatives_without_graph,
    unregistered,
    unregistered_sentence,
)
from gradwire.runtime.flow.checks.loss_inputs import wrong_inputs
from gradwire.runtime.flow.checks.misuses import alone, beyond, leaks, past_limits
from gradwire.runtime.flow.checks.skipped import frozen, skipped
from gradwire.runtime.flow.checks.symmetry import symmetric
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.measured import compared, measured_flow
from gradwire.runtime.flow.numbers.rules import THRESHOLDS, Thresholds
from gradwire.runtime.flow.observing import observe
from gradwire.runtime.flow.structure.constants import held_constant, passing_on
from gradwire.runtime.flow.structure.disagreements import has_its_numbers, is_current, told
from gradwire.runtime.flow.structure.misuses import crossed_shapes, swapped_inputs
from gradwire.runtime.flow.structure.stops import stopped_ports
from gradwire.runtime.flow.tools.contracts import (
    Breach,
    Contract,
    check_contracts,
    contracts_of,
    decay_sentence,
    forgotten,
    is_blocked,
    owned,
    unowned,
    unowned_sentence,
)
from gradwire.runtime.flow.tools.findings import (
    APART,
    CANCELS,
    CONTRACT,
    CROSSED,
    DIFFERS,
    DIVIDED,
    IDLE_STOP,
    INTEGER,
    LEAK,
    MASKED_VALUE,
    MISSTEP,
    NO_GRAPH,
    NO_VARIABLE,
    RAISES,
    SWAPPED,
    UNOWNED,
    UNREGISTERED,
    VALUE,
    VANISHING_AT_START,
    Finding,
    placed,
)
from gradwire.runtime.flow.tools.repairs import Fix, fixes
from gradwire.runtime.flow.tools.whatif import WhatIf
from gradwire.runtime.flow.words import sentences, value_sentences
from gradwire.runtime.flow.words.disagreement import agreement
from gradwire.runtime.flow.words.phrases import VICTIM
from gradwire.runtime.flow.words.states import NO_GRADIENT, PASSING, Complaint, State, Verdict
from gradwire.runtime.progress_bars import bar

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.comparison import Disagreement
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.observed import ObservedFlow

TRIALS = 64
"""At most so many repairs are run, and so many stops opened to see whether they cut anything."""
BLOCKS = 12_000
"""The same, counted in blocks that are run again: large diagrams have fewer trials."""
_END = re.compile(r"[.:](?=\s|$)")
"""What ends the clause that begins a sentence; ``model.py:42`` may stand in it."""


@explained
def diagnose(
    session: Session,
    losses: Sequence[str] | None = None,
    *,
    contracts: Iterable[Contract] | None = None,
    feeds: Mapping[str, ArrayLike] | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> list[Finding]:
    """All findings, ranked, by runs on NumPy; raises what ``backward`` raises, and RunError for a
    diagram without a loss.

    A variable counts as reached if any loss reaches it, and is left out if contracts block all of
    them. ``contracts`` are by default the diagram's; raises FileError for one that can't be parsed.
    """
    session = on_numpy(session)
    stated = contracts_of(session.diagram) if contracts is None else list(contracts)
    flow = analyse(session.program, losses)
    observed = None if feeds else measured_flow(session, flow, thresholds)
    if observed is None:
        session = compared(session)
        observed = observe(session, losses, feeds=feeds, thresholds=thresholds)
    if not observed.losses:
        raise RunError("There is nothing to diagnose.", next_step=sentences.NO_LOSS)
    updated = owned(observed.program, stated, session.updated, session.diagram.training)
    constant = held_constant(observed.flow, updated)
    design = ByDesign(session, observed, feeds)
    variables = _variables(session, observed, stated, updated or (), constant, design, feeds)
    blamed = {culprit for f in variables for culprit in (f.culprit, *observed.culprits(f.key))}
    absent = [finding.key for finding in variables if finding.complaint is NO_GRADIENT]
    found = [
        *_missteps(observed),
        *_values(observed),
        *_errors(observed),
        *_barren(observed),
        *_integers(observed),
        *_breaches(session, observed, stated),
        *variables,
        *_beyond(observed, blamed),
        *wrong_inputs(observed),
        *alone(observed, {finding.culprit for finding in variables}),
        *symmetric(observed),
        *frozen(observed, session.diagram.training),
        *_swapped(observed),
        *_crossed(observed),
        *_cancelling(observed, design),
        *_leaks(session, observed, feeds),
        *_unowned(session, observed, stated),
        *skipped(session, observed, stated, absent),
        *(idle := _idle(session, observed, feeds)),
        *_without_graph(observed, idle),
    ]
    differing = told(observed.program)
    if differing:
        is_value = any(each.what == "value" for _, several in differing for each in several)
        certain = (each for each in found if not _is_doubtful(observed.flow, each, is_value))
        found = [*map(_differs, differing), *certain]
    return sorted(placed(session.program, found), key=lambda finding: finding.complaint.gravity)


def _missteps(observed: ObservedFlow) -> Iterator[Finding]:
    """What the program that a diagram comes from does wrongly around its gradients."""
    comparison = observed.program.flat.comparison
    loss = observed.losses[0]
    for each in () if comparison is None else comparison.missteps:
        complaint = RAISES if each.raises else MISSTEP
        yield Finding(complaint, loss.block, each.text, loss, written=each.written)


def _differs(differing: tuple[str, list[Disagreement]]) -> Finding:
    """Where the diagram is not the program that it comes from."""
    text, several = differing
    blocks = [str(PortPath(each.at).block) for each in several]
    return Finding(DIFFERS, blocks[0], text, several[0].of, affected=tuple(dict.fromkeys(blocks)))


def _is_doubtful(flow: Flow, finding: Finding, is_value: bool) -> bool:
    """Whether a finding is about gradients, or values, that the program may have otherwise."""
    if finding.complaint in (VALUE, MASKED_VALUE):
        return is_value
    return any(map(flow.doubts, filter(None, (finding.key, finding.culprit))))


def reassurance(program: Program, losses: Sequence[str]) -> str:
    """What can be said of a diagram about which the doctor finds nothing: variables that get no
    gradient then are those that contracts block.
    """
    flow = analyse(program, losses)
    if differing := told(program):
        return differing[0][0]
    missing = [name for name in program.trainable if flow.variable(name).state not in PASSING]
    if program.failed or program.blocked:
        broken = sentences.names([*program.failed, *program.blocked])
        return f"Nothing wrong as far as it could be run: {broken} could not."
    if not program.trainable:
        return "Nothing wrong, and nothing to train."
    if not flow.losses:
        return sentences.NO_LOSS
    compared = _compared(program)
    updated = owned(program, training=program.flat.training)
    if constant := held_constant(flow, updated):
        compared = f" {sentences.constant(constant, updated is not None)}{compared}"
        missing = [name for name in missing if name not in constant]
    known = {*(program.trainable if updated is None else updated), *constant}
    others = [name for name in program.trainable if name not in known]
    if passing := passing_on(flow, others):
        compared = f" {sentences.passing_on(passing)}{compared}"
    if missing:
        also = "" if len(missing) == len(program.trainable) else " All others get one."
        return (
            f"Nothing wrong: {sentences.names(missing)} "
            f"{'gets' if len(missing) == 1 else 'get'} no gradient, as contracts demand.{also}"
        ) + compared
    some = " of at least one loss" if len(flow.losses) > 1 else ""
    every = "every other" if constant else "every"
    return f"Nothing wrong: {every} trained variable gets a gradient{some}." + compared


def _compared(program: Program) -> str:
    """What the comparison with the program that a diagram comes from adds."""
    comparison = program.flat.comparison
    if comparison is None:
        return ""
    same = is_current(program, comparison) and has_its_numbers(program, comparison)
    return f" {agreement(comparison, same)}"


def _values(observed: ObservedFlow) -> list[Finding]:
    """The blocks whose values are the first that are not finite."""
    return [
        Finding(
            VALUE if origin.spoilt or origin.beside else MASKED_VALUE,
            origin.block,
            origin.sentence,
            origin.spoilt[0] if len(origin.spoilt) == 1 else None,
            culprit=origin.block,
        )
        for origin in observed.origins
    ]


def _barren(observed: ObservedFlow) -> list[Finding]:
    """Losses that no trained variable gets a gradient from, where another loss has one."""
    flow = observed.flow
    barren = [loss for loss in observed.losses if not flow.trains(loss)]
    if len(barren) == len(observed.losses):
        return []
    places = {name: place for place, name in enumerate(observed.program.trainable)}
    found = []
    for loss in barren:
        names = sorted((n for n in flow.connected(loss) if n in places), key=places.__getitem__)
        verdicts = (flow.variable(name, loss) for name in names)
        found.append(Finding(NO_VARIABLE, loss.block, _why_barren(loss, verdicts), loss))
    return found


def _why_barren(loss: PortPath, verdicts: Iterable[Verdict]) -> str:
    """That a loss trains nothing, and what cuts it off, or that it depends on nothing trained."""
    text = f"No trained variable gets a gradient of {loss.block}"
    cut = next((v for v in verdicts if v.state in (State.STOPPED, State.NO_RULE)), None)
    if cut:
        return f"{text}. {cut.sentence} {cut.cure}".rstrip()
    return (
        f"{text}: it depends on none. Compute it from what they produce, times 0 if it is to be "
        "0, or leave it out."
    )


def _integers(observed: ObservedFlow) -> list[Finding]:
    """Integer variables that are to be trained, and that a loss depends on."""
    program, flow = observed.program, observed.flow
    return [
        Finding(INTEGER, name, f"{flow.variable(name).sentence} {value_sentences.AS_FLOAT}")
        for name, block in program.sources("variable").items()
        if isinstance(block, Variable) and block.trainable and not block.wants_gradient
        if name in program.leaves and observed.losses
        if flow.arrival(InstancePath(name).port("out")) is not State.OFF_ROUTE
    ]


def _errors(observed: ObservedFlow) -> list[Finding]:
    """Wires in a state that is an error: one finding for each origin, none for its victims."""
    found: dict[str, Finding] = {}
    for loss in observed.losses if observed.has_each else (None,):
        for wire, state in observed.states(loss).items():
            complaint = state.row.complaint
            whole = wire in observed.program.wire_trees  # its leaves are wires as well
            if complaint is not None and complaint.is_error and not whole:
                verdict = observed.verdict(wire, loss)
                found.setdefault(verdict.sentence, _of(complaint, verdict))
    origins = [finding for text, finding in found.items() if not text.endswith(VICTIM)]
    return _with_victims(observed, origins) if origins else []


def _with_victims(observed: ObservedFlow, findings: Iterable[Finding]) -> list[Finding]:
    """Findings about wires, with their culprits and the variables that these spoil."""
    spoilt: dict[str, list[str]] = {}
    for name in observed.program.trainable:
        complaint = observed.variable(name).state.row.complaint
        if complaint is not None and complaint.is_error:
            for culprit in observed.culprits(name):
                spoilt.setdefault(culprit, []).append(name)
    found = []
    for finding in findings:
        block, _ = _one(observed.culprits(finding.key, finding.loss))
        affected = tuple(spoilt.get(block, ()))
        found.append(replace(finding, culprit=block, affected=affected))
    return found


def _one(culprits: Mapping[InstancePath, str]) -> tuple[str, str]:
    """The only culprit and its clause; empty texts where there are none or several."""
    return next(iter(culprits.items())) if len(culprits) == 1 else ("", "")


def _breaches(
    session: Session, observed: ObservedFlow, contracts: Sequence[Contract]
) -> list[Finding]:
    found, left = [], _trials(observed)
    for outcome in check_contracts(contracts, observed, observed.flow, session.diagram.training):
        for breach in outcome.breaches:
            cure = ""
            if outcome.contract.kind == "blocked" and breach.subject and left:
                left -= 1
                cure = _blocking(session, observed, contracts, breach)
            text = f"{outcome.contract} is broken. {breach.sentence} {cure}".rstrip()
            subject = breach.subject or str(outcome.contract)
            place = breach.written
            found.append(
                Finding(CONTRACT, subject, text, breach.loss, breach.witness, written=place)
            )
    return found


def _blocking(
    session: Session, observed: ObservedFlow, contracts: Sequence[Contract], breach: Breach
) -> str:
    """Where a StopGradient would keep a gradient from where it is not to come."""
    program, loss = observed.program, PortPath(breach.loss)
    if breach.subject in program.wire_sources:
        return f"A StopGradient on {breach.subject} would block it."
    blocked = [name for name in program.trainable if is_blocked(program, contracts, name, loss)]
    return stop_that_blocks(session, observed.flow, loss, breach.subject, blocked)


def _variables(
    session: Session,
    observed: ObservedFlow,
    contracts: Sequence[Contract],
    updated: Collection[str],
    constant: Collection[str],
    design: ByDesign,
    feeds: Mapping[str, ArrayLike] | None,
) -> list[Finding]:
    verdicts = {
        name: observed.variable(name)
        for name in observed.program.trainable
        if name not in constant
        and not all(is_blocked(observed.program, contracts, name, loss) for loss in observed.losses)
    }
    for name in [name for name, verdict in verdicts.items() if design.covers(name, verdict)]:
        del verdicts[name]
    cut = [name for name, verdict in verdicts.items() if verdict.state.row.complaint is NO_GRADIENT]
    described = apart(observed, [name for name in cut if name not in updated])
    cut = [name for name in cut if name not in described]
    zero = [name for name, verdict in verdicts.items() if verdict.state is State.ZERO]
    most = _trials(observed)
    repairs = fixes(session, [*cut, *zero], feeds=feeds, flow=observed.flow, most=most)
    found = []
    with bar("Diagnosing variables", len(verdicts)) as shown:
        for name, verdict in shown.over(verdicts.items()):
            complaint = verdict.state.row.complaint
            if name in described:
                text = f"{verdict.sentence} {described[name]}"
                found.append(_of(APART, verdict, text, culprit=_one(_cutting(verdict))))
            elif complaint is NO_GRADIENT:
                verdict = replace(verdict, cure=verdict.cure or cure_of(verdict))
                repair = repairs.get(name)
                said = (verdict.sentence, verdict.cure, repair.sentence if repair else "")
                text = f"No gradient: {' '.join(filter(None, said))}"
                found.append(_of(complaint, verdict, text, repair, _one(_cutting(verdict))))
            elif complaint is not None and not complaint.is_error:  # errors are found on wires
                is_zero = verdict.state is State.ZERO
                if value_sentences.grows(verdict.cure):
                    complaint = VANISHING_AT_START
                elif not is_zero and (step := _step(session, observed, name, verdict.state)):
                    complaint = DIVIDED if step.is_fine else complaint
                    verdict = replace(verdict, sentence=f"{verdict.sentence} {step.sentence}")
                tried = repairs.get(name)
                helped = tried.sentence if tried and tried.helps else ""
                runs = _tried(session, observed, name, feeds) if name in zero[:most] else ()
                culprit = _one(observed.culprits(name))
                if is_zero:
                    runs = (*runs, decay_sentence(observed.program, session.diagram.training, name))
                text = " ".join(filter(None, (verdict.sentence, verdict.cure, helped, *runs)))
                found.append(_of(complaint, verdict, text, tried if helped else None, culprit))
    return found


def _beyond(observed: ObservedFlow, blamed: Container[str]) -> Iterator[Finding]:
    """Clip blocks that let nothing through, though their variables get a gradient elsewhere."""
    for wire, verdict in beyond(observed, blamed):
        complaint = verdict.state.row.complaint
        assert complaint is not None
        text = " ".join(filter(None, (verdict.sentence, verdict.cure)))
        yield Finding(complaint, wire, text, verdict.loss, verdict.witness)


def _step(session: Session, observed: ObservedFlow, name: str, state: State) -> StepRemark | None:
    """What the optimiser of a variable makes of its gradient."""
    gradient = observed.gradient(name)
    training = session.diagram.training
    if gradient is None:
        return None
    return step_of(training, observed.program, name, state, session.values[name], gradient)


def _cutting(verdict: Verdict) -> dict[InstancePath, str]:
    """The blocks that cut a variable off, with the beginning of the sentence that says so."""
    clause, *_ = _END.split(verdict.sentence, maxsplit=1)
    return dict.fromkeys((cutter.block for cutter in verdict.cutters[:MANY]), clause)


def _tried(
    session: Session, observed: ObservedFlow, name: str, feeds: Mapping[str, ArrayLike] | None
) -> tuple[str, str]:
    """What runs of other diagrams show about a variable whose gradient is 0."""
    about = (session, observed, name, feeds)
    found = mean_of_one(observed, name) or stops_that_help(*about) or no_effect(*about)
    return past_limits(*about), found


def _swapped(observed: ObservedFlow) -> list[Finding]:
    """Losses whose target is trained and whose prediction is data."""
    found = swapped_inputs(observed.flow)
    return [
        Finding(SWAPPED, path, value_sentences.SWAPPED.format(path, predicted, target))
        for path, predicted, target in found
    ]


def _crossed(observed: ObservedFlow) -> list[Finding]:
    """Losses that compare each number with each, because two shapes were broadcast."""
    found = []
    for path, a, b in crossed_shapes(observed.flow):
        shapes = [observed.program.ports[port].shape for port in (a, b)]
        both = np.broadcast_shapes(*shapes)
        text = value_sentences.CROSSED.format(path, a.block, shapes[0], b.block, shapes[1], both)
        found.append(Finding(CROSSED, path, text))
    return found


def _leaks(
    session: Session, observed: ObservedFlow, feeds: Mapping[str, ArrayLike] | None
) -> list[Finding]:
    """Targets and advantages by which a loss trains what they are estimated with."""
    most = _trials(observed)
    return [Finding(LEAK, wire, text) for wire, text in leaks(session, observed, feeds, most)]


def _cancelling(observed: ObservedFlow, design: ByDesign) -> list[Finding]:
    return [
        Finding(CANCELS, port, cancel.sentence)
        for port, cancel in observed.cancels().items()
        if cancel.total > 0  # exactly 0 is reported with the variable whose gradient it zeroes
        if not (port.block in observed.program.leaves and design.cancels(port.block))
    ]


def _unowned(
    session: Session, observed: ObservedFlow, contracts: Iterable[Contract]
) -> Iterator[Finding]:
    """Variables that get a gradient in vain: no optimiser updates them."""
    program, training = observed.program, session.diagram.training
    nobody = unowned(program, contracts, [*session.updated, ""], training)
    flow, explained = observed.flow, []
    for place, several in unregistered(program).items():
        vain = [n for n in several if n in nobody and flow.variable(n).state in PASSING]
        if vain:
            explained += vain
            text = unregistered_sentence(vain, place)
            yield Finding(UNREGISTERED, vain[0], text, affected=tuple(vain))
    for name in forgotten(flow, contracts, session.updated, training):
        if name not in explained:
            yield Finding(UNOWNED, name, unowned_sentence(name))


def _idle(
    session: Session, observed: ObservedFlow, feeds: Mapping[str, ArrayLike] | None
) -> list[Finding]:
    """Stops that cut nothing by structure, or because opening changes nothing.

    That 0 arrives is no proof: behind the stop it may meet an infinite slope.
    """
    idle, ports = observed.idle_stops(is_tried=True), stopped_ports(observed.flow)
    certain = [stop for stop in idle if all(port.idle for port in ports[stop])]
    found = [Finding(IDLE_STOP, stop, idle[stop]) for stop in certain]
    rows = [stop for stop, found in ports.items() if any(port.in_a_row for port in found)]
    others = [stop for stop in observed.stops if stop not in (*certain, *rows)]
    others = others[: _trials(observed)]
    trial = WhatIf(session, observed.losses, feeds=feeds)
    with bar("Opening stops", len(others)) as shown:
        for stop in shown.over(others):
            try:
                differences = trial.open(stop).compare().variables().values()
            except GradwireError:  # what opening it changes is not known
                continue
            if all(_same(d.before, d.after) for d in differences):
                nothing = all((d.before is None) == (d.after is None) for d in differences)
                text = (
                    "opening it changes no gradient" if nothing else "opening it brings only zeros"
                )
                known = idle.get(stop, f"This stop cuts nothing: {text}.")
                found.append(Finding(IDLE_STOP, stop, known))
    return found


def _without_graph(observed: ObservedFlow, idle: Iterable[Finding]) -> Iterator[Finding]:
    """What depends on a derivative that passes no gradient on, though it would change some."""
    known = {finding.key for finding in idle}
    for stop in derivatives_without_graph(observed.stops, observed.program):
        if stop not in known:
            text = f"{stop} passes no gradient on to what it was computed from. {CURES['grad']}"
            yield Finding(NO_GRAPH, stop, text)


def _trials(observed: ObservedFlow) -> int:
    return max(2, min(TRIALS, BLOCKS // max(1, len(observed.program.instances))))


def _same(before: Array | None, after: Array | None) -> bool:
    """No number differs, or zeros come where nothing came."""
    if before is None:
        return after is None or not np.any(after)
    return after is not None and np.array_equal(before, after, equal_nan=True)


def _of(
    complaint: Complaint,
    verdict: Verdict,
    text: str | None = None,
    repair: Fix | None = None,
    culprit: tuple[str, str] | None = None,
) -> Finding:
    """The finding of a verdict on a wire or, with a culprit, on a variable."""
    sentence = verdict.sentence if text is None else text
    about = (complaint, verdict.wire, sentence, verdict.loss, verdict.witness, repair)
    if culprit is None:
        return Finding(*about)
    return Finding(*about, *culprit, cure=verdict.cure, affected=(verdict.wire,))
