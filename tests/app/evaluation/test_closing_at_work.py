"""A window that is closed while its evaluator works ends quietly; each time in a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DELETED = """
import sys, threading, time
from PySide6.QtCore import QCoreApplication
from shiboken6 import delete
from gradwire.app.evaluation.worker import Worker
application = QCoreApplication([])
begun, done = threading.Event(), threading.Event()
def job(superseded):
    begun.set()
    done.wait()
worker = Worker()
worker.submit("run", job)
begun.wait()
thread, queue = worker._thread, worker._queue
delete(worker)
done.set()
while queue._running is not None and thread.is_alive():
    time.sleep(0.001)
queue.close()
thread.join()
"""

CLOSED = """
import sys, time
from pathlib import Path
from PySide6.QtCore import QTimer
from gradwire.app.evaluation import evaluator, worker
from gradwire.app.shell import application
from gradwire.app.shell.windows import OpenWindows
worker.PATIENCE = 0.01  # so that the thread outlives its window
def evaluate(self, diagram, superseded):
    while True:  # as a long kernel, which hears of nothing
        time.sleep(0.001)
evaluator.Evaluation.__call__ = evaluate
new = OpenWindows.new
def new_and_close(self, path=None):
    made = new(self, path)
    QTimer.singleShot(int(sys.argv[1]), made.close)
    return made
OpenWindows.new = new_and_close
sys.exit(application.run(None))
"""


def ended(program, tmp_path, *arguments):
    """What a process says on standard error, but for the platform; it must end with 0."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True, text=True, env=environment, timeout=300, check=False,
    )  # fmt: skip
    said = [line for line in found.stderr.splitlines() if "This plugin does not" not in line]
    return found.returncode, said


def test_a_job_that_outlives_its_worker_tells_nobody(tmp_path):
    assert ended(DELETED, tmp_path) == (0, [])


@pytest.mark.night
@pytest.mark.parametrize("delay", [0, 100, 400])
def test_a_window_that_is_closed_at_work_ends_quietly(tmp_path, delay):
    assert ended(CLOSED, tmp_path, delay) == (0, [])


@pytest.mark.night
@pytest.mark.parametrize("delay", range(0, 400, 20))
def test_so_it_does_many_times(tmp_path, delay):
    assert ended(CLOSED, tmp_path, delay) == (0, [])
