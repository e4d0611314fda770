"""The diagrams on which reports on other systems are compared with these systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gradwire.runtime.build as b
from gradwire.blocks.library.formula import Formula
from gradwire.runtime.calculus.choices.choice import Choice, Site
from gradwire.runtime.calculus.choices.table import CHOICES
from gradwire.runtime.diagram import load
from tests.blocks.examples import EXAMPLES
from tests.questions.test_questions import QUESTIONS, Names
from tests.runtime.calculus.peers.comparisons import ARRIVING, Comparison, of_floats
from tests.runtime.flow.tools.random_diagrams import Random

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram

Named = Iterator[tuple[str, "Diagram"]]
FOLDER = Path(__file__).parents[4] / "assets" / "diagrams"
ON_PAGES = {"PageInput", "PageOutput"}
NORMALISED = {"BatchNorm", "GroupNorm", "LayerNorm"}
"""Blocks whose plain sum is the same for all inputs, so that its gradient is rounding alone."""
RANDOM = 150


def examples() -> Named:
    """The diagrams that come with the editor."""
    for path in sorted(FOLDER.glob("*.gradwire.json")):
        yield path.name, load(path)


def questions() -> Named:
    """Public questions, before and after the accepted fix."""
    for question in QUESTIONS:
        for key in question.keys() & {"diagram", "cured"}:
            losses = eval(question[key], {}, Names())
            losses = losses if isinstance(losses, list) else [losses]
            yield f"{key} of {question['address']}", b.build(*losses)


def random() -> Named:
    """Drawn ones, most of them with special numbers."""
    for seed in range(RANDOM):
        yield f"random {seed}", Random(seed).diagram()


def blocks() -> Named:
    """Every block with ordinary numbers, and with each of its sets of parameters."""
    for example in EXAMPLES:
        if example.block.type_name() not in ON_PAGES:
            arrays = [np.asarray(x) for x in example.inputs.values()]
            floats = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in arrays]
            weights: Any = 1.0
            if example.block.type_name() in NORMALISED:
                weights = np.linspace(0.5, 1.5, arrays[0].size).reshape(arrays[0].shape)
            yield str(example), _diagram(example.block, floats, weights)


def choices() -> Named:
    """Every point of the table of choices, at each block that it is about."""
    given = [*of_floats("float32"), *of_floats("float16")]
    for choice in CHOICES:
        for kind in choice.blocks if choice.quantity != "dtype" else ():
            for comparison in given:
                if comparison.name == kind and (found := _at(choice, comparison)):
                    yield f"{choice} ({kind})", found
                    break
    logarithm = b.log(b.variable("x", [0.0, 2.0]))
    yield "0 · ∞ further back", b.build(b.loss(b.sum(b.round(logarithm))))


PARTS: dict[str, Callable[[], Named]] = {
    part.__name__: part for part in (examples, questions, random, blocks, choices)
}


def _at(choice: Choice, given: Comparison) -> Diagram | None:
    """The block at up to three places where a choice matters; None if it nowhere does."""
    arrays = list(given.inputs.values())
    count = len(arrays[0])
    for arriving in ARRIVING if choice.quantity == "gradient" else (1.0,):
        marked = choice.marks(Site(given.block, tuple(arrays), np.array(arriving)))
        places = np.flatnonzero(marked)
        if marked.shape == (count,) and len(places):
            few = places[[0, len(places) // 2, -1]]
            chosen = [x[few] if len(x) == count else x for x in arrays]
            twice = choice.quantity == "second derivative"
            return _diagram(given.block, chosen, arriving, twice)
    return None


def _diagram(block: Block, arrays: list[Any], arriving: Any = 1.0, twice: bool = False) -> Diagram:
    """The sum of a block's output times what shall arrive there; ``twice``: of its slopes."""
    sources = [
        b.variable(f"x{n}", x, dtype=x.dtype.name)
        if x.dtype.kind == "f"
        else b.constant(f"x{n}", x, dtype=x.dtype.name)
        for n, x in enumerate(arrays)
    ]
    if isinstance(block, Formula):  # whose inputs have names, and no order
        named = dict(zip(block.content.inputs, sources, strict=True))
        made = b.block("Formula", **named, **block.to_record())
    else:
        made = b.block(block.type_name(), *sources, **block.to_record())
    if block.head:
        return b.build(made)
    if np.any(arriving != 1):
        dtype = next(x.dtype.name for x in arrays if x.dtype.kind == "f")
        made = b.mul(made, b.constant("arriving", arriving, dtype=dtype))
    total = b.sum(b.block("Cast", made, dtype="float32"))
    if twice:
        floats = [s for s, x in zip(sources, arrays, strict=True) if x.dtype.kind == "f"]
        slopes = [b.sum(b.block("Gradient", total, source)) for source in floats]
        total = b.add_n(*slopes) if len(slopes) > 1 else slopes[0]
    return b.build(b.loss(total))
