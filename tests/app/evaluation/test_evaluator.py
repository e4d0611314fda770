"""Results of the newest diagram only, whatever happens on the way."""

import gc
import threading
import weakref

import numpy as np
import pytest
from PySide6.QtCore import Qt

from gradwire.app.evaluation.evaluator import Evaluation, Evaluator, evaluate
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.blocks.library.arithmetic import Mul
from gradwire.runtime.build import (
    build,
    display,
    gradient_scale,
    log,
    loss,
    mean,
    mul,
    random_normal,
    stop_gradient,
    variable,
    where,
)
from gradwire.runtime.diagram import AddBlock, Diagram, MoveBlocks, Point, SetParameters, apply
from gradwire.runtime.engine import lower
from gradwire.runtime.flow import BadgeKind, State


def seed() -> Diagram:
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(stop_gradient(3 * b) + a), title="Seed")


@pytest.fixture
def started():
    """Starts evaluators; lets their runs end, and their threads."""
    made = []

    def start(run=None):
        made.append((Evaluator(run), run))
        return made[-1][0]

    yield start
    for evaluator, run in made:
        if isinstance(run, Slow):
            run.permits.release(1000)
        evaluator.shutdown()
        evaluator._worker._thread.join(60)


class Slow:
    """A run that waits for a permit before it ends, one for each run."""

    def __init__(self):
        self.permits = threading.Semaphore(0)
        self.began, self.ended = [], []

    def __call__(self, diagram, superseded):
        self.began.append(diagram.title)
        self.permits.acquire(timeout=60)  # fails the test instead of blocking it for ever
        self.ended.append(diagram.title)
        return EvaluationResult(diagram)


def titled(title: str) -> Diagram:
    return Diagram({"main": seed().with_page("main", seed().main).main}, title=title)


def different(number: int) -> Diagram:
    diagram = apply(seed(), SetParameters("a", {"value": [[float(number), 0.0]]})).after
    return Diagram(diagram.pages, title=str(number))


class TestEvaluate:
    def test_the_seed_diagram(self):
        result = evaluate(seed())
        (head,) = result.losses
        assert result.values[head].tolist() == [[1.0, 5.0]]
        assert result.gradients["a"].tolist() == [[1.0, 1.0]]
        assert result.gradients["b"] is None
        stopped = [wire for wire, state in result.states.items() if state is State.STOPPED]
        assert stopped
        assert "stop_gradient1" in result.verdict(stopped[0]).sentence
        assert result.error is None

    def test_what_can_run_runs(self):
        diagram = apply(seed(), AddBlock("mul9", Mul())).after
        result = evaluate(diagram)
        assert result.error is None
        assert any(found.location.block == "mul9" for found in result.diagnostics)
        assert result.gradients["a"] is not None

    def test_nothing_at_all_is_no_error(self):
        result = evaluate(Diagram())
        assert (result.error, dict(result.values), result.losses) == (None, {}, ())

    def test_a_superseded_run_stops_on_the_way(self):
        assert evaluate(seed(), superseded=lambda: True) is None

    def test_whatever_is_raised_is_told(self, monkeypatch):
        monkeypatch.setattr("gradwire.app.evaluation.evaluator.Session", lambda *a, **k: 1 / 0)
        assert "ZeroDivisionError" in evaluate(seed()).error


class TestEvaluation:
    def test_another_number_is_not_traced_again(self, monkeypatch):
        traced = []
        monkeypatch.setattr(
            "gradwire.runtime.engine.session.programs.lower",
            lambda *given: traced.append(given) or lower(*given),
        )
        evaluation = Evaluation()
        for number in (1, 2, 3):
            result = evaluation(different(number))
            assert result.diagram.title == str(number)
            assert result.values["a.out"].tolist() == [[number, 0.0]]
        assert len(traced) == 1
        evaluation(apply(different(3), AddBlock("mul9", Mul())).after)
        assert len(traced) == 2

    def test_each_result_is_what_it_would_be_alone(self):
        evaluation = Evaluation()
        more = apply(different(4), AddBlock("mul9", Mul())).after
        for diagram in (different(1), more, different(2), Diagram(), different(3), different(5)):
            found, alone = evaluation(diagram), evaluate(diagram)
            assert found.error == alone.error
            assert found.diagnostics == alone.diagnostics
            assert found.states == alone.states and found.norms == alone.norms
            assert {k: v.tolist() for k, v in found.values.items()} == {
                k: v.tolist() for k, v in alone.values.items()
            }

    def test_after_a_failure_it_starts_again(self, monkeypatch):
        evaluation = Evaluation()
        evaluation(seed())
        with monkeypatch.context() as patched:
            patched.setattr(
                "gradwire.app.evaluation.evaluator.Session.update", lambda *given: 1 / 0
            )
            assert "ZeroDivisionError" in evaluation(seed()).error
        assert evaluation(seed()).error is None


