import gc
import threading

import pytest
import shiboken6
from PySide6.QtCore import Qt

from gradwire.app.services import garbage
from gradwire.app.services.garbage import GarbageCollector

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


def test_garbage_waits_while_a_mouse_button_is_held(collector, monkeypatch):
    held = [Qt.MouseButton.LeftButton]
    monkeypatch.setattr(garbage.QGuiApplication, "mouseButtons", lambda: held[0])
    ended = []
    for _ in range(CYCLES):
        Cycle(ended)
    collector.collect()
    assert ended == []
    monkeypatch.setattr(garbage, "_MOST", CYCLES)
    collector.collect()
    assert len(ended) == CYCLES, "more than so much does not wait"
    for _ in range(CYCLES - 1000):
        Cycle(ended)
    held[0] = Qt.MouseButton.NoButton
    collector.collect()
    assert len(ended) == 2 * CYCLES - 1000


def test_what_was_there_before_the_windows_is_not_looked_at_again(qapp):
    old = [[]]
    first = GarbageCollector(qapp)
    new = [[]]
    looked_at = {id(each) for each in gc.get_objects()}
    assert id(old) not in looked_at
    assert id(new) in looked_at
    shiboken6.delete(first)


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
