"""What is said about gradients is true: each claim is carried out, and the numbers looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import apply
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import ObservedFlow, diagnose, fix, observe, reassurance
from gradwire.runtime.flow.structure.singles import UNAFFECTED
from gradwire.runtime.flow.tools.interventions import OpenStop, change_of
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.flow.words.states import PASSING, State
from tests.fuzz.drawing import hard, network
from tests.fuzz.runner import Program
from tests.runtime.flow.grafts import graft

if TYPE_CHECKING:
    from random import Random

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Run
    from gradwire.runtime.flow import Finding, Fix, Origin

Array = np.ndarray[Any, Any]
SLIPS = re.compile(
    r"\bNone\b(?! of| in)|\bTrue\b|array\(|object at 0x|dtype\(|np\.|Traceback|\{\w*\}|  "
)
"""What a sentence never has in it: values as Python writes them, gaps that were not filled."""
BINARY = re.compile(r"(\S+) (?:[+−·÷]|mod|to the power) (\S+)")
"""What a block of two inputs made of two numbers."""
MOST_FIXES = 6


def _subject(rng: Random) -> Diagram:
    """A diagram of hard numbers, now and then with a tree."""
    if rng.random() < 0.2:
        grafted = graft(rng.randrange(2**40))
        if grafted is not None:
            return grafted.treed
    return hard(rng, gradients=rng.random() < 0.2)


def said_case(rng: Random) -> str:
    """States, sentences and repairs of all wires and variables of one diagram."""
    session = Session(_subject(rng))
    with np.errstate(all="ignore"):
        observed = observe(session)
        _states_are_true(observed)
        _origins_are_true(observed)
        keys = [*session.program.wire_sources, *session.program.sources("variable")]
        for key in rng.sample(keys, min(MOST_FIXES, len(keys))):
            head = rng.choice(observed.losses)
            found = fix(session, key, head, flow=observed.flow)
            if found is not None:
                fix_is_true(session, observed, found, key, head)
    return "with values not finite" if observed.origins else "all finite"


def doctor_case(rng: Random) -> str:
    """The doctor's findings, and what it says where it finds nothing."""
    session = Session(network(rng) if rng.random() < 0.3 else _subject(rng))
    with np.errstate(all="ignore"):
        found = diagnose(session)
        observed = observe(session)
        for finding in found:
            is_fluent(finding.sentence)
            _finding_is_true(session, observed, finding)
        if not any(finding.complaint.name != "idle_stop" for finding in found):
            _nothing_is_wrong(observed, reassurance(session.program, observed.losses))
            return "nothing wrong"
    return "something wrong"


def is_fluent(sentence: str) -> None:
    assert sentence and sentence == sentence.strip() and sentence[-1] in ".!?)", sentence
    assert not SLIPS.search(sentence), sentence


def _fits(state: State, gradient: Array | None) -> bool:
    """Whether a gradient is what the state says of it."""
    if gradient is None or state not in PASSING:
        return gradient is None and state not in PASSING
    if gradient.size == 0:
        return state is State.CARRIES
    if state is State.NONFINITE:
        return not np.all(np.isfinite(gradient))
    if state is State.ZERO:
        return not np.any(gradient)
    return bool(np.all(np.isfinite(gradient)) and np.any(gradient))


def _states_are_true(observed: ObservedFlow) -> None:
    for loss in observed.losses:
        run = observed.run(loss)
        assert run is not None
        for wire, state in observed.states(loss).items():
            verdict = observed.verdict(wire, loss)
            assert verdict.state is state, (wire, verdict)
            is_fluent(verdict.sentence)
            if wire in run.contributions:
                assert _fits(state, run.contributions[wire]), (wire, loss, verdict)
        for name, gradient in run.gradients.items():
            verdict = observed.variable(name, loss)
            is_fluent(verdict.sentence)
            assert _fits(verdict.state, gradient), (name, loss, verdict, gradient)