def test_a_request_brings_a_result(qtbot, started):
    evaluator = started()
    with qtbot.waitSignal(evaluator.resultChanged) as caught:
        evaluator.request(seed())
        assert evaluator.busy
    assert not evaluator.busy
    assert evaluator.result is caught.args[0]
    assert np.array_equal(evaluator.result.gradients["a"], [[1.0, 1.0]])


def test_a_request_for_what_is_shown_changes_nothing(qtbot, started):
    evaluator, shown = started(), []
    diagram = seed()
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.request(diagram)
    evaluator.resultChanged.connect(shown.append)
    evaluator.request(evaluator.result.diagram)
    assert not evaluator.busy
    assert not shown


def test_only_the_newest_request_is_shown_and_those_between_never_run(qtbot, started):
    run = Slow()
    evaluator, shown = started(run), []
    evaluator.resultChanged.connect(lambda result: shown.append(result.diagram.title))
    evaluator.request(different(1))
    qtbot.waitUntil(lambda: run.began == ["1"])
    for number in (2, 3, 4):
        evaluator.request(different(number))
    run.permits.release(2)
    qtbot.waitUntil(lambda: not evaluator.busy)
    qtbot.wait(50)
    assert run.began == ["1", "4"]
    assert shown == ["4"]


def test_a_result_that_was_posted_before_a_newer_request_is_dropped(qtbot, started):
    run = Slow()
    evaluator, shown = started(run), []
    evaluator.resultChanged.connect(lambda result: shown.append(result.diagram.title))
    evaluator.request(different(1))
    posted = threading.Event()
    direct = Qt.ConnectionType.DirectConnection
    evaluator._worker._ended.connect(lambda *result: posted.set(), direct)
    run.permits.release()
    assert posted.wait(60)  # which handles no events: the result stays in the queue
    evaluator.request(different(2))
    run.permits.release()
    qtbot.waitUntil(lambda: not evaluator.busy)
    assert shown == ["2"]


def test_requests_do_not_wait_for_the_run(qtbot, started):
    run = Slow()
    evaluator = started(run)
    for number in range(20):
        evaluator.request(different(number))
    assert run.ended == []
    run.permits.release(20)
    qtbot.waitUntil(lambda: not evaluator.busy)


def test_a_moved_block_runs_nothing_and_the_result_follows(qtbot, started):
    run = Slow()
    evaluator = started(run)
    run.permits.release()
    first = seed()
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.request(first)
    moved = apply(first, MoveBlocks({"a": Point(1.0, 1.0)})).after
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.request(moved)
    assert evaluator.result.diagram is moved
    assert len(run.began) == 1


def test_a_block_that_is_moved_during_a_run_does_not_begin_it_again(qtbot, started):
    run = Slow()
    evaluator = started(run)
    first = seed()
    evaluator.request(first)
    moved = apply(first, MoveBlocks({"a": Point(1.0, 1.0)})).after
    evaluator.request(moved)
    with qtbot.waitSignal(evaluator.resultChanged):
        run.permits.release()
    assert evaluator.result.diagram is moved
    assert len(run.began) == 1


def test_a_run_that_raises_does_not_end_the_thread(qtbot, started):
    def run(diagram, superseded):
        if diagram.title == "1":
            raise RuntimeError("the plug-in fell over")
        return EvaluationResult(diagram)

    evaluator, told = started(run), []
    evaluator.problem.connect(told.append)
    evaluator.request(different(1))
    qtbot.waitUntil(lambda: not evaluator.busy)
    assert told == ["the plug-in fell over"]
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.request(different(2))


def test_shutdown_drops_what_is_under_way(qtbot, started):
    run = Slow()
    evaluator, shown = started(run), []
    evaluator.resultChanged.connect(shown.append)
    evaluator.request(different(1))
    qtbot.waitUntil(lambda: bool(run.began))
    threading.Timer(0.1, run.permits.release).start()
    evaluator.shutdown()
    qtbot.wait(50)
    assert shown == []


def test_shutdown_does_not_wait_for_a_run_that_never_ends(qtbot, started, monkeypatch):
    monkeypatch.setattr("gradwire.app.evaluation.worker.PATIENCE", 0.1)
    run = Slow()
    evaluator = started(run)
    evaluator.request(different(1))
    qtbot.waitUntil(lambda: bool(run.began))
    evaluator.shutdown()
    assert run.ended == []


