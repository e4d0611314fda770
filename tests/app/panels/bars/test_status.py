"""The right end of the status bar."""

import threading

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication


def test_a_long_run_is_told_while_it_lasts(window, qtbot):
    status = window.status
    window.evaluator.busyChanged.emit(True)
    assert not status.busy.text()
    qtbot.waitUntil(lambda: status.busy.text() == "Computing …")
    window.evaluator.busyChanged.emit(False)
    assert not status.busy.text()


def test_a_short_run_is_not_told(window, qtbot):
    window.evaluator.busyChanged.emit(True)
    window.evaluator.busyChanged.emit(False)
    qtbot.wait(400)
    assert not window.status.busy.text()


def test_the_zoom_is_told(window):
    window.canvas.set_zoom(2.0 * window.canvas.actual_zoom())
    assert window.status.zoom.text() == "200 %"


def test_a_long_run_can_be_cancelled_there(window, qtbot, monkeypatch):
    permits, began = threading.Semaphore(0), threading.Event()

    def run(diagram, superseded):
        began.set()
        permits.acquire(timeout=60)  # a kernel that knows of no cancelling

    monkeypatch.setattr(window.evaluator, "_run", run)
    window.actions_by_name["evaluate"].trigger()
    button = window.status.cancel
    qtbot.waitUntil(lambda: began.is_set() and not button.isHidden())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not window.evaluator.busy
    assert button.isHidden()
    assert window.notice.text() == "The evaluation was cancelled."
    permits.release(10)


def test_a_short_computation_lays_nothing_out(window):
    counted = []

    class Layouts(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.LayoutRequest:
                counted.append(watched)
            return False

    layouts = Layouts()
    bar = window.statusBar()
    QApplication.processEvents()
    bar.installEventFilter(layouts)
    for busy in (True, False):
        window.evaluator.busyChanged.emit(busy)
        QApplication.processEvents()
    assert counted == []
    bar.removeEventFilter(layouts)
