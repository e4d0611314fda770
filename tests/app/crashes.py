"""Editors that are killed in the middle of edits and saves, and what is left of their work.

``python -m tests.app.crashes`` serves: for each line ``start SEED FOLDER`` of its input it starts
an editor and prints its process id; for each line ``bury PID`` it waits until that is dead and
prints ``dead``. Starting from one process that has imported everything takes a tenth of the time;
each editor is a process with a window.

Editors write a log: what they did when, and a beat every ``BEAT`` seconds, which the kill counts in
place of seconds. An editor that a busy machine keeps from working keeps no beats either.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import (
    AddBlock,
    Batch,
    Change,
    Diagram,
    Page,
    Point,
    SetParameters,
    SetTitle,
    load,
    save,
)

ROOT = Path(__file__).parents[2]
NAME = "work.gradwire.json"
LARGE = 2000
"""Elements of the array that lies in a file of its own."""
GRACE = 1.0
"""Seconds of work that a crash may cost."""
BEAT = 0.05
"""Seconds between the beats that an editor logs."""
START = 24_000
"""Looks for a sign of life of an editor, each after at least 5 ms."""


def change_to(number: int) -> Change:
    """The ``number``-th edit: the diagram after it is known from the number alone."""
    parts: list[Change] = [SetTitle(title=str(number))]
    if number % 3 == 0:
        parts.append(AddBlock(f"b{number}", Add(), Point(0.0, 10.0 * number)))
    if number % 5 == 0:
        parts.append(SetParameters("w", {"value": np.full(LARGE, float(number))}))
    return Batch("edit", tuple(parts))


def is_whole(diagram: Diagram) -> bool:
    """Whether the diagram is just what the edits up to its number make."""
    number = int(diagram.title)
    added = {f"b{i}" for i in range(3, number + 1, 3)}
    array = diagram.main.blocks["w"].value.array
    return diagram.main.blocks.keys() == added | {"w"} and bool(
        array.shape == (LARGE,) and np.all(array == number - number % 5)
    )


def start_file(folder: Path) -> Path:
    """The file as it is before the first edit."""
    page = Page({"w": Variable(value=np.zeros(LARGE))}, layout={"w": Point(0.0, 0.0)})
    save(Diagram({"main": page}, "0"), folder / NAME)
    return folder / NAME


@dataclass(frozen=True)
class Loss:
    """What one crash has cost."""

    seconds: float
    """Age, at the kill, of the oldest edit that is lost, by the editor's beats; 0 when none is."""
    clock: float
    """The same by the clock, which counts the time that the machine gives to others too."""
    edits: int
    saves: int
    lost: int
    from_journal: bool


class Crashes:
    """Starts editors and kills them; several threads may."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.app.crashes"],
            cwd=ROOT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def close(self) -> None:
        """End the server."""
        self._server.stdin.close()
        self._server.wait(30)
        self._server.stdout.close()

    def crash(self, folder: Path, seed: int) -> Loss:
        """Let an editor work in ``folder``, kill it, and count; AssertionError where more is lost.

        The file must load and be whole, and no older than the last save that was done.
        """
        folder.mkdir()
        path, log = start_file(folder), folder / "log"
        pid = int(self._answer(f"start {seed} {folder}"))
        for _ in range(START):
            if log.exists() and log.stat().st_size:
                break
            time.sleep(0.005)
        else:
            raise TimeoutError("the editor did not start")
        time.sleep(random.Random(seed).uniform(0.0, 1.8))
        killed = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        assert self._answer(f"bury {pid}") == "dead"
        return _counted(path, log, killed)

    def _answer(self, request: str) -> str:
        with self._turn:
            self._server.stdin.write(f"{request}\n")
            self._server.stdin.flush()
            return self._server.stdout.readline().strip()


def _counted(path: Path, log: Path, killed: float) -> Loss:
    from gradwire.app.services.journal import Journal

    lines = [line.split() for line in log.read_text().splitlines()]
    edits = {int(line[1]): place for place, line in enumerate(lines) if line[0] == "edit"}
    saves = [int(line[1]) for line in lines if line[0] == "saved"]
    stored = load(path)
    assert is_whole(stored)
    assert int(stored.title) >= max(saves, default=0)
    journal = Journal(path.parent / "recovery")
    entries = journal.orphans()
    known = int(stored.title)
    for entry in entries:
        assert entry.path == path
        assert is_whole(entry.diagram)
        known = max(known, int(entry.diagram.title))
        journal.discard(entry)
    journal.close()
    lost = [place for number, place in edits.items() if number > known]
    seconds = BEAT * lines[min(lost) :].count(["beat"]) if lost else 0.0
    assert seconds <= GRACE, f"an edit of {seconds:.2f} s before the kill is lost"
    clock = killed - float(lines[min(lost)][2]) if lost else 0.0
    return Loss(seconds, clock, len(edits), len(saves), len(lost), known > int(stored.title))


def _work(folder: Path, seed: int) -> None:
    """An editor whose user edits without a pause, saves now and then, and rests now and then."""
    from PySide6.QtCore import QSettings, Qt, QTimer
    from PySide6.QtWidgets import QApplication

    from gradwire.app.services.settings import Settings
    from gradwire.app.shell.windows import OpenWindows

    application = QApplication(sys.argv[:1])
    store = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
    window = OpenWindows(Settings(store)).new()
    assert window.open_path(folder / NAME)
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    dice, number = random.Random(seed), 0

    def act() -> None:
        nonlocal number
        wait = dice.choice((0, 1, 5, 20, 20, 20, 60, 60, 700))
        if dice.random() < 0.15:
            assert window.files.save()
            os.write(log, f"saved {number}\n".encode())
        else:
            number += 1
            assert window.edit.change(change_to(number))
            os.write(log, f"edit {number} {time.monotonic()}\n".encode())
        QTimer.singleShot(wait, act)

    beats = QTimer(interval=round(1000 * BEAT), timerType=Qt.TimerType.PreciseTimer)
    beats.timeout.connect(lambda: os.write(log, b"beat\n"))
    beats.start()
    QTimer.singleShot(0, act)
    application.exec()


def _serve() -> None:
    import gradwire.app.shell.main_window  # noqa: F401

    for line in sys.stdin:
        match line.strip().split(" ", 2):
            case "start", seed, folder:
                pid = os.fork()
                if pid == 0:
                    _work(Path(folder), int(seed))
                    os._exit(0)
                print(pid, flush=True)
            case "bury", pid:
                os.waitpid(int(pid), 0)
                print("dead", flush=True)


if __name__ == "__main__":
    _serve()