def _origins_are_true(observed: ObservedFlow) -> None:
    run = next(iter(observed.runs.values()))
    program = observed.program
    for origin in observed.origins:
        is_fluent(origin.sentence)
        outputs = [program.instances[origin.block].port(name)
                   for name in program.block(origin.block).output_names()]  # fmt: skip
        made = [leaf for port in outputs for leaf in program.leaf_ports(port)]
        assert not _finite(run.values[port] for port in made), origin
        _reason_is_true(observed, origin)
        _first_to_be_so(observed, origin)
    bad = {loss for loss in observed.losses if not _finite([run.values[loss]])}
    assert {loss for origin in observed.origins for loss in origin.spoilt} == bad


def _reason_is_true(observed: ObservedFlow, origin: Origin) -> None:
    """``1.00 ÷ 0``: the first number is one that the block reads first, the other one second."""
    shown = BINARY.match(origin.reason)
    if shown is None:
        return
    run, instance = next(iter(observed.runs.values())), observed.program.instances[origin.block]
    for text, port in zip(shown.groups(), instance.inputs, strict=True):
        if port in instance.wires:
            read = run.values[observed.program.wire_sources[instance.wires[port][0]]]
        else:
            read = np.asarray(instance.block.literals[port].tensor.array)
        assert text in {number(float(x)) for x in read.flat}, (origin, port)


def _first_to_be_so(observed: ObservedFlow, origin: Origin) -> None:
    """What the block reads is finite, or has an infinity of which it makes NaN."""
    run, program = next(iter(observed.runs.values())), observed.program
    wires = program.instances[origin.block].wires.values()
    sources = [program.wire_sources[leaf] for wire, _ in wires for leaf in program.leaf_wires(wire)]
    read = [run.values[source] for source in sources]
    assert _finite(read) or (origin.what == "NaN" and not any(map(_has_nan, read))), origin


def _finite(arrays: Iterable[Array]) -> bool:
    return all(array.dtype.kind != "f" or bool(np.all(np.isfinite(array))) for array in arrays)


def _has_nan(array: Array) -> bool:
    return array.dtype.kind == "f" and bool(np.any(np.isnan(array)))


def fix_is_true(session: Session, before: ObservedFlow, found: Fix, key: str, head: str) -> None:
    """Make the repair: the promised gradient comes, and no variable loses its own unannounced."""
    is_fluent(found.sentence)
    if found.change is None:
        assert found.obstacle, (key, found)
        return
    repaired = Session(apply(session.diagram, found.change).after)
    after = known_run(repaired, key, [head])
    promised = after.gradients.get(key, after.contributions.get(key))
    if not found.past and not found.leaves and promised is not None:
        np.testing.assert_array_equal(found.gradient, promised, err_msg=key)
    if key in after.gradients:
        for losses, told in [(None, found.total), *(([n], a) for n, a in found.by_loss.items())]:
            if told is not None:
                gradient = known_run(repaired, key, losses).gradients[key]
                np.testing.assert_array_equal(told, gradient, err_msg=f"{key} of {losses}")
    run = before.run(head)
    assert run is not None
    lost = [name for name, gradient in after.gradients.items()
            if gradient is None and run.gradients.get(name) is not None]  # fmt: skip
    assert set(lost) <= set(found.cost), (key, found)
    for name in found.zeroed:
        assert not np.any(after.gradients[name]), (key, found, name)


def known_run(session: Session, key: str, losses: Sequence[str] | None) -> Run:
    """All gradients; where a Recorded block that does not matter to the key can't tell, its own."""
    try:
        return session.backward(losses, adjoints="stops")
    except RunError as error:
        if "is known for the run that was captured alone" not in str(error):
            raise
    return session.backward(losses, wrt=[key], adjoints="stops")


