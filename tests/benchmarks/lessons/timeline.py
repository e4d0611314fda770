"""What recording a timeline takes and keeps: ``python -m tests.benchmarks.lessons.timeline``.

The first recording of a session finds the structure of its gradients and makes the plan of the
run; the second only runs and lists the events. Seconds are of processor time; MiB are what the
timeline keeps alive, with everything that the session has gained by it.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import time
import tracemalloc
from collections.abc import Callable

from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.timeline import record
from tests.benchmarks.flow import TANH, _out, chain, ladder, wide
from tests.benchmarks.workloads import w2


def tower(count: int) -> Diagram:
    """One block behind the other, and gradient through all of them."""
    blocks = {"w": Variable(value=0.5), "loss": Loss()}
    wires = {PortName("loss", "x"): _out(f"b{count - 1}")}
    for i in range(count):
        blocks[f"b{i}"] = TANH()
        wires[PortName(f"b{i}", "x")] = _out(f"b{i - 1}" if i else "w")
    return Diagram({MAIN: Page(blocks, wires)})


def scalars(count: int) -> Diagram:
    """Scalar operations that each read two of the 30 before them, from ten variables."""
    return w2(count).diagram


SHAPES: dict[str, Callable[[int], Diagram]] = {
    "tower": tower, "chain": chain, "wide": wide, "ladder": ladder, "scalars": scalars,
}  # fmt: skip


def measure(name: str, count: int) -> None:
    """Print the seconds of a first and a second recording, and the MiB that the first keeps."""
    session = Session(SHAPES[name](count))
    seconds = []
    for _ in range(2):
        start = time.process_time()
        timeline = record(session)
        seconds.append(time.process_time() - start)
    session = Session(SHAPES[name](count))
    gc.collect()
    tracemalloc.start()
    kept = record(session)
    gc.collect()
    now, peak = (size / 2**20 for size in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    assert len(kept) == len(timeline)
    first, again = seconds
    print(
        f"{name:8} {count:7,} blocks  {len(timeline):7,} events  first {first:6.2f} s  "
        f"again {again:6.2f} s  keeps {now:6.1f} MiB  at most {peak:6.1f} MiB"
    )


def profile(name: str, count: int) -> None:
    """Print where the first recording spends its time."""
    session = Session(SHAPES[name](count))
    profiler = cProfile.Profile()
    profiler.runcall(record, session)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(70)


def main() -> None:
    """Measure every shape, or profile one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--profile", choices=SHAPES, help="print where the time of one shape goes")
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=[*SHAPES])
    given = parser.parse_args()
    if given.profile:
        profile(given.profile, given.blocks)
    else:
        for name in given.shapes:
            measure(name, given.blocks)


if __name__ == "__main__":
    main()
