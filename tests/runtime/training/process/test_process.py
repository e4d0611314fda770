"""Courses in a process of their own: the same bits, and nothing left behind."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from queue import Queue

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import FileError
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.data.files.access import allow_data, allowed_data
from gradwire.runtime.data.progress import listening
from gradwire.runtime.diagram import AddBlock, apply, load
from gradwire.runtime.diagram.optimisers import SGDMethod
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session, compilation
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.training.course import Course, stored
from gradwire.runtime.training.curves import CurveRecording
from gradwire.runtime.training.process.following import FollowedCourse
from gradwire.runtime.training.process.messages import (
    Begin,
    CoursesReport,
    Go,
    Numbers,
    Play,
    Stop,
    Take,
    WantFrame,
    packed,
)
from gradwire.runtime.training.process.process import CourseProcess, Ended, Processes
from gradwire.runtime.training.trainer import Trainer
from tests.blocks.installing import install, site

__all__ = ["site"]

DIAGRAMS = Path(__file__).parents[4] / "assets" / "diagrams"
PATIENCE = 60.0
GIVEN = Training(optimisers=(OptimiserRule(name="SGD", method=SGDMethod(lr=0.01)),))

NUMPY = EngineChoice()


def model(start=4.0):
    return b.build(b.loss(b.square(b.variable("w", start) - 1.0), name="L"))


class Watched:
    """A process, and what it answers."""

    serials = count(1)  # a process may have served another test before

    def __init__(self, process):
        self.process, self.answers = process, Queue()
        process.listener = self.answers.put
        self.courses = ()

    def next(self):
        """The next answer; courses follow it."""
        answer = self.answers.get(timeout=PATIENCE)
        if isinstance(answer, CoursesReport):
            for followed in zip(self.courses, answer.events, answer.about, strict=False):
                followed[0].follow(*followed[1:])
        return answer

    def end(self):
        """The report at the end of the last job."""
        while not (isinstance(found := self.next(), Ended) or found.is_end):
            pass
        return found

    def begin(self, *diagrams, allowed=(), states=(), past=(), training=GIVEN, engine=NUMPY):
        names = [f"run {i}" for i in range(len(diagrams))]
        given = diagrams, names, training, 1 << 20, allowed, states, past, engine
        begin = Begin(next(self.serials), *given)
        self.process.send(begin)
        found = self.end()
        if isinstance(found, CoursesReport):
            pairs = zip(names, found.about, strict=False)
            self.courses = [FollowedCourse(CurveRecording(name), about) for name, about in pairs]
        return found

    def play(self, most=None, pace=None, name="again"):
        self.process.send(Play(next(self.serials), [name] * len(self.courses), pace, most))

    def go(self, step):
        self.process.send(Go(next(self.serials), step))
        return self.end()


@pytest.fixture(scope="module")
def processes():
    made = Processes()
    yield made
    made.end()


@pytest.fixture
def watched(processes):
    process = processes.lend()
    yield Watched(process)
    processes.take_back(process, is_idle=True)


@pytest.mark.night
@pytest.mark.parametrize("name", ["training_spirals", "training_gan", "training_adding"])
def test_the_bits_are_those_of_a_training_without_a_window(watched, name):
    diagram = load(DIAGRAMS / f"{name}.gradwire.json")
    watched.begin(diagram)
    watched.play(most=12)
    (lane,) = watched.end().content.lanes
    trainer = Trainer(Session(diagram, partial=True))
    records = list(trainer.run(12))
    state = trainer.state()
    assert lane.state.iterations == lane.step == 12
    assert lane.state.about == state.about
    assert lane.state.arrays.keys() == state.arrays.keys()
    for key, array in state.arrays.items():
        assert lane.state.arrays[key].tobytes() == array.tobytes(), key
    assert lane.losses == records[-1].losses
    for loss in watched.courses[0].recording.losses:
        shown = watched.courses[0].recording.points(loss)
        assert shown.steps.tolist() == list(range(1, 13))
        assert shown.mean.tolist() == [record.losses[loss] for record in records]


@pytest.mark.night
def test_a_course_begins_with_values_that_another_reached(watched):
    diagram = load(DIAGRAMS / "training_spirals.gradwire.json")  # whose blocks own their variables
    watched.begin(diagram)
    watched.play(most=3)
    reached = stored(diagram, watched.end().content.lanes[0].values)
    begun = watched.begin(reached)
    assert begun.problem == ""
    local = Course(reached, GIVEN).values()
    for at, array in begun.content.lanes[0].values.items():
        assert array.tobytes() == local[at].tobytes()
    assert pickle.loads(packed(reached)) == reached


@pytest.mark.night
def test_a_frame_comes_only_when_it_is_wanted(watched):
    watched.begin(model())
    watched.play()
    first = watched.next()
    assert not first.is_end
    assert first.content is not None
    later = watched.next()  # numbers of so many steps that they are sent without a frame
    assert later.content is None
    assert later.about[0].step > first.about[0].step
    watched.process.send(WantFrame())
    while (found := watched.next()).content is None:
        pass
    assert not found.is_end
    watched.process.send(Stop())
    assert watched.end().content.step >= found.content.step


def test_a_course_goes_back_and_on_as_another_run(watched):
    watched.begin(model())
    watched.play(most=20)
    watched.end()
    (course,) = watched.courses
    first = course.recording
    assert watched.go(7).content.step == 7
    assert (course.step, course.furthest) == (7, 20)
    watched.play(most=5, name="second")
    assert watched.end().content.step == 12
    assert (first.name, first.step) == ("run 0", 20)
    assert (course.recording.name, course.recording.step) == ("second", 12)
    assert course.states.kept == 13


def test_an_edit_of_numbers_is_taken_and_another_ends_the_run(watched):
    before, after = model(), model(start=9.0)
    other = b.build(b.loss(b.variable("v", 1.0), name="L"))
    watched.begin(before)
    watched.play()
    watched.process.send(Take([(before, after)]))
    while (found := watched.next()).content is None or not found.content.edits:
        watched.process.send(WantFrame())
    assert not found.is_end
    watched.process.send(Take([(after, other)]))
    frame = watched.end().content
    assert frame.is_structural
    assert frame.edits == 2


@pytest.mark.night
def test_courses_compute_by_the_engine_they_begin_with(watched):
    pytest.importorskip("jax")
    diagram, told = load(DIAGRAMS / "training_spirals.gradwire.json"), []
    with compilation.listening(told.append):
        watched.begin(diagram, engine=EngineChoice("jax", "cpu"))
        watched.play(most=3)
        (lane,) = watched.end().content.lanes
    assert [each.seconds is None for each in told[:2]] == [True, False]
    *_, expected = Trainer(Session(diagram, partial=True)).run(3)
    assert lane.losses == pytest.approx(expected.losses, rel=1e-5)
    refused = watched.begin(diagram, engine=EngineChoice(device="gpu"))
    assert "takes no device" in refused.problem


@pytest.mark.night
def test_another_process_goes_on_where_one_was_killed(processes, watched):
    diagram = load(DIAGRAMS / "training_gan.gradwire.json")
    watched.begin(diagram)
    watched.play(most=8)
    (lane,) = watched.end().content.lanes
    watched.play()
    os.kill(watched.process.pid, signal.SIGKILL)
    ended = watched.end()
    assert isinstance(ended, Ended)
    assert ended.reason == (
        "its process was ended by SIGKILL, as the system does when memory runs out"
    )
    assert not watched.process.is_alive
    other = Watched(processes.lend())
    begun = other.begin(diagram, states=[lane.state])
    assert begun.about[0].states.first == 8
    other.play(most=4)
    (later,) = other.end().content.lanes
    trainer = Trainer(Session(diagram, partial=True))
    list(trainer.run(12))
    for key, array in trainer.state().arrays.items():
        assert later.state.arrays[key].tobytes() == array.tobytes(), key
    assert other.go(3).content.step == 8  # what came before is gone
    begun = other.begin(diagram, states=[later.state], past=[[lane.state]])
    assert begun.about[0].states.first == 8
    (earlier,) = other.go(10).content.lanes
    trainer = Trainer(Session(diagram, partial=True))
    list(trainer.run(10))
    for key, array in trainer.state().arrays.items():
        assert earlier.state.arrays[key].tobytes() == array.tobytes(), key
    processes.take_back(other.process, is_idle=True)


def test_a_diverging_training_says_where(watched):
    steep = Training(optimisers=(OptimiserRule(name="SGD", method=SGDMethod(lr=9.0)),))
    diagram = b.build(b.loss(b.log(b.variable("w", 1.0), name="log"), name="L"))
    watched.begin(diagram, training=steep)
    watched.play()
    frame = watched.end().content
    assert frame.place == "log"
    assert "not finite" in frame.problem
    assert frame.is_last


PLUGIN = """
from gradwire.blocks.block import Block

