"""Ratios of what people really run, against PyTorch, eager and compiled, and JAX, on one thread.

    python -m tests.benchmarks.practice [pre-norm lstm …] [--systems gradwire torch …]
                                        [--seconds 2] [--without torch-compiled] [--json FILE]

Each system has a process of its own, bound to one processor. Loss and gradients of all are compared
first; then they take turns in any order, sample by sample, and count their own processor time.
Besides: how long each takes to be ready, from the imported libraries to the first result, and the
most memory it had. The table at the end is Markdown. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.practice import networks, tables
from tests.benchmarks.practice.peers import OURS, SYSTEMS, installed
from tests.benchmarks.training.turns import FEWEST, Samples, summary

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

WORKS: dict[str, Callable[[], Workload]] = {
    "pre-norm": networks.pre_norm,
    "post-norm": networks.post_norm,
    "masked": networks.masked,
    "lstm": networks.lstm,
    "gru": networks.gru,
    "penalty": networks.penalty,
    "vae": networks.vae,
    "embedding": tables.embedding,
    "particles": tables.particles,
    "classes": tables.classes,
    "contrastive": tables.contrastive,
    "groups": networks.grouped,
}
TOLERANCE = 2e-4
"""The largest difference of gradients, relative to their largest element."""
SAMPLE = 0.02
"""Seconds that one sample lasts at least."""


def serve(name: str, system: str, folder: str) -> None:
    """Leave the results of one system in a folder, then time calls as asked on standard input."""
    if system.startswith(("torch", "jax")):
        __import__(system.partition("-")[0])
    work = WORKS[name]()
    start = time.perf_counter()
    found = SYSTEMS[system](work)
    results = found.results()
    ready = time.perf_counter() - start
    np.savez(Path(folder) / system, **results)  # type: ignore[arg-type]  # its stubs want flags
    _say({"ready": ready})
    for line in sys.stdin:
        count = int(line)
        found.call()  # whoever was before leaves cold caches
        start = time.process_time()
        for _ in range(count):
            found.call()
        taken = (time.process_time() - start) / count
        _say({"taken": taken, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})


def _say(what: Mapping[str, float]) -> None:
    print(json.dumps(what), flush=True)


class Server:
    """A system in a process of its own."""

    def __init__(self, name: str, system: str, folder: str) -> None:
        environment = os.environ | {
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        }
        command = [sys.executable, "-m", "tests.benchmarks.practice", name]
        command += ["--serve", system, "--folder", folder]
        if hasattr(os, "sched_setaffinity"):
            command = ["taskset", "-c", "0", *command]
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.ready: float | None = None
        """Seconds; None where the system can't do it."""
        self.why = ""
        self.memory = 0.0
        answer = self._answer()
        if answer is not None:
            self.ready = answer["ready"]

    def take(self, count: int) -> float:
        """Seconds a call, of so many calls."""
        assert self._process.stdin is not None
        print(count, file=self._process.stdin, flush=True)
        answer = self._answer()
        if answer is None:
            raise SystemExit(self.why)
        self.memory = answer["memory"]
        return float(answer["taken"])

    def end(self) -> None:
        """Let the process go."""
        self._process.communicate()

    def _answer(self) -> dict[str, float] | None:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                found: dict[str, float] = json.loads(line)
                return found
        *_, self.why = self._process.communicate()[1].strip().splitlines() or [""]
        return None


def agree(folder: str, systems: Collection[str]) -> float:
    """The largest difference of the results from those of our kernels; raises if it is too large.

    Relative to the largest element of each, or to a thousandth of the largest of all gradients:
    some are 0 but for rounding, such as that of the bias of keys.
    """
    expected = dict(np.load(Path(folder) / f"{OURS[0]}.npz"))
    least = max(np.abs(array).max() for name, array in expected.items() if name != "loss") / 1000
    worst = 0.0
    for system in systems:
        found = dict(np.load(Path(folder) / f"{system}.npz"))
        if found.keys() != expected.keys():
            raise SystemExit(f"{system} has {sorted(found)}, not {sorted(expected)}.")
        for name, array in expected.items():
            error = np.abs(found[name] - array).max() / max(np.abs(array).max(), least)
            if not error < TOLERANCE:
                raise SystemExit(f"{system}: {name} differs by {error:.2g}.")
            worst = max(worst, float(error))
    return worst


def measure(name: str, systems: Collection[str], seconds: float) -> dict[str, Any]:
    """Ratios, times, memory and ready times of one workload."""
    with tempfile.TemporaryDirectory() as folder:
        servers = {system: Server(name, system, folder) for system in systems}
        for system in [s for s, server in servers.items() if server.ready is None]:
            print(f"  {system} can't do {name}: {servers.pop(system).why}", file=sys.stderr)
        worst = agree(folder, servers)
        counts = {s: max(1, round(SAMPLE / server.take(1))) for s, server in servers.items()}
        samples: Samples = {system: [] for system in servers}
        shuffled = random.Random(0)
        end = time.perf_counter() + seconds * len(servers)
        while time.perf_counter() < end or min(map(len, samples.values())) < FEWEST:
            for system in shuffled.sample(list(servers), len(servers)):
                samples[system].append(servers[system].take(counts[system]))
        for server in servers.values():
            server.end()
    return {
        "work": name,
        "about": WORKS[name]().about,
        "difference": worst,
        "ready": {s: server.ready for s, server in servers.items()},
        "memory": {s: server.memory for s, server in servers.items()},
        **summary(samples, [s for s in OURS if s in servers]),
    }


def _print(row: Mapping[str, Any]) -> None:
    print(f"\n{row['work']}  {row['about']}  (results within {row['difference']:.1g})")
    for system, median in row["median"].items():
        ratios = "".join(
            f"{found[system]:9.2f} × {mine}"
            for mine, found in row["ratio"].items()
            if system in found
        )
        print(f"  {system:15} {median * 1e3:10.3f} ms {row['memory'][system]:6.0f} MiB"
              f"   ready {row['ready'][system]:7.2f} s {ratios}", flush=True)  # fmt: skip


def markdown(rows: list[dict[str, Any]]) -> str:
    """Milliseconds, MiB and ready times, and how many times as long peers take."""
    systems = [s for s in SYSTEMS if any(s in row["median"] for row in rows)]
    mine = [s for s in systems if s in OURS]
    others = [s for s in systems if s not in OURS]
    heads = ["work", *(f"{s}, ms" for s in mine)]
    heads += ["MiB: " + " / ".join(systems), "ready, s: " + " / ".join(systems)]
    lines = [[*heads, *(f"{s} × ours" for s in others)]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        told = [row["work"], *(f"{row['median'][s] * 1e3:.4g}" for s in mine)]
        for what, form in (("memory", ".0f"), ("ready", ".2f")):
            told.append(" / ".join(format(row[what][s], form) if s in row[what] else "–"
                                   for s in systems))  # fmt: skip
        for other in others:
            ratios = [row["ratio"][s].get(other) for s in mine]
            told.append(" / ".join(f"{r:.3g}" for r in ratios if r) or "–")
        lines.append(told)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", default=list(WORKS))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--without", nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    parser.add_argument("--serve")
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    if options.serve:
        serve(options.work[0], options.serve, options.folder)
        return
    wanted = [s for s in options.systems if s not in options.without and installed(s)]
    systems = list(dict.fromkeys([OURS[0], *wanted]))
    rows = []
    for name in options.work:
        rows.append(measure(name, systems, options.seconds))
        _print(rows[-1])
    print("\n" + markdown(rows))
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
