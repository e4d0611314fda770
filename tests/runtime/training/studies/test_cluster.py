"""Trainings on a cluster of Dask: the same numbers, and clear words where there is no cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from gradwire.blocks.errors import RunError
from gradwire.runtime.training.studies import cluster
from gradwire.runtime.training.studies.cluster import on_cluster
from gradwire.runtime.training.studies.files import Variant
from gradwire.runtime.training.studies.results import carry_out
from gradwire.runtime.training.studies.task import StudyWork, TrainingTask, in_this_process
from gradwire.runtime.training.studies.varying import plan
from tests.runtime.training.studies.studies import line, noisy, numbers

SHORT, ENDLESS = TrainingTask(Variant(), 0, 2), TrainingTask(Variant(), 0, 10_000_000)


def started(workers):
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler whose two workers are processes of this machine."""
    with started(2) as local:
        yield local.scheduler_address


@pytest.mark.night
def test_the_numbers_are_those_of_one_process_bit_by_bit(scheduler):
    varied = {"lr": [0.01, 0.1], "hidden.units": [2, 3], "seed": [0, 1]}
    work, planned = StudyWork.on(noisy()), plan(noisy(), varied)
    alone = carry_out(work, varied, planned, in_this_process)
    found = carry_out(work, varied, planned, lambda work, tasks: on_cluster(work, tasks, scheduler))
    assert found.is_complete and numbers(found) == numbers(alone)


def test_what_goes_wrong_in_a_training_is_said_and_the_others_go_on(scheduler):
    tasks = [TrainingTask(Variant(set={"hidden": {"units": 0}})), SHORT]
    ended = dict(on_cluster(StudyWork.on(noisy()), tasks, scheduler))
    assert [ended[number].status for number in (0, 1)] == ["failed", "trained"]
    assert ended[0].reason


def test_stopping_starts_no_further_training_and_leaves_what_has_ended(scheduler):
    ended = []
    for number, trained in on_cluster(
        StudyWork.on(line()), [SHORT] * 6, scheduler, lambda: bool(ended)
    ):
        assert trained.status == "trained"
        ended.append(number)
    # Both workers may have ended theirs when it is asked.
    assert ended and set(ended) <= {0, 1}


def end_what_trains(address):
    """End the worker that trains first, in the middle of a round."""
    with Client(address, set_as_default=False) as client:
        for _ in range(2400):
            if "_rounds" in str(client.call_stack()):
                break
            time.sleep(0.05)
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="ends a process by a signal")
def test_a_worker_that_dies_fails_its_training_alone():
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), started(1) as local:
        address = local.scheduler_address
        ending = threading.Thread(target=end_what_trains, args=(address,))
        ending.start()
        ended = dict(on_cluster(StudyWork.on(line()), [ENDLESS, SHORT, SHORT], address))
        ending.join()
    assert ended[0].status == "failed" and "KilledWorker" in ended[0].reason
    assert (ended[1].status, ended[2].status) == ("trained", "trained")


@pytest.mark.parametrize("address", ["", "local", "tcp://", "tcp://nowhere", "udp://127.0.0.1:80"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(RunError, match="No scheduler of Dask answers at"):
        list(on_cluster(StudyWork.on(line()), [SHORT], address))


def test_a_scheduler_that_does_not_answer_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(RunError, match=r"answers at.*dask scheduler"):
        list(on_cluster(StudyWork.on(line()), [SHORT], f"tcp://127.0.0.1:{port}"))


def test_a_scheduler_without_workers_is_refused():
    with started(0) as local, pytest.raises(RunError, match=r"has no worker.*dask worker"):
        list(on_cluster(StudyWork.on(line()), [SHORT], local.scheduler_address, patience=0.5))


def test_workers_with_another_version_are_refused(scheduler, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "0.0.0")
    with pytest.raises(RunError, match=r"Expected Gradwire 0\.0\.0"):
        list(on_cluster(StudyWork.on(line()), [SHORT], scheduler))


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"gradwire\[cluster\]"):
        list(on_cluster(StudyWork.on(line()), [SHORT], "tcp://127.0.0.1:1"))