class Scaled(Block):
    "Scales."

    family = "arithmetic"

    def forward(self, xp, x):
        print("no answer")
        return {result}
"""


def with_plugin(site, name, result):
    install(site, name, PLUGIN.format(result=result), f"scaled = {name}:Scaled")
    scaled = importlib.import_module(name).Scaled()
    loss = b.loss(b.square(b.variable("w", 4.0) - 1.0), name="L")
    inner = apply(b.build(loss), AddBlock("scaled", scaled)).after
    ((target, source),) = ((t, s) for t, s in inner.main.wires.items() if t.block == "L")
    wired = {target: PortName("scaled", "out"), PortName("scaled", "x"): source}
    return inner.with_page("main", replace(inner.main, wires=inner.main.wires | wired))


@pytest.mark.night
def test_blocks_of_plugins_are_trained(processes, site):
    diagram = with_plugin(site, "tripled", "3.0 * x")
    processes.end()  # the spare one knows nothing of it
    other = Watched(processes.lend())
    assert other.begin(diagram).problem == ""
    other.play(most=5)
    frame = other.end().content
    local = Course(diagram, GIVEN)
    for _ in range(5):
        record = local.advance()
    assert frame.lanes[0].losses == record.losses
    processes.take_back(other.process, is_idle=False)


@pytest.mark.night
def test_a_plugin_that_fails_is_refused_in_words_and_the_next_job_is_done(processes, site):
    diagram = with_plugin(site, "broken", "1 // 0")
    processes.end()
    other = Watched(processes.lend())
    found = other.begin(diagram)
    assert found.problem == "There is no loss that SGD could follow. Add a Loss block."
    assert other.begin(model()).problem == ""
    other.play(most=3)
    assert other.end().content.step == 3
    processes.take_back(other.process, is_idle=False)


@pytest.mark.night
def test_a_diagram_without_variables_is_refused_in_words(watched):
    found = watched.begin(b.build(b.loss(b.constant("c", 1.0), name="L")))
    assert "There is no variable to train" in found.problem


def reads(path):
    block = Dataset(source="csv", path=str(path), columns={"x": {}}, batch=2)
    return apply(b.build(b.loss(b.variable("w", 1.0), name="L")), AddBlock("data", block)).after


def test_the_files_that_the_user_allowed_are_read_there(watched, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n2\n3\n")
    allow_data(path)
    assert path.resolve() in allowed_data()
    watched.begin(reads(path), allowed=allowed_data())
    watched.play(most=2)
    frame = watched.end().content
    assert (frame.step, frame.problem) == (2, "")


def test_reading_is_told_here_and_cancelled_from_here(watched, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("x\n" + "1\n" * 20_000)
    heard = []

    def listen(name, fraction):
        heard.append((name, fraction))
        raise FileError("No more of it.")

    with listening(listen):
        watched.begin(reads(path), allowed=[path])
    assert heard[0][0] == "many.csv"
    assert 0.0 < heard[0][1] <= 1.0


def test_a_diagram_that_cannot_be_sent_ends_in_words(processes):
    other = Watched(processes.lend())
    found = other.begin(lambda: None)
    assert isinstance(found, Ended)
    assert "can't be sent" in found.reason
    processes.take_back(other.process, is_idle=False)


def test_an_idle_process_is_lent_again_and_a_busy_one_ends(processes):
    first = processes.lend()
    processes.take_back(first, is_idle=True)
    assert processes.lend() is first
    processes.take_back(first, is_idle=False)
    first.wait()
    assert not first.is_alive


CHILD = """
import sys; sys.path[:] = {path!r}
from gradwire.runtime.training.process.process import PROCESSES
PROCESSES.lend()
print("ready", flush=True)
{then}
"""


@pytest.mark.night
@pytest.mark.parametrize("then", ["sys.stdin.read()", "", "raise SystemExit(3)"])
def test_it_ends_with_whoever_started_it_however_that_ends(then):
    code = CHILD.format(path=sys.path, then=then)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:  # fmt: skip
        assert parent.stdout.readline() == b"ready\n"
        if then.startswith("sys.stdin"):
            parent.kill()
        # Standard error is that of both: it is at its end once both have ended.
        assert parent.stderr.read() == b""


@pytest.mark.night
def test_numbers_reach_a_followed_course_once(watched):
    watched.begin(model())
    watched.play(most=3)
    end = watched.end()
    assert [type(event) for event in end.events[0]].count(Numbers) <= 4
    local = Course(model(), GIVEN)
    for _ in range(3):
        local.advance()
    found, expected = (c.recording.points("L.out") for c in (watched.courses[0], local))
    np.testing.assert_array_equal(found.mean, expected.mean)
    assert isinstance(watched.process, CourseProcess)