def _finding_is_true(session: Session, observed: ObservedFlow, finding: Finding) -> None:
    name, key = finding.complaint.name, finding.key
    gradients = [run.gradients.get(key) for run in observed.runs.values()]
    if key in session.program.sources("variable"):
        if name in ("no_gradient", "apart"):
            assert all(gradient is None for gradient in gradients), finding
        if name in ("zero", "nonfinite"):
            state = State.NONFINITE if name == "nonfinite" else State.ZERO
            assert any(g is not None and _fits(state, g) for g in gradients), finding
    if name == "value":
        assert not _finite(next(iter(observed.runs.values())).values[loss]
                           for loss in observed.losses), finding  # fmt: skip
    if name == "nothing_trained":
        assert not session.program.trainable, finding
    if name == "single":
        _gives_the_same(observed, finding)
    if name == "symmetric":
        _stays_alike(session, key)
    if name == "idle_stop" and "/" not in key:  # inside a page it opens for every use
        _opening_changes_nothing(session, finding)


def _gives_the_same(observed: ObservedFlow, finding: Finding) -> None:
    """What a block with one number gives does not depend on it."""
    path, program = finding.key, observed.program
    kind = program.block(path).type_name()
    for run in observed.runs.values():
        for name, (wire, _) in program.instances[path].wires.items():
            back = run.contributions.get(wire)
            if back is not None and name not in UNAFFECTED and kind != "RMSNorm":
                finite = back[np.isfinite(back)]
                arrived = observed.arriving(f"{path}.out")
                size = 0.0 if arrived is None else float(np.max(np.abs(arrived), initial=0.0))
                assert np.max(np.abs(finite), initial=0.0) <= 1e-5 * size, (finding, back)


def _stays_alike(session: Session, key: str) -> None:
    """Units that are equal are so after steps of training."""
    copy = Session(session.diagram)
    alike = _pairs(copy.values[key], 0.0)
    for _ in range(3):
        gradients = copy.backward().gradients
        for name in copy.program.trainable:
            gradient = gradients.get(name)
            if gradient is not None and np.isfinite(gradient).all():
                length = 0.01 / (1.0 + np.max(np.abs(gradient), initial=0.0))
                copy.set(name, copy.values[name] - (length * gradient).astype(gradient.dtype))
    assert alike & _pairs(copy.values[key], 1e-4), key


def _pairs(array: Array, tolerance: float) -> set[tuple[int, int, int]]:
    """The pairs of nearly equal units, with their axis."""
    found = set()
    for axis in range(array.ndim):
        rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
        for i, row in enumerate(rows):
            for j in range(i):
                if np.allclose(row, rows[j], rtol=tolerance, atol=tolerance):
                    found.add((axis, i, j))
    return found


def _opening_changes_nothing(session: Session, finding: Finding) -> None:
    opened = Session(
        apply(session.diagram, change_of(session.diagram, [OpenStop(finding.key)])).after
    )
    before, after = session.backward(), opened.backward()
    zeros = "arrives here is 0" in finding.sentence or "only zeros" in finding.sentence
    for name, gradient in before.gradients.items():
        found = after.gradients[name]
        if gradient is None and zeros:
            assert found is None or not np.any(found), finding
        else:
            np.testing.assert_array_equal(gradient, found, err_msg=str(finding))


def _nothing_is_wrong(observed: ObservedFlow, sentence: str) -> None:
    """The doctor is content: losses are finite, and every variable gets numbers."""
    is_fluent(sentence)
    run = next(iter(observed.runs.values()))
    assert _finite(run.values[loss] for loss in observed.losses), sentence
    for name in observed.program.trainable:
        assert isinstance(observed.program.block(name), Variable)
        every = [run.gradients.get(name) for run in observed.runs.values()]
        assert any(g is not None for g in every), (name, sentence)
        assert _finite(g for g in every if g is not None), (name, sentence)


PROGRAMS = (
    Program("states-said", "no sentence, repair or origin is false", said_case),
    Program("doctor", "no finding is false, nor content without cause", doctor_case),
)
