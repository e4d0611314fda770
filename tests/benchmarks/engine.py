"""W1–W8 against the peers that are installed: medians, ratios, build time and peak memory.

    python -m tests.benchmarks.engine [W1 W4 …] [--threads 1 2] [--seconds 2]
                                      [--peers torch jax …] [--json FILE]
    python -m tests.benchmarks.engine [--scale] [--watch] [--start] [--json FILE]

Every workload runs in a process of its own, in which Gradwire, with numpy alone and with machine
code, and the peers take turns in any order, sample by sample, so that a slow moment of the machine
hits all alike. Peak memory is measured in one more process per system, which runs nothing else.
W8 is how long imports take. The table at the end is Markdown. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Collection
from typing import Any

from tests.benchmarks import scale
from tests.benchmarks.training.turns import summary, take_turns

OURS = {"gradwire": False, "gradwire-fast": True, "gradwire-plain": True}
"""Prepared calls with numpy alone and with the ``fast`` extra; ``Session.backward`` with it."""


def ours() -> list[str]:
    """What can be had here."""
    from runtime.engine.plan import native

    return [system for system, fast in OURS.items() if not fast or native.installed()]


def _ours(work: Any, fast: bool) -> Any:
    """Our call, and how long it took to make it ready from the diagram."""
    from runtime.engine import Session

    start = time.perf_counter()
    session = Session(work.diagram, fast=fast)
    step = session.prepare(feeds=tuple(work.data), values=("loss",))
    feeds = tuple(work.data.values())

    step(*feeds)
    return lambda: step(*feeds), time.perf_counter() - start


def _plain(work: Any, fast: bool) -> Any:
    """``Session.backward`` without arguments, and how long it took to make it ready."""
    from runtime.engine import Session

    start = time.perf_counter()
    session = Session(work.diagram, fast=fast)
    for name, array in work.data.items():
        session.set(name, array)

    def call() -> tuple[Any, ...]:
        run = session.backward()
        return (run.values["loss.out"], *run.gradients.values())

    call()
    return call, time.perf_counter() - start


def _calls(name: str, threads: int, only: Collection[str]) -> tuple[Any, dict[str, Any]]:
    from tests.benchmarks.peers import PEERS, installed
    from tests.benchmarks.workloads import WORKLOADS

    work = WORKLOADS[name]()
    calls: dict[str, Any] = {"build": {}}
    for system in ours():
        if system in only:
            make = _plain if system == "gradwire-plain" else _ours
            calls[system], calls["build"][system] = make(work, OURS[system])
    for peer, make in PEERS.items():
        if peer not in only or not installed(peer):
            continue
        try:
            calls[peer] = make(work, threads)
            calls[peer]()
        except (AttributeError, RecursionError) as error:
            print(f"  {peer} can't do {name}: {error}", file=sys.stderr)
            calls.pop(peer, None)
    return work, calls


def measure(name: str, threads: int, seconds: float, peers: Collection[str]) -> dict[str, Any]:
    """Medians of interleaved samples, in seconds a call, of one workload in this process."""
    work, calls = _calls(name, threads, {*OURS, *peers})
    build = calls.pop("build")
    losses = {s: float(call()[0].sum() if s in OURS else call()) for s, call in calls.items()}
    return {
        "work": name,
        "about": work.about,
        "threads": threads,
        "build": build,
        "losses": losses,
        **summary(take_turns(calls, work.calls, seconds, threads), build),
    }


def memory(name: str, system: str, threads: int) -> float:
    """Peak resident memory of this process, in MiB, after three calls of one system."""
    _, calls = _calls(name, threads, only=(system,))
    for _ in range(3):
        if system in calls:
            calls[system]()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(threads: int, module: str, *arguments: str) -> Any:
    """What a module prints as JSON, run in a process of its own with so many threads."""
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}",
    }
    command = [sys.executable, "-m", module, *arguments]
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        command = ["taskset", "-c", "0", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _child(threads: int, *arguments: str) -> Any:
    return child(threads, "tests.benchmarks.engine", *arguments)


def _print(row: dict[str, Any]) -> None:
    builds = ", ".join(
        f"{system} {seconds * 1e3:.1f} ms" for system, seconds in row["build"].items()
    )
    print(f"\n{row['work']}  {row['about']}  ({row['threads']} thread(s); ready after {builds})")
    for system, median in row["median"].items():
        ratios = "".join(
            f"{found[system]:9.2f} × {mine}"
            for mine, found in row["ratio"].items()
            if system in found
        )
        print(f"  {system:15} {median * 1e3:11.4f} ms {row['memory'][system]:7.0f} MiB"
              f"   loss {row['losses'][system]:.6g}  {ratios}", flush=True)  # fmt: skip


def markdown(rows: list[dict[str, Any]]) -> str:
    """Milliseconds and MiB of ours, and for each peer how many times as long it takes."""
    from tests.benchmarks.peers import PEERS

    mine = [system for system in OURS if any(system in row["median"] for row in rows)]
    peers = [peer for peer in PEERS if any(peer in row["median"] for row in rows)]
    heads = ["work", "threads", *(f"{system}, ms" for system in mine), "MiB", "ready, ms"]
    lines = [heads + [f"{peer} × ours" for peer in peers]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        told = [row["work"], str(row["threads"])]
        told += [f"{row['median'][system] * 1e3:.4g}" for system in mine]
        told.append(" / ".join(f"{row['memory'][system]:.0f}" for system in mine))
        told.append(" / ".join(f"{row['build'][system] * 1e3:.3g}" for system in mine))
        for peer in peers:
            ratios = [row["ratio"][system].get(peer) for system in mine]
            told.append(" / ".join(f"{r:.3g}" for r in ratios if r) or "–")
        lines.append(told)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", default=[f"W{i}" for i in range(1, 9)])
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
    rows: list[dict[str, Any]] = []
    works = [name for name in options.work if name != "W8"]
    for threads in options.threads:
        for name in works:
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
    if rows:
        print("\n" + markdown(rows) + "\n")
    start = scale.print_start() if "W8" in options.work else {}
    _write(options.json, {"work": rows, "W8": start})


def _write(path: str | None, found: Any) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
