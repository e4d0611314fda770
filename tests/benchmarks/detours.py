"""Time of detours: ``python -m tests.benchmarks.detours [BLOCKS …]``.

Pages of blocks that stand about at random, with one and a half wires a block. *check* is the time
a wire takes to be found clear or not, *detour* that of a way around, with and without one found,
*search* that of the search that follows while idle where none was found.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.app.canvas.scene.obstacles import Obstacles
from gradwire.runtime.diagram.layout.measures import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.runtime.diagram.model import Route

HEIGHT = 80.0
PORT = 37.0
MOST = 400
"""Detours that are measured, at most."""


def scattered(count: int, seed: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Rectangles (n, 4) of blocks in a loose grid, and the ends (m, 2) of wires to the right."""
    random, side = np.random.default_rng(seed), int(np.ceil(count**0.5))
    row, column = np.divmod(np.arange(count), side)
    x = 260.0 * column + random.integers(-40, 40, count)
    y = 150.0 * row + random.integers(-30, 30, count)
    rects = np.column_stack([x, y, np.full(count, WIDTH), np.full(count, HEIGHT)])
    wires = 3 * count // 2
    source = random.integers(0, count, wires)
    along, across = random.integers(1, 5, wires), random.integers(-2, 3, wires)
    target = np.clip(source + along + side * across, 0, count - 1)
    return rects, np.column_stack([source, target])[source != target].astype(np.int32)


def measured(count: int) -> str:
    """A row of the table for a page of so many blocks."""
    rects, own = scattered(count)
    begin = rects[own[:, 0], :2] + (WIDTH, PORT)
    ends = np.concatenate([begin, rects[own[:, 1], :2] + (0.0, PORT)], axis=1)
    started = time.process_time()
    obstacles = Obstacles(rects)
    blocked = obstacles.blocked(ends, own)
    check = 1e6 * (time.process_time() - started) / len(own)
    tried = np.flatnonzero(blocked)[:MOST].tolist()
    short, short_times = timed(obstacles.way, ends, own, tried)
    stuck = [wire for wire, found in zip(tried, short, strict=True) if not found]
    long, long_times = timed(obstacles.long_way, ends, own, stuck)
    middle, late = np.percentile(short_times, [50, 95])
    share, all_found = (
        found / max(len(tried), 1) for found in (sum(short), sum(short) + sum(long))
    )
    searched = (
        f"{np.median(long_times):.1f} ({np.percentile(long_times, 95):.1f}) ms" if stuck else "-"
    )
    return (
        f"| {count:,} | {len(own):,} | {check:.0f} µs | {blocked.sum():,} | "
        f"{middle:.2f} ({late:.2f}) ms | {share:.1%} | {searched} | {all_found:.1%} |"
    )


def timed(
    way: Callable[[NDArray[np.float64], NDArray[np.int32]], Route],
    ends: NDArray[np.float64],
    own: NDArray[np.int32],
    wires: list[int],
) -> tuple[list[bool], list[float]]:
    """Which wires have found a way, and how many ms each took."""
    found, times = [], []
    for wire in wires:
        started = time.process_time()
        found.append(bool(way(ends[wire], own[wire])))
        times.append(1e3 * (time.process_time() - started))
    return found, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", nargs="*", type=int, default=[100, 1_000, 10_000])
    print("| blocks | wires | check a wire | blocked | detour, median (p95) | found "
          "| search, median (p95) | found with it |")  # fmt: skip
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for count in parser.parse_args().blocks:
        print(measured(count))


if __name__ == "__main__":
    main()
