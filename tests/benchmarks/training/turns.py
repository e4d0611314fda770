"""Times systems that take turns, so that a slow moment of the machine hits all alike."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

Samples = dict[str, list[float]]
"""Seconds a call, by system; the samples with one number were taken in one turn."""

FEWEST = 5
"""Samples of each system."""


def take_turns(
    calls: Mapping[str, Callable[[], Any]], each: int, seconds: float, threads: int
) -> Samples:
    """Samples of ``each`` calls, in turns of any order, until ``seconds`` a system have passed.

    Of processor time where there is one thread: what else the machine does does not count.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    samples: Samples = {system: [] for system in calls}
    shuffled = random.Random(0)
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or min(map(len, samples.values())) < FEWEST:
        for system in shuffled.sample(list(calls), len(calls)):
            call = calls[system]
            call()  # whoever was before leaves cold caches
            start = clock()
            for _ in range(each):
                call()
            samples[system].append((clock() - start) / each)
    return samples


def summary(samples: Samples, ours: Collection[str]) -> dict[str, Any]:
    """Medians, and for each of ours the median over turns of how many times as long others take."""
    return {
        "median": {system: statistics.median(times) for system, times in samples.items()},
        "ratio": {
            mine: {
                system: statistics.median(
                    peer / own for peer, own in zip(samples[system], samples[mine], strict=True)
                )
                for system in samples
                if system not in ours
            }
            for mine in ours
        },
    }
