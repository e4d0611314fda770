"""Random diagrams: engines agree, states are those of a rebuilt diagram, gradients are slopes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from gradwire.blocks.library.gradient import (
    GradientReversal,
    GradientScale,
    StopGradient,
    StraightThrough,
)
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.shape import Cast
from gradwire.blocks.library.views import Display
from gradwire.runtime.engine import Run, Session
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.passes import DEFAULT, FAST, Pass
from gradwire.runtime.flow import State
from gradwire.runtime.flow.analyse import analyse
from tests.fuzz.drawing import drawn, hard
from tests.fuzz.runner import Program
from tests.runtime.calculus.tracing import compute
from tests.runtime.engine.plan.passes.test_passes import EAGER, MODULES
from tests.runtime.flow.specimens import Walk, changed
from tests.runtime.flow.test_laws import Studied, defined, repairs

if TYPE_CHECKING:
    from random import Random

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram import Diagram

Array = np.ndarray[Any, Any]

EXACT = frozenset({
    "Variable", "Constant", "Input", "Add", "Sub", "Mul", "Maximum", "Relu", "Square", "Abs",
    "Round", "AddN", "Where", "Greater", "And", "Not", "IsFinite", "ArgMax", "Gather", "PickAlong",
    "OneHot", "Cast", "Clip", "Sort", "Max", "Display", "StopGradient", "StraightThrough",
    "GradientReversal", "GradientScale", "Loss", "PageInput", "PageOutput",
})  # fmt: skip
"""Blocks of which every bit is promised; of the others a few units in the last place."""
ULPS = 16
"""For blocks that are several operations: each is within one unit of its kernel."""
FOUND = {"float32": 2e-4, "float64": 1e-9}
"""How far apart gradients may be, as a share of the largest: errors of one ulp grow on the way."""


@contextmanager
def eager() -> Iterator[None]:
    """Everything is large and many enough for the passes: small arrays go through all of them."""
    places = [
        ("gradwire.runtime.engine.plan.memory", "_SMALL", 0),
        ("gradwire.runtime.engine.plan.plan", "WORTH_GIVING", 1),
        ("gradwire.runtime.engine.plan.passes.late", "FEW", 0),
        ("gradwire.runtime.engine.plan.tasks", "JOINED", 2),
    ]
    for name, values in EAGER.items():
        places += [(MODULES[name].__name__, key, n) for key, n in values.items()]
    before = []
    try:
        for name, key, number in places:
            module = importlib.import_module(name)
            before.append((module, key, getattr(module, key)))
            setattr(module, key, number)
        yield
    finally:
        for module, key, number in before:
            setattr(module, key, number)


def run_with(diagram: Diagram, passes: tuple[Pass, ...]) -> tuple[Session, Run]:
    """A session that plans with these passes, and its run with everything in sight."""
    with patch("gradwire.runtime.engine.session.engines.select_passes", lambda fast: passes):
        session = Session(diagram)
    return session, session.backward(adjoints="all", contributions=True)


def engines_case(rng: Random) -> str:
    """The same diagram with no pass, those of numpy and those of machine code.

    Each block's value is held against its own kernels at the inputs that it had in that run, so
    that no error adds up; what two runs say is compared as a whole too.
    """
    diagram = hard(rng, gradients=rng.random() < 0.3)
    choices = [(), DEFAULT, *([FAST] if native.installed() else [])]
    with eager(), np.errstate(all="ignore"):
        runs = [run_with(diagram, passes) for passes in choices]
    for session, run in runs:
        for path in session.program.instances:
            _agrees_with_kernels(session, run, path)
    (_, plain), *others = runs
    scale = _largest(plain.contributions.values())
    near = found_in(plain)
    for _, other in others:
        assert_same(plain.gradients, other.gradients, scale, near)
        assert_same(plain.contributions, other.contributions, scale, near)
    return "compared"


def found_in(run: Run) -> Mapping[str, float]:
    """How far apart gradients of a run may be: with a float32 on the way, all as those of it."""
    coarse = any(array.dtype == "float32" for array in run.values.values())
    return dict.fromkeys(FOUND, FOUND["float32"]) if coarse else FOUND


def _agrees_with_kernels(session: Session, run: Run, path: Any) -> None:
    program = session.program
    instance = program.instances[path]
    kind = instance.block.type_name()
    if kind in ("Gradient", "Input", "Variable", "Constant"):
        return
    bound: dict[Value, Array] = {}
    for name, leaf in program.leaves.items():
        given = run.values.get(f"{name}.out")
        if given is None:
            given = leaf.source.tensor.array.astype(leaf.value.dtype)  # a literal
        bound[leaf.value] = given
    for wire, _ in instance.wires.values():
        bound[program.wires[wire]] = run.values[program.wire_sources[wire]]
    read = [run.values[program.wire_sources[wire]].dtype for wire, _ in instance.wires.values()]
    for output in instance.block.output_names():
        port = instance.port(output)
        expected, found = compute(program.ports[port], bound), run.values[port]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), port
        exact = kind in EXACT or expected.dtype.kind != "f"
        # Of float32 scores and float64 weights, the scores are normalised in float32.
        floats = (dtype for dtype in (expected.dtype, *read) if dtype.kind == "f")
        share = 0.0 if exact else ULPS * max(float(np.finfo(dtype).eps) for dtype in floats)
        assert _close(found, expected, share), (port, kind, found, expected)


def _largest(arrays: Iterable[Array | None]) -> float:
    """The largest finite element: what rounding errors of sums are measured by."""
    found = (np.abs(array[np.isfinite(array)]) for array in arrays if array is not None)
    return max((float(np.max(numbers, initial=0.0)) for numbers in found), default=1.0)


def _close(a: Array, b: Array, share: float, scale: float = 0.0) -> bool:
    """NaN and infinities in the same places; the rest within a share of the largest, or of
    ``scale`` where that is larger.
    """
    odd_a, odd_b = (np.where(np.isfinite(x), 0, x) for x in (a, b))
    if a.shape != b.shape or not np.array_equal(odd_a, odd_b, equal_nan=a.dtype.kind == "f"):
        return False
    a, b = (np.where(np.isfinite(x), x, 0).astype("float64") for x in (a, b))
    largest = max(scale, float(np.max(np.abs(b), initial=0.0)))
    with np.errstate(over="ignore"):
        return bool(np.all(np.abs(a - b) <= share * largest))


def assert_same(
    some: Mapping[str, Array | None],
    others: Mapping[str, Array | None],
    scale: float,
    near: Mapping[str, float] = FOUND,
) -> None:
    """The same names; None in the same places; numbers as far as the last digits matter."""
    assert some.keys() == others.keys()
    for key, a in some.items():
        b = others[key]
        assert (a is None) == (b is None), (key, a, b)
        if a is not None and b is not None:
            assert a.dtype == b.dtype, key
            assert _close(a, b, near.get(a.dtype.name, 0.0), scale), (key, a, b)


def states_case(rng: Random) -> str:
    """CARRIES is a contribution and a path; every state is what a rebuilt diagram shows."""
    gradients = rng.random() < 0.2
    diagram = drawn(rng, gradients=gradients)
    session = Session(diagram)
    run = session.backward(adjoints="all")
    studied = Studied("this case", diagram, session, analyse(session.program), run)
    for wire, contribution in run.contributions.items():
        assert (studied.states[wire] is State.CARRIES) == (contribution is not None), wire
    for name, gradient in run.gradients.items():
        assert (studied.flow.variable(name).state is State.CARRIES) == (gradient is not None), name
    if gradients:
        return "with Gradient blocks"
    walk = Walk(diagram, run.values, run.losses)
    for arrow in walk.arrows:
        found = walk.arrives(arrow) and walk.wanted(arrow)
        assert found == (studied.states[arrow.key] is State.CARRIES), arrow
    would = repairs(studied)
    for wire, state in studied.states.items():
        assert state is defined(wire, would), wire
    return "walked"


STRAIGHT = (StopGradient, GradientReversal, GradientScale)
"""Blocks of one input whose gradient is not their slope; a Display in their place has it."""
STEPS = (1e-4, 5e-5, 2.5e-5)


def slopes_case(rng: Random) -> str:
    """Gradients are central differences wherever these settle: not at a kink, nor too near one."""
    diagram = changed(
        drawn(rng, gradients=rng.random() < 0.2),
        lambda block: Display() if isinstance(block, STRAIGHT) else block,
    )
    if _has_surrogate(diagram):
        return "with surrogates"
    session = Session(diagram)
    run = session.backward()
    direction = np.random.default_rng(rng.randrange(2**32))
    used = ""
    for name, gradient in run.gradients.items():
        if gradient is None:
            continue
        value = np.array(session.values[name])
        step = direction.standard_normal(value.shape)
        slopes = []
        for h in STEPS:
            ends = []
            for sign in (1, -1):
                session.set(name, value + sign * h * step)
                values = session.run().values
                ends.append(sum(float(np.sum(values[loss])) for loss in run.losses))
            slopes.append((ends[0] - ends[1]) / (2 * h))
        session.set(name, value)
        expected = float(np.sum(gradient * step))
        spread = max(slopes) - min(slopes)
        size = max(1.0, abs(expected), *map(abs, slopes))
        if spread < 1e-6 * size:
            assert abs(slopes[-1] - expected) < 1e-4 * size, (name, slopes, expected)
            used = "smooth"
    return used or "rough"


def _has_surrogate(diagram: Diagram) -> bool:
    """Whether some gradient is deliberately not the slope, or too coarse to be compared with it.

    A Loss ignores what comes back from its readers.
    """
    read = {source.block for page in diagram.pages.values() for source in page.wires.values()}
    return any(
        isinstance(block, StraightThrough)
        or (isinstance(block, Cast) and block.dtype == "float32")
        or (isinstance(block, Loss) and name in read)
        for page in diagram.pages.values()
        for name, block in page.blocks.items()
    )


PROGRAMS = (
    Program("engines", "every engine computes what the kernels do", engines_case),
    Program("states", "states are those of a rebuilt diagram", states_case),
    Program("slopes", "gradients are central differences at smooth points", slopes_case),
)
