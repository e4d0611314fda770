"""Formula blocks: folded blocks compute what they did, and are explained as those of a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import Diagram, apply, dumps, loads, unfold
from gradwire.runtime.diagram.pages import inside
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.formulas.folding import fold
from tests.fuzz.diagrams import assert_same
from tests.fuzz.drawing import drawn
from tests.fuzz.runner import Program

if TYPE_CHECKING:
    from random import Random

    from gradwire.runtime.diagram import Batch

TRIES = 30


def folding_case(rng: Random) -> str:
    """A fold changes no number of what stays; the Formula is a page in all but the canvas."""
    diagram = drawn(rng)
    page = rng.choice([*diagram.pages])
    change = fold_of_some(rng, diagram, page)
    if change is None:
        return "nothing to fold"
    folded = apply(diagram, change).after
    assert loads(dumps(folded)) == folded
    name = change.changes[0].name  # type: ignore[union-attr]  # the first change adds the block
    for other in (diagram, apply(folded, unfold(folded, page, name)).after):
        assert_same_gradients(folded, other)
    assert_same_answers(folded, as_pages(folded))
    return "folded"


def fold_of_some(rng: Random, diagram: Diagram, page: str) -> Batch | None:
    """A fold of a block and some of what it reads, or of what those read."""
    here = diagram.pages[page]
    for _ in range(TRIES):
        chosen = {rng.choice([*here.blocks])}
        for _ in range(rng.randrange(5)):
            near = {here.wires[t].block for name in chosen for t in here.ends.inward.get(name, ())}
            chosen |= set(rng.sample(sorted(near), min(len(near), 2)))
        try:
            return fold(diagram, page, chosen)
        except ChangeError:
            continue
    return None


def as_pages(diagram: Diagram) -> Diagram:
    """The diagram with a page, used once, for each Formula block."""
    for page, here in list(diagram.pages.items()):
        for name, block in here.blocks.items():
            if isinstance(block, Formula):
                title = f"{page} {name}"
                use = PageBlock(page=title, literals=block.literals)
                blocks = {**diagram.pages[page].blocks, name: use}
                diagram = diagram.with_page(page, replace(diagram.pages[page], blocks=blocks))
                diagram = diagram.with_page(title, inside(block.expression))
    return diagram


def assert_same_gradients(one: Diagram, other: Diagram) -> None:
    """Gradients of variables are equal but for the order of sums, None in the same places."""
    with np.errstate(all="ignore"):
        runs = [Session(diagram).backward() for diagram in (one, other)]
    scale = max((float(np.max(np.abs(g))) for g in runs[0].gradients.values() if g is not None),
                default=0.0)  # fmt: skip
    assert_same(runs[0].gradients, runs[1].gradients, scale)
    for loss in runs[0].losses:
        np.testing.assert_allclose(runs[0].values[loss], runs[1].values[loss], rtol=1e-9)


def assert_same_answers(one: Diagram, other: Diagram) -> None:
    """The same values, contributions, states and sentences, bit by bit, at the same paths."""
    sessions = [Session(diagram) for diagram in (one, other)]
    with np.errstate(all="ignore"):
        runs = [session.backward(adjoints="all") for session in sessions]
    for these, those in (
        (runs[0].values, runs[1].values),
        (runs[0].contributions, runs[1].contributions),
    ):
        assert these.keys() == those.keys()
        for key, array in these.items():
            np.testing.assert_array_equal(array, those[key], err_msg=key)
    flows = [analyse(session.program) for session in sessions]
    for wire in runs[0].contributions:
        assert flows[0].explain(wire) == flows[1].explain(wire), wire


PROGRAMS = (Program("folding", "a Formula block computes what its blocks did", folding_case),)
