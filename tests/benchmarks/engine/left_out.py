"""What each rewrite of the engine, and each rule of its compiler's schedules, gains:

    python -m tests.benchmarks.engine.left_out [W1 lstm …] [--rounds 7] [--json FILE]

Every work runs forward and backward with all of them, with each left out alone, and with what needs
only NumPy; all take turns in one process with one thread, and count processor time. A number is how
many times as long a step takes without it, by medians: 1.00 is a rule that this work does not need.
Losses and gradients are compared with those of all. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from gradwire.runtime.engine import Session
from gradwire.runtime.engine.compiler import products, schedule
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.plan.passes.late import DEFAULT, FAST, Pass
from tests.benchmarks.engine.__main__ import LOSSES, TOLERANCE, WORKS

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

NEVER = 1 << 40
RULES: Mapping[str, Mapping[str, Any]] = {
    "several vectors at once": {"schedule.UNITS": 1},
    "short folds written out": {"products.WRITTEN_OUT": 1},
    "squares that are turned": {"schedule.SQUARE": NEVER},
    "outer loops joined": {"schedule.SHORT": 0},
    "operands laid anew": {"products.FAR": NEVER},
    "folds of products in parts": {"products.PART": NEVER},
    "terms read as they lie": {"products.STREAM": NEVER},
    "tiles in blocks": {"products.BLOCK": NEVER},
}
"""Rules of the schedules, by what they do, and the constants with which they do nothing."""
MODULES = {"schedule": schedule, "products": products}
AGAIN = "nothing"
"""All of them once more: what this takes longer than all, where memory lies otherwise, is noise."""
LEAST = 0.012
"""Seconds that one sample lasts at least."""


def step_of(work: Workload, passes: tuple[Pass, ...], rule: Mapping[str, Any]) -> Callable[[], Any]:
    """A step of a work: its loss and gradients."""
    for chosen in (schedule._scheduled, products.tiled):
        chosen.cache_clear()  # what is kept was chosen by other rules
    with ExitStack() as changed:
        for name, value in rule.items():
            module, constant = name.split(".")
            changed.enter_context(mock.patch.object(MODULES[module], constant, value))
        session = Session(work.diagram, engine=NumpyEngine(passes, 1))
        step = session.prepare(feeds=tuple(work.data), values=("loss",))
        step(*work.data.values())
    return lambda: step(*work.data.values())


def ways(work: Workload) -> dict[str, Callable[[], Any]]:
    """Steps with all rules, and without each."""
    found = {"all": step_of(work, FAST, {}), "NumPy alone": step_of(work, DEFAULT, {})}
    for left in FAST:
        others = tuple(each for each in FAST if each is not left)
        found[left.__name__] = step_of(work, others, {})
    found |= {name: step_of(work, FAST, rule) for name, rule in RULES.items()}
    return found | {AGAIN: step_of(work, FAST, {})}


def require_equal(name: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise ValueError where a way computes another loss, which comes first, or other gradients."""
    for place, pair in enumerate(zip(found, expected, strict=True)):
        other, array = (np.asarray(0.0 if each is None else each) for each in pair)
        size = np.abs(array).max()
        tolerance = TOLERANCE * max(size, 1) if place else LOSSES * size
        if not np.abs(other - array).max() <= tolerance:
            raise ValueError(f"without {name}, result {place} is another")


def measure(work: Workload, rounds: int) -> dict[str, float]:
    """Milliseconds of a step with all, and how many times as long it takes without each."""
    steps = ways(work)
    expected = steps["all"]()
    for name, step in steps.items():
        require_equal(name, step(), expected)
    start = time.process_time()
    steps["all"]()
    count = max(1, int(LEAST / max(1e-6, time.process_time() - start)))
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds):
        for name, step in list(steps.items())[:: 1 if turn % 2 else -1]:
            start = time.process_time()
            for _ in range(count):
                step()
            samples[name].append((time.process_time() - start) / count)
    medians = {name: statistics.median(found) for name, found in samples.items()}
    base = medians.pop("all")
    return {"ms": 1e3 * base, **{name: time / base for name, time in medians.items()}}


def main() -> None:
    """Print a line for each work, and at the end the geometric mean and the most of each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("works", nargs="*", metavar="WORK", default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for name in chosen.works:
        found[name] = row = measure(WORKS[name](), chosen.rounds)
        told = [f"{rule} {ratio:.2f}" for rule, ratio in row.items() if abs(ratio - 1) >= 0.03]
        print(f"{name}: {row['ms']:.3f} ms; without {', '.join(told[1:])}", flush=True)
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    for rule in list(next(iter(found.values())))[1:]:
        ratios = {name: row[rule] for name, row in found.items()}
        mean = statistics.geometric_mean(ratios.values())
        most = max(ratios, key=lambda name: ratios[name])
        print(f"without {rule}: ×{mean:.3f} in the mean, at most ×{ratios[most]:.2f} ({most})")


if __name__ == "__main__":
    main()
