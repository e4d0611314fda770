"""What can't be computed in a browser is refused, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.blocks import Block
from gradwire.blocks.errors import RunError
from gradwire.blocks.registry import registry
from gradwire.runtime.build import block, build, constant, loss, variable
from gradwire.runtime.calculus import Primitive
from gradwire.runtime.diagram import Diagram
from gradwire.runtime.publish.living import data as limits
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.publishing import publish, published
from tests.runtime.publish.living.node import NODE, run
from tests.runtime.publish.living.test_loops import layer
from tests.runtime.publish.living.writing.test_html import small


def test_float16_is_refused() -> None:
    w = variable("w", np.float16(2.0), dtype="float16")
    with pytest.raises(RunError, match="computes in float16"):
        publish(build(loss(w * w)))


def test_integers_that_numbers_of_javascript_lack_are_refused() -> None:
    w = variable("w", 2.0, dtype="float64")
    large = constant("large", 2**53 + 1, dtype="int64")
    with pytest.raises(RunError, match="2⁵³"):
        publish(build(loss(w * large)))


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_ELEMENTS", 3)
    with pytest.raises(RunError, match="numbers, and a page 3"):
        publish(small())


def test_a_diagram_without_a_loss_or_with_errors_is_refused() -> None:
    with pytest.raises(RunError, match="no loss"):
        publish(Diagram())


class Smooth(Block):
    """A block of a plug-in that is made of known arithmetic."""

    def forward(self, xp: Any, x: Any) -> Any:
        return x / (1 + xp.abs(x))


SECH = Primitive(
    "sech",
    lambda x: (x.shape, x.dtype),
    lambda x, *, out: np.divide(1, np.cosh(x), out=out),
    (lambda xp, g, out, x: -g * out * xp.tanh(x),),
    elementwise=True,
)


class Sech(Block):
    """A block of a plug-in with arithmetic of its own."""

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.trace.apply(SECH, x)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls in (Smooth, Sech):
        monkeypatch.setitem(registry()._classes, cls.type_name(), cls)


def made_of(kind: str) -> Diagram:
    return build(loss(block(kind, variable("w", 2.0), name="own")))


@pytest.mark.usefixtures("plugins")
def test_blocks_of_plugins_live_if_their_arithmetic_is_known() -> None:
    assert publish(made_of("Smooth"))
    with pytest.raises(RunError, match="no arithmetic for 'sech' of own"):
        publish(made_of("Sech"))
    picture = published(made_of("Sech"))
    assert "no arithmetic for 'sech' of own" in picture.obstacle and "<script" not in picture.html


def test_what_a_long_loop_computes_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all its steps what is read outside of a step is kept."""
    monkeypatch.setattr(limits, "MOST_OPERATIONS", 80)
    monkeypatch.setattr(limits, "MOST_ELEMENTS", 600)
    assert len(living_data(layer("rnn", 20)).tapes[0].ops) > 500
    with pytest.raises(RunError, match="operations, and a page computes 80"):
        living_data(layer("rnn", 8))
    monkeypatch.setattr(limits, "MOST_COMPUTED", 1000)
    with pytest.raises(RunError, match="Its loops compute"):
        living_data(layer("rnn", 20))
    monkeypatch.setattr(limits, "MOST_ELEMENTS", 400)
    with pytest.raises(RunError, match="numbers, and a page 400"):
        living_data(layer("rnn", 20))


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_sources_take_only_numbers_of_their_dtype(tmp_path: Path) -> None:
    w = variable("w", [2.0, 3.0], dtype="float32")
    sources = {
        "n": constant("n", [1, 2], dtype="int64"),
        "small": constant("small", [1, 2], dtype="int8"),
        "mask": constant("mask", [True, False], dtype="bool"),
    }
    cast = [block("Cast", source, dtype="float32") for source in sources.values()]
    living = living_data(build(loss(block("Sum", w * cast[0] * cast[1] * cast[2]))))
    tries = [
        ["n", 1.5],
        ["n", 7],
        ["small", 200],
        ["mask", 2],
        ["mask", 1],
        ["w", 1e300],
        ["w", 0.5],
    ]
    script = """({data, tries}) => tries.map(([path, number]) => {
      const live = new Live(data), before = live.values[path][0];
      return [live.set(path, 0, number), live.values[path][0] === before];
    })"""
    told = run(tmp_path, script, {"data": living.data, "tries": tries})
    assert told == [
        ["n has whole numbers.", True],
        ["", False],
        ["200 is too large for int8.", True],
        ["mask is 0 or 1.", True],
        ["", True],
        ["1e+300 is too large for float32.", True],
        ["", False],
    ]
