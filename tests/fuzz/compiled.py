"""Random diagrams compiled by JAX: they compute what NumPy does, and fail where it fails."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.model import MAIN, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.engine import Run, Session
from gradwire.runtime.engine.session.engines import open_engine
from tests.fuzz.diagrams import _largest, assert_same, found_in
from tests.fuzz.drawing import drawn
from tests.fuzz.runner import Program
from tests.runtime.flow.specimens import changed

if TYPE_CHECKING:
    from random import Random

    from gradwire.blocks import Block
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.engine import Engine


@cache
def _engine() -> Engine:
    return open_engine("jax")


def _subject(rng: Random) -> Diagram:
    """Now and then of float32, or with indices out of range, each beside a loss of its own."""

    def change(block: Block) -> Block:
        of_floats = isinstance(block, Variable | Constant) and block.dtype == "float64"
        return block.with_parameters(dtype="float32") if of_floats else block

    diagram = drawn(rng, gradients=rng.random() < 0.3)
    if rng.random() < 0.2:
        diagram = changed(diagram, change)
    gather = registry().get("Gather")
    blocks, wires = dict(diagram.main.blocks), dict(diagram.main.wires)
    for i in range(rng.choice((0, 0, 0, 1, 2))):
        blocks |= {f"wrong{i}": gather(indices=[0, 3 + i]), f"aside{i}": Loss()}
        wires[PortName(f"wrong{i}", "x")] = PortName("w0", "out")
        wires[PortName(f"aside{i}", "x")] = PortName(f"wrong{i}", "out")
    return diagram.with_page(MAIN, Page(blocks, wires))


def compiled_case(rng: Random) -> str:
    """Values, gradients, adjoints and contributions, None in the same places; or one error."""
    if find_spec("jax") is None:
        return "not compared: JAX is missing"
    diagram, partial = _subject(rng), rng.random() < 0.3
    plain = Session(diagram, partial=partial, fast=False)
    found = Session(diagram, partial=partial, engine=_engine())
    with np.errstate(all="ignore"):
        wanted, run = _outcome(plain), _outcome(found)
    if isinstance(wanted, RunError) or isinstance(run, RunError):
        assert isinstance(wanted, RunError) and isinstance(run, RunError), (wanted, run)
        assert run.location == wanted.location, (wanted, run)
        return "failed in the same block"
    assert [d.location for d in run.problems] == [d.location for d in wanted.problems]
    scale = _largest(wanted.contributions.values())
    near = found_in(wanted)
    for table in ("values", "gradients", "adjoints", "contributions"):
        assert_same(getattr(wanted, table), getattr(run, table), scale, near)
    return "partly run" if run.problems else "compared"


def _outcome(session: Session) -> Run | RunError:
    try:
        return session.backward(adjoints="all", contributions=True)
    except RunError as error:
        return error


PROGRAMS = (
    Program("compiled", "JAX computes what NumPy does, or fails in the same block", compiled_case),
)
