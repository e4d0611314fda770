"""Primitives of plug-ins that fail: an error with the place of the block."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks import Block
from gradwire.blocks.errors import RunError
from gradwire.blocks.plugins import BrokenOff, breakable, interrupt
from gradwire.blocks.registry import registry
from gradwire.runtime.calculus import Primitive
from gradwire.runtime.calculus.primitives.elementwise import ADD
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


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


STARTED: SimpleQueue[None] = SimpleQueue()


def loop(*_: Any, **__: Any) -> None:
    """A kernel or rule without an end; it ends by itself where nothing breaks it off."""
    STARTED.put(None)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    raise TimeoutError("Nothing broke off the loop.")


@pytest.mark.parametrize("where", ["kernel", "rule"])
def test_a_loop_in_a_primitive_is_broken_off_by_who_cancels(drawn, where):
    session, ended = Session(drawn(**{where: loop})), []

    def work() -> None:
        with breakable():
            try:
                session.backward()
            except BrokenOff as error:
                ended.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    STARTED.get(timeout=60)
    interrupt(thread.ident)
    thread.join(60)
    assert len(ended) == 1


def test_prints_of_a_kernel_are_not_in_the_output(drawn, capsys):
    def chatty(x: Any, *, out: Any) -> None:
        print("here")
        np.copyto(out, x)

    Session(drawn(chatty)).run()
    out, err = capsys.readouterr()
    assert (out, err) == ("", "here\n")


def test_kernels_of_the_library_run_unguarded():
    assert ADD.kernel is np.add


def test_a_kernel_that_fails_on_constants_fails_in_the_run(drawn):
    session = Session(drawn(lose, source=b.constant("c", [1.0, 2.0])))
    with pytest.raises(RunError, match=r"^odd: The run failed: KeyError\('weights'\)\.$"):
        session.run()
