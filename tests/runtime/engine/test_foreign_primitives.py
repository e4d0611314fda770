"""Primitives of plug-ins that fail: an error with the place of the block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import runtime.build as b
from blocks import Block, registry
from blocks.errors import RunError
from runtime.calculus import Primitive
from runtime.engine import Session

if TYPE_CHECKING:
    from runtime.diagram import Diagram


def copy(x: Any, *, out: Any) -> None:
    """out = x"""
    np.copyto(out, x)


def fail(*_: Any, **__: Any) -> Any:
    """Ends the program, as a careless kernel or rule would."""
    raise SystemExit(0)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``drawn(kernel, rule)``: a diagram of a block ``odd`` that applies such a primitive."""

    def draw(
        kernel: Any = copy, rule: Any = lambda xp, g, out, x: g, source: Any = None
    ) -> Diagram:
        primitive = Primitive("foreign", lambda x: (x.shape, x.dtype), kernel, (rule,))

        class Foreign(Block):
            """Applies the primitive."""

            def forward(self, xp: Any, x: Any) -> Any:
                return xp.trace.apply(primitive, x)

        monkeypatch.setitem(registry()._classes, "Foreign", Foreign)
        w = b.variable("w", [1.0, 2.0]) if source is None else source
        return b.build(b.loss(b.sum(b.block("Foreign", w, name="odd"))))

    return draw


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (fail, "SystemExit(0)"),
        (lambda xp, g, out, x: 1 / 0, "ZeroDivisionError('division by zero')"),
        (lambda xp, g, out, x: None, "it gives None for an input of shape [2]"),
        (lambda xp, g, out, x: xp.ones((3, 5)), "it gives shape [3, 5] for an input of shape [2]"),
    ],
)
def test_a_rule_that_fails_names_its_block(drawn, rule, why):
    session = Session(drawn(rule=rule))
    with pytest.raises(RunError) as caught:
        session.backward()
    assert str(caught.value) == f"odd: The derivative of foreign failed: {why}."
    np.testing.assert_array_equal(session.run().values["odd.out"], [1.0, 2.0])


def lose(x: Any, *, out: Any) -> None:
    """A kernel that raises what no kernel of the library does."""
    raise KeyError("weights")


@pytest.mark.parametrize(
    ("kernel", "why"), [(fail, "SystemExit(0)"), (lose, "KeyError('weights')")]
)
def test_a_kernel_that_fails_names_its_block(drawn, kernel, why):
    with pytest.raises(RunError) as caught:
        Session(drawn(kernel)).run()
    assert f"The run failed: {why}." in str(caught.value)
    assert caught.value.location.block == "odd"
    partly = Session(drawn(kernel), partial=True)
    assert partly.run().values["w.out"].tolist() == [1.0, 2.0]
    assert [d.location.block for d in partly.diagnostics] == ["odd"]


def test_a_kernel_that_fails_on_constants_fails_in_the_run(drawn):
    session = Session(drawn(lose, source=b.constant("c", [1.0, 2.0])))
    with pytest.raises(RunError, match=r"^odd: The run failed: KeyError\('weights'\)\.$"):
        session.run()
