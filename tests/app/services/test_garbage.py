import gc
import threading

import pytest
import shiboken6

from app.services.garbage import GarbageCollector

CYCLES = 5000


class Cycle:
    """Garbage that only the cycle collector can find."""

    def __init__(self, ended):
        self.itself, self.ended = self, ended

    def __del__(self):
        self.ended.append(threading.current_thread())


@pytest.fixture
def collector(qapp):
    return GarbageCollector()


def test_garbage_of_other_threads_waits_for_the_thread_of_the_windows(collector):
    ended = []
    thread = threading.Thread(target=lambda: [Cycle(ended) for _ in range(CYCLES)] and None)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert ended == []
    collector.collect()
    assert len(ended) == CYCLES
    assert set(ended) == {threading.main_thread()}


def test_the_event_loop_collects(collector, qtbot):
    ended = []
    for _ in range(CYCLES):
        Cycle(ended)
    qtbot.waitUntil(lambda: len(ended) == CYCLES)


def test_a_little_garbage_is_left_alone(collector):
    gc.collect()
    ended = []
    Cycle(ended)
    collector.collect()
    assert ended == []


def test_python_does_not_collect_even_when_the_collector_is_gone(collector):
    """Its own destructor, like any QObject's, must never be interrupted by a collection."""
    assert not gc.isenabled()
    shiboken6.delete(collector)
    assert not gc.isenabled()
