"""The right end of the status bar."""


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
