"""Systems in processes of their own, which take turns."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tests.benchmarks import processes
from tests.benchmarks.engine.systems import SYSTEMS

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

CALM = 0.1
"""Seconds before a sample in which threads of whoever was before stop looking for work."""


def serve(make: Callable[[], Workload], system: str, folder: str, threads: int) -> None:
    """Leave the results of one system in a folder, then time calls as asked on standard input."""
    module, make_system = SYSTEMS[system]
    __import__(module)
    work = make()
    start = time.perf_counter()
    found = make_system(work, threads)
    results = found.results()
    ready_after = time.perf_counter() - start
    np.savez(Path(folder) / system, **results)  # type: ignore[arg-type]  # its stubs want flags
    _say({"ready": ready_after})
    # What else the machine does counts only where a call has several threads.
    clock = time.process_time if threads == 1 else time.perf_counter
    for line in sys.stdin:
        count = int(line)
        if threads > 1:
            time.sleep(CALM)
        found.call()  # whoever was before leaves cold caches
        start = clock()
        for _ in range(count):
            found.call()
        taken = (clock() - start) / count
        _say({"taken": taken, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})


def _say(what: Mapping[str, float]) -> None:
    print(json.dumps(what), flush=True)


class Server:
    """A system in a process of its own, by the Python in which it is installed."""

    def __init__(self, name: str, system: str, folder: str, threads: int, python: str) -> None:
        command = processes.command(
            threads, "tests.benchmarks.engine", name, "--serve", system, "--folder", folder,
            "--threads", str(threads), python=python,
        )  # fmt: skip
        kept = str(Path(folder) / f"{system}-code")  # empty: nothing was compiled before
        environment = processes.environment(threads) | {
            "XDG_CACHE_HOME": kept,
            "TORCHINDUCTOR_CACHE_DIR": kept,
            "PYTENSOR_FLAGS": f"base_compiledir={kept}",
        }
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.ready = 0.0
        """Seconds from the imported libraries to the first results."""
        self.memory = 0.0
        """Most MiB of the process so far."""

    def require_ready(self) -> None:
        """Wait for the results in the folder; raises ValueError where the system can't do it."""
        self.ready = self._answer()["ready"]

    def take(self, count: int) -> float:
        """Seconds a call, of so many calls."""
        assert self._process.stdin is not None
        print(count, file=self._process.stdin, flush=True)
        answer = self._answer()
        self.memory = answer["memory"]
        return float(answer["taken"])

    def end(self) -> None:
        """Let the process go."""
        if self._process.poll() is None:
            self._process.communicate()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                found: dict[str, float] = json.loads(line)
                return found
        *_, why = self._process.communicate()[1].strip().splitlines() or ["it ended"]
        raise ValueError(why)
