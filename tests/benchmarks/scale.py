"""How time and memory grow, what watching costs, and how long it takes to start.

    python -m tests.benchmarks.scale [--scale] [--watch] [--start] [--json FILE]

All three where none is named. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks import processes

SIZES = {
    "elements": (100_000, 1_000_000, 10_000_000),
    "layers": (10, 100, 1_000),
    "blocks": (1_000, 10_000, 100_000),
}


def _elements(count: int) -> Any:
    """Twenty elementwise operations on one array."""
    from tests.benchmarks.workloads import w3

    return w3(count).diagram


def _layers(count: int) -> Any:
    """A chain of tanh and scale on 10,000 elements."""
    from tests.benchmarks.workloads import Drawing

    drawing = Drawing()
    node = drawing.variable("x", np.linspace(-1, 1, 10_000, dtype=np.float32))
    for i in range(count):
        node = drawing.add("Mul", node, b=1.01) if i % 2 else drawing.add("Tanh", node)
    return drawing.diagram(drawing.add("Mean", node))


def _blocks(count: int) -> Any:
    """Small independent chains into one loss."""
    from tests.benchmarks.workloads import w7

    return w7(count // 4).diagram


DIAGRAMS: dict[str, Callable[[int], Any]] = {
    "elements": _elements,
    "layers": _layers,
    "blocks": _blocks,
}


def rss() -> float:
    """Peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def grown(kind: str, size: int) -> dict[str, Any]:
    """Processor seconds to make a diagram ready and to call it, and MiB that both add, here."""
    from gradwire.runtime.engine import Session

    diagram = DIAGRAMS[kind](size)
    before, start = rss(), time.process_time()
    session = Session(diagram)
    traced = time.process_time()
    call = session.prepare(values=session.losses)
    call()
    ready = time.process_time()
    times = []
    while len(times) < 3 or (sum(times) < 1 and len(times) < 50):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return {
        "kind": kind,
        "size": size,
        "tracing": traced - start,
        "planning": ready - traced,
        "call": statistics.median(times),
        "memory": rss() - before,
        "plan": call.plan.bytes / 2**20,
    }


def print_scale() -> list[dict[str, Any]]:
    """A table for each kind; the last column is the growth of a call for ten times the size."""
    rows = []
    for kind, sizes in SIZES.items():
        print(f"\n{DIAGRAMS[kind].__doc__}\n{'':>12}{'trace':>11}{'plan':>11}{'call':>11}"
              f"{'more RSS':>11}{'plan':>11}   growth: ready, call, RSS")  # fmt: skip
        last: dict[str, Any] | None = None
        for size in sizes:
            row = processes.child(1, "tests.benchmarks.scale", "--child", kind, str(size))
            ready = row["tracing"] + row["planning"]
            text = (f"{size:>12,}{row['tracing'] * 1e3:>8.1f} ms{row['planning'] * 1e3:>8.1f} ms"
                    f"{row['call'] * 1e3:>8.2f} ms{row['memory']:>7.1f} MiB"
                    f"{row['plan']:>7.1f} MiB")  # fmt: skip
            if last:
                before = last["tracing"] + last["planning"]
                text += (f"   {ready / before:.1f}×, {row['call'] / last['call']:.1f}×, "
                         f"{row['memory'] / max(last['memory'], 0.1):.1f}×")  # fmt: skip
            print(text, flush=True)
            rows.append(row)
            last = row
    return rows


