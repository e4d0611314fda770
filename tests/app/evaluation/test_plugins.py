"""Plug-ins that fail, seen from the editor: it goes on, and says so once."""

from __future__ import annotations

import time
from queue import SimpleQueue
from typing import Any

import pytest

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import PageResult
from gradwire.app.canvas.state.looks import look_of
from gradwire.app.evaluation.evaluator import Evaluation
from gradwire.app.evaluation.worker import Worker
from gradwire.blocks import Block
from gradwire.blocks.plugins import guarded
from gradwire.blocks.registry import registry
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import AddBlock, Connect, Point, PortName, RemoveBlocks, apply

STARTED: SimpleQueue[None] = SimpleQueue()
"""Where a loop says that it runs. No Event, whose lock an exception inside would leave taken."""


def loop() -> None:
    """What a careless plug-in does; it ends by itself where nothing breaks it off."""
    STARTED.put(None)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    raise TimeoutError("Nothing broke off the loop.")


@pytest.fixture
def plugin():
    """Makes ``Odd``, a block of a plug-in with the methods given, known while the test runs."""
    known = registry()

    def make(**methods: Any) -> type[Block]:
        body = {"forward": lambda self, xp, x: x, **methods, "__doc__": "Odd.", "__module__": "odd"}
        cls = type("Odd", (Block,), body)
        known.add(cls, "plug-in 'odd' of odd 1.0 (odd)")
        return cls

    yield make
    known._classes.pop("Odd", None)
    for problem in known.failures.pop("Odd", ()):
        known.problems.remove(problem)


def drawn(cls: type[Block]):
    """A variable, the block ``it`` and a loss."""
    made = build(loss(variable("w", [1.0, 2.0]), name="end"))
    made = apply(made, AddBlock("it", cls(), Point(0.0, 200.0))).after
    return apply(made, Connect(PortName("w", "out"), PortName("it", "x"))).after


@pytest.mark.parametrize("end", ["newer", "cancel", "shutdown"])
def test_a_loop_of_a_plug_in_is_broken_off_where_nobody_waits_for_it(qtbot, end):
    worker, results = Worker(), []
    worker.finished.connect(lambda kind, result: results.append((kind, result)))
    worker.submit("a", lambda superseded: guarded(loop))
    STARTED.get(timeout=60)
    thread = worker._thread
    if end == "shutdown":
        worker.shutdown()
        thread.join(60)
        assert not thread.is_alive()
        return
    if end == "newer":
        worker.submit("a", lambda superseded: "new")
    else:
        worker.cancel("a")
        worker.submit("b", lambda superseded: "new")
    qtbot.waitUntil(lambda: bool(results))
    assert results == [("a" if end == "newer" else "b", "new")]
    worker.shutdown()


def test_a_job_that_ends_the_program_ends_only_itself(qtbot):
    worker, results = Worker(), []
    worker.finished.connect(lambda kind, result: results.append(result))

    def leave(superseded):
        raise SystemExit(3)

    worker.submit("a", leave)
    qtbot.waitUntil(lambda: len(results) == 1)
    assert "SystemExit(3)" in str(results[0])
    worker.submit("a", lambda superseded: "next")
    qtbot.waitUntil(lambda: results[1:] == ["next"])
    worker.shutdown()


def test_a_label_that_fails_is_the_name_of_the_type(plugin):
    def label(self: Block) -> str:
        raise SystemExit

    diagram = drawn(plugin(label=label))
    result = Evaluation()(diagram)
    scene = Scene(diagram, "main")
    look = look_of(PageResult(scene, result), scene.names.index("it"), dimmed=False)
    assert look.label == "Odd"
    found = [d for d in result.diagnostics if d.code == "plugin-failed"]
    assert len(found) == 1 and found[0].location.block == "it"
    assert found[0].what.startswith("Plug-in 'odd' of odd 1.0 (odd): label() of Odd failed")


def test_what_could_not_be_loaded_is_listed_with_every_diagram(monkeypatch):
    monkeypatch.setattr(registry(), "problems", ["Plug-in 'bad' failed: no licence."])
    result = Evaluation()(build(loss(variable("w", [1.0]))))
    assert [d.what for d in result.diagnostics if d.code == "plugin-left-out"] == [
        "Plug-in 'bad' failed: no licence."
    ]


def test_a_window_with_a_loop_in_a_block_takes_the_next_edit(plugin, window, qtbot):
    diagram = drawn(plugin(forward=lambda self, xp, x: loop()))
    window.document._begin(diagram, None)
    STARTED.get(timeout=60)
    assert window.evaluator.busy
    assert window.document.apply(RemoveBlocks(["it"]))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert window.evaluator.result.diagnostics == ()


def test_a_window_shows_a_block_whose_methods_all_fail(plugin, window, qtbot):
    def fail(self: Block, *arguments: Any) -> Any:
        raise SystemExit

    def forward(self: Block, xp: Any, x: Any) -> Any:
        raise SystemExit

    window.document._begin(drawn(plugin(label=fail, infer=fail, forward=forward)), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.grab()
    shown = [str(problem) for problem in window.problems.table.problems]
    assert sum("label() of Odd failed" in problem for problem in shown) == 1
    assert sum("forward failed: SystemExit()" in problem for problem in shown) == 1
    assert window.evaluator.result.values["w.out"].tolist() == [1.0, 2.0]