def test_no_result_outlives_its_successor(qtbot, started):
    evaluator = started()
    kept = []
    for number in range(3):
        with qtbot.waitSignal(evaluator.resultChanged):
            evaluator.request(different(number))
        kept.append(weakref.ref(evaluator.result))
    qtbot.wait(20)
    gc.collect()
    assert [ref() is None for ref in kept] == [True, True, False]


def test_random_numbers_are_those_of_the_step(qtbot, started):
    evaluator, diagram = started(), build(loss(mean(random_normal(shape=(4,), name="draw"))))
    drawn = []
    for step in (0, 7, 0):
        with qtbot.waitSignal(evaluator.resultChanged):
            evaluator.set_step(step, None)
            evaluator.refresh(diagram) if not drawn else evaluator.request(diagram)
        drawn.append(evaluator.result.values["draw.out"].tolist())
    assert drawn[0] == drawn[2] != drawn[1]
    with qtbot.assertNotEmitted(evaluator.busyChanged):
        evaluator.request(diagram)  # nothing is outdated


def test_what_is_no_derivative_is_known_before_there_is_a_loss():
    x = variable("x", [1.0, 2.0])
    scaled = mul(gradient_scale(x, scale=0.5, name="half"), gradient_scale(x, name="same"))
    result = evaluate(build(scaled))
    badges = result.badges.about
    assert result.losses == ()
    assert [badge.mark for badge in badges["half"]] == [BadgeKind.SURROGATE]
    assert "same" not in badges


@pytest.mark.parametrize(
    ("used", "severity", "consequence"),
    [(True, "warning", "That is why loss is not finite."), (False, "info", "No loss is affected.")],
)
def test_the_first_value_that_is_not_finite_is_a_problem(used, severity, consequence):
    x = variable("x", -1.0)
    made = log(x, name="made")
    result = evaluate(build(loss(mul(where(used, made, x), 2.0)), display(made)))
    (found,) = [problem for problem in result.diagnostics if problem.code == "value-not-finite"]
    assert (found.severity, found.location.block) == (severity, "made")
    assert found.what == f"made is NaN: log of −1 (x). {consequence}"


def test_a_cancelled_run_is_given_up_inside_its_kernel(qtbot, started):
    run = Slow()
    evaluator, shown = started(run), []
    evaluator.resultChanged.connect(lambda result: shown.append(result))
    evaluator.request(different(1))
    qtbot.waitUntil(lambda: run.began == ["1"])
    stuck = evaluator._worker._thread
    evaluator.cancel()
    assert not evaluator.busy
    assert [result.error for result in shown] == ["The evaluation was cancelled."]
    evaluator.request(different(2))
    qtbot.waitUntil(lambda: run.began == ["1", "2"])  # while the first is still in its kernel
    assert run.ended == []
    run.permits.release(2)
    qtbot.waitUntil(lambda: not evaluator.busy)
    stuck.join(60)
    assert not stuck.is_alive()
    qtbot.wait(1)
    assert [result.diagram.title for result in shown] == ["1", "2"]


def test_a_cancelled_evaluation_keeps_its_session_to_itself(qtbot, started):
    evaluator = started()
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.request(seed())
    session = evaluator._run._session
    evaluator.request(different(3))
    evaluator.cancel()
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.refresh(different(4))
    assert evaluator.result.error is None
    assert evaluator._run._session is not session


def test_there_may_be_nothing_to_cancel(qtbot, started):
    evaluator = started()
    with qtbot.waitSignal(evaluator.resultChanged):
        evaluator.request(seed())
    before = evaluator.result
    evaluator.cancel()
    assert evaluator.result is before


def test_single_losses_are_measured_once_the_hand_rests(qtbot, started):
    a = variable("a", [1.0, -2.0])
    diagram = build(loss(mean(a), name="one"), loss(mean(3 * a), name="two"))
    evaluator = started()
    evaluator.request(diagram)
    qtbot.waitUntil(lambda: not evaluator.busy)
    flow = evaluator.result.flow

    def measured():
        return {str(loss) for loss in flow._zero_shares if loss[0]}

    qtbot.waitUntil(lambda: len(measured()) == 2)
    assert not evaluator.busy
    alone = evaluate(diagram).of(flow.losses[0])
    assert evaluator.result.of(flow.losses[0]).norms == alone.norms


def test_what_waits_for_a_rest_makes_way_for_a_request(qtbot, started):
    a = variable("a", [1.0, -2.0])
    diagram = build(loss(mean(a), name="one"), loss(mean(3 * a), name="two"))
    result = evaluate(diagram)
    computed = len(result.flow._zero_shares)
    result.prepare_losses(lambda: True)
    assert len(result.flow._zero_shares) == computed
    result.prepare_losses(lambda: False)
    assert len(result.flow._zero_shares) == computed + 2
