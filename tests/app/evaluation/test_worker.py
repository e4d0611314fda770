"""The worker: the newest job of each kind, and no result that nobody waits for."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest
from PySide6.QtCore import Qt

from gradwire.app.evaluation.worker import SessionWorker, Worker
from gradwire.app.services.background import Cancelled
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import Diagram, MoveBlocks, Point, SetParameters, apply
from gradwire.runtime.engine.interruption import Interrupted, until_cancelled

MANY = 1000


@pytest.fixture
def gate():
    """What ``held`` jobs wait for before they end."""
    permits = threading.Semaphore(0)
    yield permits
    permits.release(MANY)


@pytest.fixture
def worker(gate):
    made = SessionWorker()
    yield made
    gate.release(MANY)
    made.shutdown()
    if made._thread is not None:
        made._thread.join(60)


@pytest.fixture
def results(worker):
    """The kinds and results that the worker has reported."""
    found = []
    worker.finished.connect(lambda kind, result: found.append((kind, result)))
    return found


def held(gate, name, begun):
    def job(superseded):
        begun.append(name)
        gate.acquire(timeout=60)  # fails the test instead of blocking it for ever
        return name

    return job


def diagram(number: float = 1.0) -> Diagram:
    return build(loss(2 * variable("a", [number])))


def test_a_job_runs_on_another_thread_and_its_result_comes_on_this_one(qtbot, worker):
    seen = []
    worker.finished.connect(lambda *result: seen.append(threading.current_thread()))
    worker.submit("a", lambda superseded: seen.append(threading.current_thread()))
    assert worker.is_pending("a")
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen[0] is not seen[1] is threading.current_thread()
    assert not worker.is_pending("a")


def test_no_thread_runs_before_the_first_job(worker):
    assert worker._thread is None


def test_only_the_newest_of_a_kind_waits(qtbot, worker, gate, results):
    begun = []
    worker.submit("a", held(gate, "first", begun))
    qtbot.waitUntil(lambda: begun == ["first"])
    for name in ("second", "third"):
        worker.submit("a", held(gate, name, begun))
    gate.release(2)
    qtbot.waitUntil(lambda: not worker.is_pending("a"))
    assert begun == ["first", "third"]
    assert results == [("a", "third")]


def test_kinds_do_not_supersede_each_other_and_run_in_order(qtbot, worker, gate, results):
    begun = []
    worker.submit("a", held(gate, "first", begun))
    qtbot.waitUntil(lambda: bool(begun))
    worker.submit("b", held(gate, "b, old", begun))
    worker.submit("c", held(gate, "c", begun))
    worker.submit("b", held(gate, "b, new", begun))
    gate.release(3)
    qtbot.waitUntil(lambda: len(results) == 3)
    assert results == [("a", "first"), ("c", "c"), ("b", "b, new")]


@pytest.mark.parametrize("end", ["newer", "cancel", "shutdown"])
def test_a_job_under_way_learns_that_it_is_superseded(qtbot, worker, gate, results, end):
    begun, found, over = threading.Event(), [], threading.Event()
    posted = []
    worker._ended.connect(
        lambda serial, kind, result: posted.append(result), Qt.ConnectionType.DirectConnection
    )

    def job(superseded):
        found.append(superseded())
        begun.set()
        gate.acquire(timeout=60)
        found.append(superseded())
        over.set()

    worker.submit("a", job)
    assert begun.wait(60)
    worker.submit("b", lambda superseded: "b")
    if end == "newer":
        worker.submit("a", lambda superseded: "newer")
    elif end == "cancel":
        worker.cancel("a")
    else:
        threading.Timer(0.05, gate.release).start()
        worker.shutdown()
    gate.release()
    assert over.wait(60)
    qtbot.waitUntil(lambda: not (worker.is_pending("a") or worker.is_pending("b")))
    assert found == [False, True]
    assert None not in posted  # the window may be gone by then
    assert [result for kind, result in results if kind == "a"] == ["newer"] * (end == "newer")


@pytest.mark.parametrize("drop", ["cancel", "shutdown", "submit"])
def test_a_result_among_the_events_is_dropped_with_its_job(qtbot, worker, results, drop):
    posted = threading.Event()
    worker._ended.connect(lambda *result: posted.set(), Qt.ConnectionType.DirectConnection)
    worker.submit("a", lambda superseded: "late")
    assert posted.wait(60)  # which handles no events
    if drop == "submit":
        worker.submit("a", lambda superseded: "new")
    else:
        {"cancel": lambda: worker.cancel("a"), "shutdown": worker.shutdown}[drop]()
    qtbot.waitUntil(lambda: not worker.is_pending("a"))
    qtbot.wait(20)
    assert results == [("a", "new")] * (drop == "submit")


def test_a_job_that_was_cancelled_while_it_waited_never_runs(qtbot, worker, gate, results):
    begun = []
    worker.submit("a", held(gate, "first", begun))
    qtbot.waitUntil(lambda: bool(begun))
    worker.submit("b", held(gate, "second", begun))
    worker.cancel("b")
    assert not worker.is_pending("b")
    worker.submit("c", held(gate, "third", begun))
    gate.release(3)
    qtbot.waitUntil(lambda: not worker.is_pending("c"))
    assert begun == ["first", "third"]


def test_an_exception_is_a_result_and_the_next_job_runs(qtbot, worker, results):
    def job(superseded):
        raise RuntimeError("the plug-in fell over")

    worker.submit("a", job)
    qtbot.waitUntil(lambda: len(results) == 1)
    assert str(results[0][1]) == "the plug-in fell over"
    worker.submit("a", lambda superseded: "next")
    qtbot.waitUntil(lambda: results[-1] == ("a", "next"))


def test_shutdown_abandons_a_job_that_does_not_end(qtbot, worker, gate, monkeypatch):
    monkeypatch.setattr("gradwire.app.evaluation.worker.PATIENCE", 0.1)
    begun = []
    worker.submit("a", held(gate, "first", begun))
    qtbot.waitUntil(lambda: bool(begun))
    worker.shutdown()
    assert worker._thread.is_alive()
    worker.submit("a", held(gate, "second", begun))
    assert not worker.is_pending("a")
    gate.release(2)
    worker._thread.join(60)
    assert begun == ["first"]


def test_the_thread_keeps_no_result(qtbot):
    worker, kept = Worker(), []

    class Answer:
        pass

    def job(superseded):
        answer = Answer()
        kept.append(weakref.ref(answer))
        return answer

    worker.submit("a", job)
    qtbot.waitUntil(lambda: not worker.is_pending("a"))
    qtbot.wait(20)
    gc.collect()
    assert kept[0]() is None
    worker.shutdown()


class TestQueries:
    def answer(self, qtbot, worker, shown, query=lambda session: session):
        with qtbot.waitSignal(worker.finished) as caught:
            worker.query("a", shown, query)
        return caught.args[1]

    def test_a_query_gets_a_session_of_its_diagram(self, qtbot, worker):
        session = self.answer(qtbot, worker, diagram(3.0))
        assert session.diagram.main.blocks["a"].value.array.tolist() == [3.0]

    def test_diagrams_of_the_same_meaning_share_a_session(self, qtbot, worker):
        shown = diagram()
        first = self.answer(qtbot, worker, shown)
        moved = apply(shown, MoveBlocks({"a": Point(5.0, 5.0)})).after
        assert self.answer(qtbot, worker, moved) is first
        other = apply(shown, SetParameters("a", {"value": [7.0]})).after
        assert self.answer(qtbot, worker, other) is not first

    def test_a_query_that_raises_leaves_no_session_behind(self, qtbot, worker):
        shown = diagram()
        first = self.answer(qtbot, worker, shown)
        assert isinstance(self.answer(qtbot, worker, shown, lambda session: 1 / 0), Exception)
        assert self.answer(qtbot, worker, shown) is not first


def test_an_abandoned_job_holds_up_no_other(qtbot, worker, results, gate):
    begun = []
    worker.submit("a", held(gate, "long", begun))
    qtbot.waitUntil(lambda: begun == ["long"])
    stuck = worker._thread
    worker.abandon()
    assert not worker.is_pending("a")
    with qtbot.waitSignal(worker.finished):
        worker.submit("a", lambda superseded: "next")
    cancelled, following = results
    assert isinstance(cancelled[1], Cancelled)
    assert following == ("a", "next")
    assert stuck.is_alive()
    gate.release()
    stuck.join(60)
    assert not stuck.is_alive()
    qtbot.wait(1)
    assert results == [cancelled, following]


def test_a_superseded_job_is_interrupted_at_its_next_step(qtbot, worker, results, gate):
    ended = []

    def steps(superseded):
        gate.acquire(timeout=60)
        try:
            for _ in until_cancelled(range(10)):
                pass
        except Interrupted:
            ended.append("interrupted")
            raise

    worker.submit("a", steps)
    worker.submit("a", lambda superseded: "newer")
    with qtbot.waitSignal(worker.finished):
        gate.release(MANY)
    assert results == [("a", "newer")]
    assert ended in ([], ["interrupted"])  # or it never began


KERNEL = """
import sys
import numpy as np
from PySide6.QtCore import QCoreApplication
from gradwire.app.evaluation.worker import Worker

application, worker = QCoreApplication([]), Worker()
a = np.ones((12_000, 12_000), np.float32)

def product(superseded):
    print("begun", flush=True)
    a @ a
    print("the kernel has ended", flush=True)

worker.submit("a", product)
input()
worker.abandon()
worker.shutdown()
print(np.ones((50, 50)).sum())
sys.exit(7)
"""


@pytest.mark.night
def test_a_process_ends_cleanly_while_an_abandoned_kernel_runs():
    process = subprocess.Popen(
        [sys.executable, "-c", KERNEL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout.readline() == "begun\n"
        out, err = process.communicate("go\n", timeout=120)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (7, "2500.0\n", "")