def watched(name: str) -> dict[str, float]:
    """Median seconds of backward: gradients alone, with all norms, with all contributions.

    Processor time of one thread: differences of a few percent drown in what else a machine does.
    """
    from gradwire.runtime.engine import Session
    from tests.benchmarks.workloads import WORKLOADS

    work = WORKLOADS[name]()
    session = Session(work.diagram)
    losses = session.losses
    ways: dict[str, dict[str, Any]] = {
        "gradients": {"contributions": False},
        "norms": {"contributions": False, "norms": True},
        "contributions": {"contributions": True},
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(15):
        for way, asked in ways.items():
            start = time.process_time()
            run = session.backward(losses, feeds=work.data, ports=losses, **asked)
            if way == "contributions":
                assert run.norms
            times[way].append(time.process_time() - start)
    return {way: statistics.median(found[2:]) for way, found in times.items()}


def print_watch(names: list[str]) -> list[dict[str, Any]]:
    """What norms of all wires cost, and all contributions."""
    rows = []
    print(f"\n{'':4}{'gradients':>14}{'and norms':>22}{'and all contributions':>28}")
    for name in names:
        row = processes.child(1, "tests.benchmarks.scale", "--child", name)
        base = row["gradients"]
        print(f"{name:4}{base * 1e3:>11.2f} ms"
              + "".join(f"{row[w] * 1e3:>14.2f} ms {row[w] / base - 1:>+8.1%}"
                        for w in ("norms", "contributions")), flush=True)  # fmt: skip
        rows.append({"work": name, **row})
    return rows


_IMPORT = """
import resource, time
def rss(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
import numpy
a, start, worked = rss(), time.perf_counter(), time.process_time()
import {module}
print(time.perf_counter() - start, time.process_time() - worked, rss() - a)
"""


_PAINTED = """
import os, sys
from gradwire.__main__ import main
from gradwire.app.shell import application

def watch():
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QApplication, QWidget

    class Watch(QObject):
        canvas, painted = None, set()
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.Paint:
                self.painted.add(watched)
                if watched is self.canvas and watched.view.scene.page.blocks:
                    QTimer.singleShot(0, self.end)  # once the whole window is painted
            return False
        def end(self):
            seen = [w for w in self.canvas.window().findChildren(QWidget)
                    if not w.visibleRegion().isEmpty()]
            print(sum(w in self.painted for w in seen), "of", len(seen), flush=True)
            os._exit(0)

    application, wait = QApplication.instance(), QApplication.exec
    application.watch = Watch()
    if watches_all:
        application.installEventFilter(application.watch)
    def exec(self):
        self.watch.canvas = next(w.canvas for w in self.topLevelWidgets() if hasattr(w, "canvas"))
        self.watch.canvas.installEventFilter(self.watch)
        return wait()
    QApplication.exec = exec

watches_all = "all" in sys.argv[2:]
spare = application._spare_cores
application._spare_cores = lambda: (watch(), spare())
sys.argv = ["gradwire", "edit", sys.argv[1]]
main()
"""
"""Opens the editor on a file, and ends once the canvas shows it, and with it the whole window.

Prints how many of the visible widgets were painted. Without ``all`` it watches the canvas alone,
since to watch all of them takes long itself."""


def print_start(state: str, repeats: int = 7) -> dict[str, Any]:
    """Medians: imports over Python and numpy, and whole processes of the command, of which the
    editor ends with its first frame, on a platform without a screen unless one is named.

    ``state`` is an empty folder: of what a crash left there, the editor makes a dialog first.
    """
    seed = "assets/diagrams/mxnet_seed.gradwire.json"
    # As installed: byte code is written once and read from then on.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    environment["XDG_STATE_HOME"] = state

    def output(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    found: dict[str, Any] = {}
    peers = [name for name in ("autograd", "jax", "torch", "tensorflow", "pytensor")
             if importlib.util.find_spec(name)]  # fmt: skip
    for module in (
        "pydantic",
        "runtime",
        "gradwire.runtime.diagram",
        "gradwire.runtime.engine",
        *peers,
    ):
        runs = [output("-c", _IMPORT.format(module=module)).split() for _ in range(repeats)]
        seconds, cpu, mib = (statistics.median(map(float, c)) for c in zip(*runs, strict=True))
        found[f"import {module}"] = {"seconds": seconds, "processor": cpu, "mib": mib}
        print(f"import {module:18}{seconds * 1e3:>8.0f} ms{cpu * 1e3:>8.0f} ms of processor"
              f"{mib:>8.1f} MiB, over Python and numpy", flush=True)  # fmt: skip
    commands = {
        "python -c pass": ("-c", "pass"),
        "gradwire run": ("-m", "gradwire", "run", seed),
        "gradwire check": ("-m", "gradwire", "check", seed),
        "gradwire flow": ("-m", "gradwire", "flow", seed),
        "gradwire --help": ("-m", "gradwire", "--help"),
        "gradwire --version": ("-m", "gradwire", "--version"),
        "editor, painted": ("-c", _PAINTED, seed),
    }
    for name, arguments in commands.items():
        times, worked = [], []
        for _ in range(repeats):
            start, before = time.perf_counter(), _processor_of_children()
            output(*arguments)
            times.append(time.perf_counter() - start)
            worked.append(_processor_of_children() - before)
        seconds, cpu = statistics.median(times), statistics.median(worked)
        found[name] = {"seconds": seconds, "processor": cpu}
        print(f"{name:25}{seconds * 1e3:>8.0f} ms{cpu * 1e3:>8.0f} ms of processor, "
              "the whole process", flush=True)  # fmt: skip
    return found


def _processor_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", action="store_true", help="how time and memory grow")
    parser.add_argument("--watch", action="store_true", help="what norms of all wires cost")
    parser.add_argument("--start", action="store_true", help="imports and whole processes")
    parser.add_argument("--json")
    parser.add_argument("--child", nargs="+", help="a kind and a size, or a workload")
    options = parser.parse_args()
    if options.child:
        kind, *size = options.child
        print(json.dumps(grown(kind, int(size[0])) if size else watched(kind)))
        return
    every = not (options.scale or options.watch or options.start)
    found: dict[str, Any] = {}
    if options.start or every:
        with tempfile.TemporaryDirectory() as state:
            found["start"] = print_start(state)
    if options.watch or every:
        found["watch"] = print_watch(["W4", "W5"])
    if options.scale or every:
        found["scale"] = print_scale()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
