"""W1–W7 against the peers that are installed: medians, ratios, build time and peak memory.

    python -m tests.benchmarks.engine [W1 W4 …] [--threads 1 2] [--seconds 2]
                                      [--peers torch jax …] [--json FILE]
    python -m tests.benchmarks.engine [--scale] [--watch] [--start] [--json FILE]

Every workload runs in a process of its own, in which Gradwire and the peers take turns, sample by
sample, so that a slow moment of the machine hits all alike. Peak memory is measured in one more
process per system, which runs nothing else. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Collection
from typing import Any

from tests.benchmarks import scale

OURS = "gradwire"


def _ours(work: Any) -> Any:
    """Our call, and how long it took to make it ready from the diagram."""
    from runtime.engine import Session

    start = time.perf_counter()
    session = Session(work.diagram)
    step = session.prepare(feeds=tuple(work.data), values=("loss",))
    feeds = tuple(work.data.values())

    step(*feeds)
    return lambda: step(*feeds), time.perf_counter() - start


def _calls(name: str, threads: int, only: Collection[str]) -> tuple[Any, dict[str, Any]]:
    from tests.benchmarks.peers import PEERS, installed
    from tests.benchmarks.workloads import WORKLOADS

    work = WORKLOADS[name]()
    calls: dict[str, Any] = {}
    if OURS in only:
        calls[OURS], calls["build"] = _ours(work)
    for peer, make in PEERS.items():
        if peer not in only or not installed(peer):
            continue
        try:
            calls[peer] = make(work, threads)
            calls[peer]()
        except (AttributeError, RecursionError) as error:
            print(f"  {peer} can't do {name}: {error}", file=sys.stderr)
            calls.pop(peer)
    return work, calls


def measure(name: str, threads: int, seconds: float, peers: Collection[str]) -> dict[str, Any]:
    """Medians of interleaved samples, in seconds a call, of one workload in this process."""
    work, calls = _calls(name, threads, {OURS, *peers})
    build = calls.pop("build")
    losses = {s: float(call()[0].sum() if s == OURS else call()) for s, call in calls.items()}
    samples: dict[str, list[float]] = {system: [] for system in calls}
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(samples[OURS]) < 5:
        for system, call in calls.items():
            start = time.perf_counter()
            for _ in range(work.calls):
                call()
            samples[system].append((time.perf_counter() - start) / work.calls)
    ratios = {
        system: statistics.median(
            peer / ours for peer, ours in zip(samples[system], samples[OURS], strict=True)
        )
        for system in calls
        if system != OURS
    }
    return {
        "work": name,
        "about": work.about,
        "threads": threads,
        "build": build,
        "losses": losses,
        "median": {system: statistics.median(times) for system, times in samples.items()},
        "ratio": ratios,
    }


def memory(name: str, system: str, threads: int) -> float:
    """Peak resident memory of this process, in MiB, after three calls of one system."""
    _, calls = _calls(name, threads, only=(system,))
    for _ in range(3):
        if system in calls:
            calls[system]()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _child(threads: int, *arguments: str) -> Any:
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}",
    }
    command = [sys.executable, "-m", "tests.benchmarks.engine", *arguments]
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        command = ["taskset", "-c", "0", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _print(row: dict[str, Any]) -> None:
    print(f"\n{row['work']}  {row['about']}  ({row['threads']} thread(s), "
          f"build {row['build'] * 1e3:.1f} ms)")  # fmt: skip
    for system, median in row["median"].items():
        ratio = row["ratio"].get(system)
        told = f"{ratio:8.2f} × ours" if ratio else "          ours"
        peak = row["memory"].get(system)
        print(f"  {system:10} {median * 1e3:11.4f} ms {told}   {peak:7.0f} MiB"
              f"   loss {row['losses'][system]:.6g}")  # fmt: skip


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", default=["W1", "W2", "W3", "W4", "W5", "W6", "W7"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    parser.add_argument("--peers", nargs="+", help="only these; all that are installed otherwise")
    parser.add_argument("--scale", action="store_true", help="how time and memory grow")
    parser.add_argument("--watch", action="store_true", help="what norms of all wires cost")
    parser.add_argument("--start", action="store_true", help="imports and whole processes")
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child in ("scale", "watch"):
        print(scale.child(options.child, options.work))
        return
    if options.scale or options.watch or options.start:
        found: dict[str, Any] = {}
        if options.start:
            found["start"] = scale.print_start()
        if options.watch:
            found["watch"] = scale.print_watch(_child, ["W4", "W5"])
        if options.scale:
            found["scale"] = scale.print_scale(_child)
        _write(options.json, found)
        return
    from tests.benchmarks.peers import PEERS, installed

    peers = options.peers or list(PEERS)
    if options.child == "time":
        print(json.dumps(measure(options.work[0], options.threads[0], options.seconds, peers)))
        return
    if options.child:
        print(json.dumps(memory(options.work[0], options.child, options.threads[0])))
        return
    absent = [peer for peer in PEERS if not installed(peer)]
    print("Absent peers: " + (", ".join(absent) or "none"))
    rows = []
    for threads in options.threads:
        for name in options.work:
            common = (
                name,
                "--threads",
                str(threads),
                "--seconds",
                str(options.seconds),
                "--peers",
                *peers,
            )
            row = _child(threads, *common, "--child", "time")
            row["memory"] = {s: _child(threads, *common, "--child", s) for s in row["median"]}
            rows.append(row)
            _print(row)
    _write(options.json, rows)


def _write(path: str | None, found: Any) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
