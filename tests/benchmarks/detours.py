"""Time of detours: ``python -m tests.benchmarks.detours [BLOCKS …]``.

Pages of blocks that stand about at random, with one and a half wires a block. *check* is the time
a wire takes to be found clear or not, *detour* that of a way around, with and without one found.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from app.canvas.scene.obstacles import Obstacles
from runtime.diagram.layout.measures import WIDTH

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
    times, found = [], 0
    for wire in np.flatnonzero(blocked)[:MOST].tolist():
        started = time.process_time()
        found += bool(obstacles.way(ends[wire], own[wire]))
        times.append(1e3 * (time.process_time() - started))
    middle, late = np.percentile(times, [50, 95])
    share = found / max(len(times), 1)
    return (
        f"| {count:,} | {len(own):,} | {check:.0f} µs | {blocked.sum():,} | "
        f"{middle:.2f} ({late:.2f}) ms | {share:.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", nargs="*", type=int, default=[100, 1_000, 10_000])
    print("| blocks | wires | check a wire | blocked | detour, median (p95) | found |")
    print("|---:|---:|---:|---:|---:|---:|")
    for count in parser.parse_args().blocks:
        print(measured(count))


if __name__ == "__main__":
    main()
