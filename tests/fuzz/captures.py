"""What a capture of a PyTorch program says is true of the program."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import apply
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe, reassurance
from gradwire.runtime.interchange.importing.capturing import capture
from tests.fuzz.runner import Program
from tests.fuzz.sentences import fix_is_true, is_fluent, known_run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from gradwire.runtime.flow import Fix, ObservedFlow
    from gradwire.runtime.interchange.importing.imported import Imported
    from tests.fuzz.torch_programs import Drawn

Array = np.ndarray[Any, Any]
WITHIN = 2e-3
"""How far apart gradients may be, relative to the largest."""
ROUNDING = 1e-5
"""Gradients below this part of the largest may be 0 but for rounding."""
MOST_ERROR = 4.0
"""How many times the rounding error of PyTorch ours may be where all of a gradient is rounding."""
FAILS = (AttributeError, IndexError, RuntimeError, TypeError)
"""What a program raises that does not run."""
_LINE = re.compile(r"^step\.py:(\d+)")


def capture_case(rng: Random) -> str:
    """The gradients of one program, and what is said about them."""
    from tests.fuzz.torch_programs import drawn

    program = drawn(rng)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return outcome(program)
    except Exception as error:
        error.add_note(program.source)
        raise


def outcome(program: Drawn) -> str:
    """What comes of a program; raises where something false is said of it."""
    try:
        theirs = program.gradients()
    except FAILS:
        return "invalid"
    made = program.made()
    try:
        imported = capture(made["step"], made["net"], made["x"])
    except GradwireError as error:
        return f"refused: {str(error)[:150]}"
    found = {name: theirs[name.removeprefix("net.")] for name in imported.parameters}
    return _said(program, imported, found)


def _said(program: Drawn, imported: Imported, theirs: Mapping[str, Array | None]) -> str:
    comparison = imported.diagram.comparison
    session = Session(imported.diagram)
    if not session.program.heads():
        return "without a loss"
    if comparison is not None and comparison.unchecked:
        return f"not compared: {comparison.unchecked}"[:120]
    ours = session.backward().gradients
    trained = {name: path for name, path in imported.parameters.items() if path in ours}
    apart = [
        (name, theirs[name], ours[path])
        for name, path in trained.items()
        if not _agree(theirs[name], ours[path], _largest(theirs))
    ]
    differs = comparison is not None and comparison.disagreements
    assert differs or all(_as_near(program, *one) for one in apart), apart[0]
    observed = observe(session)
    found = diagnose(session)
    for finding in found:
        is_fluent(finding.sentence)
        if finding.fix is not None and not differs:
            _promise_is_kept(program, session, observed, finding.key, finding.fix)
    if not any(finding.complaint.name != "idle_stop" for finding in found):
        assert not differs
        is_fluent(reassurance(session.program, observed.losses))
        for name, path in trained.items():
            gradient = theirs[name]
            assert gradient is not None and np.all(np.isfinite(gradient)), (name, gradient)
            assert np.any(gradient) or observed.invariance(path), (name, gradient)
    if not differs:
        for finding in found:
            name = next((n for n, path in trained.items() if path == finding.key), "")
            if name and finding.complaint.name == "no_gradient":
                assert theirs[name] is None, finding
    return "differs" if differs else "agrees"


def _promise_is_kept(
    program: Drawn, session: Session, observed: ObservedFlow, key: str, fix: Fix
) -> None:
    """Apply a repair to the diagram, and where it opens stops to the program as well."""
    loss = observed.explain(key).loss
    assert loss is not None
    fix_is_true(session, observed, fix, key, str(loss))
    if fix.change is None or fix.straight_through or fix.trained:
        return
    written = [_LINE.match(session.program.block(name).written) for name in fix.opened]
    lines = {int(found[1]) for found in written if found}
    repaired = program.without_cuts(lines)
    if len(lines) < len(written) or repaired == program or repaired.cuts & lines:
        return
    after = known_run(Session(apply(session.diagram, fix.change).after), key, None).gradients
    from tests.fuzz import torch_programs

    program.gradients()
    hooks = list(torch_programs.SET)
    try:
        theirs = repaired.gradients()
    except FAILS:
        return
    if hooks != torch_programs.SET:  # it is another program in more than the cuts
        return
    name = next((n for n in theirs if n.replace(".", "/") == key.replace("net/", "")), None)
    if name is not None:
        told = theirs[name], after[key]
        true = _agree(*told, _largest(theirs)) or _as_near(repaired, name, *told)
        assert true, ("promised", fix.sentence, *told)


def _agree(theirs: Array | None, ours: Array | None, largest: float) -> bool:
    if theirs is None or ours is None:
        return theirs is None and ours is None
    finite = np.isfinite(theirs)
    if not np.array_equal(finite, np.isfinite(ours)):
        return False
    within = WITHIN * float(np.abs(theirs[finite]).max(initial=0.0)) + ROUNDING * largest
    return bool(np.allclose(ours[finite], theirs[finite], rtol=0.0, atol=within))


def _as_near(program: Drawn, name: str, theirs: Array | None, ours: Array | None) -> bool:
    """Whether ours is about as near to the gradient in float64 as PyTorch's own is."""
    try:
        exact = program.gradients(exact=True)[name.removeprefix("net.")]
    except FAILS:  # it has a dtype of its own
        return False
    if theirs is None or ours is None or exact is None:
        return False
    return bool(np.abs(ours - exact).max() <= MOST_ERROR * np.abs(theirs - exact).max())


def _largest(gradients: Mapping[str, Array | None]) -> float:
    arrays = [g[np.isfinite(g)] for g in gradients.values() if g is not None]
    return max((float(np.abs(array).max(initial=0.0)) for array in arrays), default=0.0)


CAPTURES = Program("captures", "what is said of a PyTorch program is true", capture_case)
PROGRAMS = (CAPTURES,) if find_spec("torch") else ()
