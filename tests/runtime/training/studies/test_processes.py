"""Trainings in processes: the same numbers, and a process that ends takes one training with it."""

from __future__ import annotations

import os

import pytest

from gradwire.runtime import interpreters
from gradwire.runtime.training.studies import processes
from gradwire.runtime.training.studies.files import Variant
from gradwire.runtime.training.studies.processes import in_processes
from gradwire.runtime.training.studies.results import carry_out
from gradwire.runtime.training.studies.task import StudyWork, TrainingTask, in_this_process
from gradwire.runtime.training.studies.varying import plan
from tests.runtime.training.studies.studies import line, noisy, numbers

SHORT, ENDLESS = TrainingTask(Variant(), 0, 2), TrainingTask(Variant(), 0, 10_000_000)


@pytest.fixture
def children(monkeypatch):
    """The processes that were started."""
    started = []

    def start(*arguments):
        started.append(interpreters.start(*arguments))
        return started[-1]

    monkeypatch.setattr(processes, "start", start)
    return started


@pytest.mark.night
def test_the_numbers_are_those_of_one_process_bit_by_bit():
    varied = {"lr": [0.01, 0.1], "hidden.units": [2, 3], "seed": [0, 1]}
    work, planned = StudyWork.on(noisy()), plan(noisy(), varied)
    alone = carry_out(work, varied, planned, in_this_process)
    found = carry_out(work, varied, planned, lambda work, tasks: in_processes(work, tasks, 2))
    assert alone.is_complete and numbers(found) == numbers(alone)
    assert len({trained.measured["loss.out"] for _, trained in alone.ended()}) == len(planned)


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="ends a process by a signal")
def test_a_process_that_ends_takes_one_training_with_it(children):
    tasks, ended = [ENDLESS, *[SHORT] * 5], {}
    for number, trained in in_processes(StudyWork.on(line()), tasks, 2):
        ended[number] = trained
        if len(ended) == 5:  # what runs now is the training without end
            for child in children:
                child.kill()
    assert ended.keys() == set(range(6))
    assert {ended[number].status for number in range(1, 6)} == {"trained"}
    assert ended[0].status == "failed" and ended[0].seconds > 0
    assert "SIGKILL, as the system does when memory runs out" in ended[0].reason


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="ends a process by a signal")
def test_another_process_goes_on_with_the_next_training(children):
    ended = {}
    tasks = [SHORT, ENDLESS, SHORT, SHORT]
    for number, trained in in_processes(StudyWork.on(line()), tasks, 1):
        ended[number] = trained.status
        if number == 0:
            (child,) = children
            child.kill()
    assert len(children) == 2
    assert ended == {0: "trained", 1: "failed", 2: "trained", 3: "trained"}


def test_stopping_ends_all_processes(children):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 2

    assert list(in_processes(StudyWork.on(line()), [ENDLESS] * 3, 2, stop)) == []
    assert len(children) == 2 and None not in [child.poll() for child in children]
