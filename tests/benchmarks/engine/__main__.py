"""Ratios against the peers, for what the engine was tuned for and for what people really run.

    python -m tests.benchmarks.engine [W1 W4 lstm …] [--threads 1 2] [--seconds 2] [--json FILE]
                                      [--systems gradwire torch …] [--without torch-compiled …]
                                      [--python tensorflow=/path/to/bin/python …]

Each system has a process of its own, bound to one processor where it has one thread. Loss and
gradients of all are compared first; then they take turns in any order, sample by sample, and count
their own processor time (with several threads, time on the clock). Besides: how long each takes to
be ready, from the imported libraries to the first results, and the most memory it had.

Systems that can't share an environment are run by the interpreter that ``--python`` gives for
them; it must find numpy and pydantic. The table at the end is Markdown. Not a test: it prints
numbers.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.engine import networks, simulations, tables
from tests.benchmarks.engine.servers import Server, serve
from tests.benchmarks.engine.systems import OURS, SYSTEMS
from tests.benchmarks.training.turns import FEWEST, Samples, summary
from tests.benchmarks.workloads import WORKLOADS

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

WORKS: dict[str, Callable[[], Workload]] = {
    **WORKLOADS,
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
    "kernel": simulations.kernel,
    "heat": simulations.heat,
    "pendulums": simulations.pendulums,
    "powers": simulations.powers,
    "mixture": simulations.mixture,
    "solver": simulations.solver,
    "bodies": simulations.bodies,
}
TOLERANCE = 2e-4
"""The largest difference of gradients, as a share of their largest element."""
LOSSES = 1e-3
"""The largest difference of losses, as a share: some add up millions of elements one by one."""
SAMPLE = 0.02
"""Seconds that one sample lasts at least."""
SAMPLE_OF_THREADS = 0.2
"""The same with several threads, which are woken slowly until they have worked a while."""
PAUSE = 0.25
"""Seconds before such a sample: threads of libraries go on waiting for work on the processors."""


def difference(folder: str, system: str) -> float:
    """The largest difference of a system's gradients from those of our kernels, as a share.

    Of the largest element of each, or of a thousandth of the largest of all gradients: some are 0
    but for rounding, such as that of the bias of keys. What has no gradient here may be 0
    elsewhere. Raises ValueError where a difference is too large.
    """
    expected, found = (
        dict(np.load(Path(folder) / f"{each}.npz")) for each in (OURS[0], system)
    )  # fmt: skip
    loss = float(expected.pop("loss"))
    if not abs(float(found.pop("loss")) - loss) < LOSSES * abs(loss):
        raise ValueError("its loss is another")
    least = max(np.abs(array).max() for array in expected.values()) / 1000
    worst = 0.0
    for name in found.keys() | expected.keys():
        array = expected.get(name, np.float32(0))
        away = np.abs(found.get(name, 0) - array).max()
        error = float(away / max(np.abs(array).max(), least))
        if not error < TOLERANCE:
            raise ValueError(f"its gradient of {name} differs by {error:.2g}")
        worst = max(worst, error)
    return worst


def measure(name: str, pythons: Mapping[str, str], seconds: float, threads: int) -> dict[str, Any]:
    """Ratios, times, memory and ready times of one workload."""
    with tempfile.TemporaryDirectory() as folder:
        servers: dict[str, Server] = {}
        worst = 0.0
        for system, python in pythons.items():  # one after another: none is ready in a hurry
            server = Server(name, system, folder, threads, python)
            try:
                server.require_ready()
                worst = max(worst, difference(folder, system))
                servers[system] = server
            except ValueError as error:
                print(f"  {name} without {system}: {error}", file=sys.stderr)
                server.end()
        lasting = SAMPLE if threads == 1 else SAMPLE_OF_THREADS
        counts = {s: max(1, round(lasting / server.take(1))) for s, server in servers.items()}
        samples: Samples = {system: [] for system in servers}
        shuffled = random.Random(0)
        end = time.perf_counter() + seconds * len(servers)
        while time.perf_counter() < end or min(map(len, samples.values())) < FEWEST:
            for system in shuffled.sample(list(servers), len(servers)):
                time.sleep(0 if threads == 1 else PAUSE)
                samples[system].append(servers[system].take(counts[system]))
        for server in servers.values():
            server.end()
    return {
        "work": name,
        "about": WORKS[name]().about,
        "threads": threads,
        "difference": worst,
        "ready": {s: server.ready for s, server in servers.items()},
        "memory": {s: server.memory for s, server in servers.items()},
        **summary(samples, [s for s in OURS if s in servers]),
    }


def _print(row: Mapping[str, Any]) -> None:
    print(f"\n{row['work']}  {row['about']}  ({row['threads']} thread(s); results within "
          f"{row['difference']:.1g})")  # fmt: skip
    for system, median in row["median"].items():
        ratios = "".join(
            f"{found[system]:9.2f} × {mine}"
            for mine, found in row["ratio"].items()
            if system in found
        )
        print(f"  {system:15} {median * 1e3:10.4f} ms {row['memory'][system]:6.0f} MiB"
              f"   ready {row['ready'][system]:7.2f} s {ratios}", flush=True)  # fmt: skip


def markdown(rows: list[dict[str, Any]]) -> str:
    """Our milliseconds and how many times as long the peers take; MiB; seconds to be ready."""
    systems = [s for s in SYSTEMS if any(s in row["median"] for row in rows)]
    mine = [s for s in systems if s in OURS]
    others = [s for s in systems if s not in OURS]
    times = [["work", "threads", *(f"{s}, ms" for s in mine), *others]]
    for row in rows:
        own = [f"{row['median'][s] * 1e3:.3g}" if s in row["median"] else "–" for s in mine]
        ratios = [[row["ratio"].get(s, {}).get(other) for s in mine] for other in others]
        told = [" / ".join(f"{r:.2f}" for r in each if r) or "–" for each in ratios]
        times.append([row["work"], str(row["threads"]), *own, *told])
    return "\n\n".join([
        f"Ours, and how many times as long others take as {' / '.join(mine)}:\n\n{_table(times)}",
        f"The most memory, MiB:\n\n{_table(_of_all(rows, systems, 'memory', '.0f'))}",
        f"Ready after, s:\n\n{_table(_of_all(rows, systems, 'ready', '.2f'))}",
    ])  # fmt: skip


def _of_all(
    rows: list[dict[str, Any]], systems: Collection[str], what: str, form: str
) -> list[list[str]]:
    return [["work", "threads", *systems]] + [
        [row["work"], str(row["threads"]),
         *(format(row[what][s], form) if s in row[what] else "–" for s in systems)]
        for row in rows
    ]  # fmt: skip


def _table(lines: list[list[str]]) -> str:
    head, *rest = lines
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rest))


def installed(python: str, systems: Collection[str]) -> list[str]:
    """Those of some systems that an interpreter finds."""
    names = sorted({SYSTEMS[system][0] for system in systems})
    find = "import sys, importlib.util as u; print(*filter(u.find_spec, sys.argv[1:]))"
    done = subprocess.run(
        [python, "-c", find, *names], capture_output=True, text=True, check=True
    )  # fmt: skip
    return [system for system in systems if SYSTEMS[system][0] in done.stdout.split()]


def pythons(systems: Collection[str], given: Iterable[str]) -> dict[str, str]:
    """The interpreter of each system that can be had."""
    chosen = dict.fromkeys(systems, sys.executable)
    for each in given:
        system, _, python = each.partition("=")
        if system not in SYSTEMS or not python:
            raise SystemExit(f"--python wants SYSTEM=PATH with one of {', '.join(SYSTEMS)}: {each}")
        chosen[system] = python
    found = {python: installed(python, systems) for python in set(chosen.values())}
    return {system: python for system, python in chosen.items() if system in found[python]}


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", default=list(WORKS))
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--without", nargs="+", default=[], choices=list(SYSTEMS))
    parser.add_argument("--python", nargs="+", default=[], metavar="SYSTEM=PATH")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json")
    parser.add_argument("--serve")
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    if options.serve:
        serve(WORKS[options.work[0]], options.serve, options.folder, options.threads[0])
        return
    wanted = [s for s in options.systems if s not in options.without]
    systems = pythons(list(dict.fromkeys([OURS[0], *wanted])), options.python)
    print("Absent: " + (", ".join(s for s in wanted if s not in systems) or "none"))
    rows = []
    for threads in options.threads:
        for name in options.work:
            rows.append(measure(name, systems, options.seconds, threads))
            _print(rows[-1])
            if options.json:  # what is measured is kept, whatever becomes of the rest
                Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("\n" + markdown(rows))


if __name__ == "__main__":
    main()
