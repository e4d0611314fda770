"""Times every way in which the compiler may compute a store, beside what its cost model expects:
``python -m tests.benchmarks.engine.schedules``. Its constants are right where the way that is
chosen, which stands first, is about as fast as the fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from gradwire.runtime.engine.compiler.computing import Computation
from gradwire.runtime.engine.compiler.front import copy_of, store_of
from gradwire.runtime.engine.compiler.schedule import Schedule, schedules
from gradwire.runtime.engine.plan import threads

TURNS = 15
SECONDS = 0.002


def cases() -> list[tuple[str, Any, Any, Any]]:
    """A name, an array, an array for results, and the store, of each case."""
    found = []
    rng = np.random.default_rng(0)
    for shape, axis in (((1000, 1000), 0), ((5, 5000), 1), ((1000, 33), 1)):
        x = rng.standard_normal(shape).astype(np.float32)
        out = np.empty(shape, x.dtype)
        store = store_of("cumulative_sum", {"axis": axis}, x, out.strides)
        found.append((f"running sums {shape} along {axis}", x, out, store))
    for shape in ((1000, 1000), (100, 70)):
        x = rng.standard_normal(shape).astype(np.float32).T
        out = np.empty(x.shape, x.dtype)
        found.append((f"copy {shape}.T", x, out, copy_of(x, out.strides, "float32")))
    return found


def timed(ways: Sequence[Schedule], x: Any, out: Any) -> list[float]:
    """The least time of each, in turns: other work may slow all."""
    jobs = [Computation(way, x, x.size).into(out) for way in ways]
    least = [float("inf")] * len(jobs)
    numbered = [*enumerate(jobs)]
    for turn in range(TURNS):
        for i, job in numbered[:: 1 if turn % 2 else -1]:
            job()
            start, count, taken = perf_counter(), 0, 0.0
            while taken < SECONDS:
                job()
                count, taken = count + 1, perf_counter() - start
            least[i] = min(least[i], taken / count)
    return least


def main() -> None:
    """Print a line for each case."""
    threads.limit(1)
    for name, x, out, store in cases():
        ways = sorted(schedules(store), key=lambda way: way.cost)
        times = timed(ways, x, out)
        lost = times[0] / min(times)
        words = [
            f"{way.nest.lanes}×{way.nest.units}: {time * 1e6:.1f} ({way.cost / 1000:.0f})"
            for way, time in zip(ways, times, strict=True)
        ]
        print(f"{name}: {lost:.2f} of the fastest; µs (thousand cycles) {', '.join(words)}")


if __name__ == "__main__":
    main()
