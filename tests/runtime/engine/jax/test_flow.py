"""What is said of gradients is the same whichever engine ran the diagram."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.compilation import Compilation, listening
from gradwire.runtime.engine.session.engines import open_engine
from gradwire.runtime.engine.session.session import on_numpy
from gradwire.runtime.flow import WhatIf, diagnose, fix, observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.badges import badges
from tests.examples import gallery
from tests.runtime.engine.jax.alike import compiled_quickly
from tests.runtime.flow.specimens import specimen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.flow import ObservedFlow

ENGINE = open_engine("jax")
NAMES = [name for name in gallery.NAMES if name not in gallery.TRAINING]
PRINTED = 2e-3
"""Of a number, as it is printed with four digits."""
RESIDUE = 1e-15
"""What is left of a sum that is 0 but for rounding; its size, and how it came about, say nothing.

In the examples of adversarial training 2.5e−19 is left by NumPy and 1.5e−18 by JAX.
"""
NUMBER = re.compile(r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?")


@pytest.fixture(autouse=True, scope="module")
def quickly() -> Iterator[None]:
    with compiled_quickly():
        yield


def example(name: str) -> Diagram:
    return gallery.diagram(name)


def both(diagram: Diagram) -> tuple[Session, Session]:
    return Session(diagram, fast=False), Session(diagram, engine=ENGINE)


def numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in NUMBER.findall(text)]


def assert_say_the_same(found: str, wanted: str) -> None:
    """The same words, and the same numbers as far as they are printed."""
    some, others = numbers(found), numbers(wanted)
    if all(any(0 < abs(x) < RESIDUE for x in each) for each in (some, others)):
        return
    assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted)
    for number, expected in zip(some, others, strict=True):
        assert number == pytest.approx(expected, rel=PRINTED, abs=RESIDUE), (found, wanted)


def assert_same_flow(found: ObservedFlow, wanted: ObservedFlow) -> None:
    for loss in (None, *wanted.losses):
        assert found.states(loss) == wanted.states(loss)
        for wire in wanted.states(loss):
            one, other = found.verdict(wire, loss), wanted.verdict(wire, loss)
            assert (one.cutters, one.witness) == (other.cutters, other.witness)
            assert_say_the_same(one.sentence, other.sentence)
    for name in wanted.program.sources("variable"):
        assert_say_the_same(found.variable(name).sentence, wanted.variable(name).sentence)
    marks = [[(badge.mark, badge.key) for badge in badges(flow)] for flow in (found, wanted)]
    assert marks[0] == marks[1]


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("name", NAMES)
def test_examples_are_observed_alike(name: str) -> None:
    plain, found = both(example(name))
    assert_same_flow(observe(found), observe(plain))
    told = [
        [(each.complaint, each.key, each.sentence) for each in diagnose(s)] for s in (found, plain)
    ]
    assert told[0] == told[1]
    fixes = ((wire, fix(plain, wire)) for wire in analyse(plain.program).states())
    for wire, wanted in islice(((wire, each) for wire, each in fixes if each), 1):
        repaired = fix(found, wire)
        assert repaired is not None and repaired.steps == wanted.steps
        assert_say_the_same(repaired.sentence, wanted.sentence)


@pytest.mark.parametrize("seed", range(6))
def test_random_diagrams_are_observed_alike(seed: int) -> None:
    plain, found = both(specimen(seed, seed > 3))
    assert_same_flow(observe(found), observe(plain))


def test_trials_and_the_doctor_compile_nothing_and_keep_every_bit() -> None:
    """All their runs are on NumPy: two programs of JAX may round in two ways."""
    w, b, v = (gw.variable(name, np.linspace(-1, 1, 9)) for name in "wbv")
    near = gw.sum(gw.tanh(gw.mul(w, b, name="wb")), name="near")
    far = gw.sum(gw.exp(gw.sin(gw.stop_gradient(v, name="stop"))), name="far")
    session = Session(gw.build(gw.loss(gw.add(near, far))), engine=ENGINE)
    session.set("w", np.linspace(0, 1, 9))
    compilations: list[Compilation] = []
    with listening(compilations.append):
        compared = WhatIf(session).open("stop").compare()
        assert diagnose(session)
        assert compilations == []
        session.backward()
        assert compilations
    assert {name for name, d in compared.variables().items() if d.changed} == {"v"}
    before = compared.before.gradient("b")
    assert before is not None and before[0] == 0  # by the w that was set


def test_the_doctor_keeps_what_was_set() -> None:
    x, w = gw.input("x", shape=[3]), gw.variable("w", [1.0, -2.0, 3.0])
    diagram = gw.build(gw.loss(gw.sum(gw.log(gw.mul(x, w, name="product")), name="total")))
    findings = []
    for session in both(diagram):
        session.set("x", [1.0, 1.0, 1.0])
        session.updated.add("nothing")
        copy = on_numpy(session)
        assert (copy.updated, copy.engine.name) == ({"nothing"}, "numpy")
        findings.append([(each.key, each.sentence) for each in diagnose(session)])
    assert findings[0] == findings[1] and "−2" in findings[0][0][1]
