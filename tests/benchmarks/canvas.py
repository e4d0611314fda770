"""Frames of the editor: ``python -m tests.benchmarks.canvas [BLOCKS …] [--json FILE]``.

CPU milliseconds of the GUI thread, median and 95th percentile, in windows of 1,600 × 1,000 px,
for diagrams with one and a half wires a block, all of them with values and a state. Ours is the
real window with all its panels; its results are made up, so that no run of the diagram is
measured with its frames, or (RealGradwire) those of a run that is over. Beside it stand a
QGraphicsView with an item a block and wire, as people write it, the same with cached items and a
level of detail, and NodeGraphQt where it is installed. Each is measured in a process of its own,
which is given ``--limit`` seconds; a measurement that its system has no time left for shows a dash.

A *zoom step* is one of the wheel between 50 and 100 %; *drop one* is the release of a block that
was dragged, an edit that can be undone; *add one* a drop of a block from the palette, *connect* the
release of a wire that was drawn to an input, *delete one* the key, all without the results that
follow.
*open* reads the file, checks it, and ends with the first frame, in all threads. *memory* is what
the process has grown by since the empty window was shown. *save* and *load* are the file alone;
of the others, *load* is the parsing of a file of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np

if TYPE_CHECKING:
    from tests.benchmarks.diagrams import Drawing

FRAMES = 60
FEW = 10
"""Frames of what a user does once: moving all, undoing a deletion, saving, loading."""
PATIENCE = 15.0
"""Seconds after which a measurement is content with the frames that it has."""
Frames: TypeAlias = Iterable[Callable[[], object]]
Table: TypeAlias = dict[str, tuple[float, float]]
"""Median and 95th percentile by measurement; for memory both are MiB."""


class Editor(Protocol):
    """One system with a window; each method yields the frames of one measurement."""

    def prepare(self, drawing: Drawing) -> None:
        """Make what is known of the diagram before it is opened: its results."""

    def open(self) -> None:
        """Show the diagram from its file."""

    def measurements(self) -> Mapping[str, Callable[[], Frames]]:
        """The rest of the table, in order."""


def measured(frames: Frames, most: int) -> tuple[float, float]:
    """Median and 95th percentile of the calls' CPU time in this thread, ms."""
    times: list[float] = []
    until = time.monotonic() + PATIENCE
    for frame in islice(frames, most):
        start = time.thread_time()
        frame()
        times.append(1e3 * (time.thread_time() - start))
        if time.monotonic() > until:
            break
    return float(np.median(times)), float(np.percentile(times, 95))


def resident() -> float:
    """Memory of this process, MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(system: str, count: int) -> Iterable[tuple[str, tuple[float, float]]]:
    """The rows of one system, one by one as they are known."""
    from tests.benchmarks import canvases
    from tests.benchmarks.diagrams import Drawing

    drawing = Drawing(count)
    editor: Editor = getattr(canvases, system)()
    editor.prepare(drawing)
    before = resident()
    start = time.process_time()
    editor.open()
    yield "open", (1e3 * (time.process_time() - start),) * 2
    yield "memory", (resident() - before,) * 2
    for title, frames in editor.measurements().items():
        yield title, measured(frames(), FEW if title in canvases.ONCE else FRAMES)


def told(system: str, count: int, limit: float) -> Table:
    """The rows that a process of its own measures within ``limit`` seconds."""
    command = [sys.executable, "-m", "tests.benchmarks.canvas", "--only", system, str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.kill()
    output = process.communicate()[0]
    return {title: tuple(pair) for title, pair in map(json.loads, output.splitlines())}


def table(results: Mapping[tuple[str, int], Table], systems: list[str], counts: list[int]) -> str:
    """The results in Markdown, ``median (p95)``."""
    rows = list(dict.fromkeys(title for known in results.values() for title in known))
    lines = []
    for count in counts:
        lines += [
            f"| {count:,} blocks | " + " | ".join(systems) + " |",
            "|---" * (len(systems) + 1) + "|",
        ]
        for row in rows:
            cells = (_cell(row, results[system, count].get(row)) for system in systems)
            lines.append(f"| {row} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _cell(row: str, pair: tuple[float, float] | None) -> str:
    if pair is None:
        return "—"
    median, p95 = (f"{x:.0f}" if x >= 20 else f"{x:.1f}" for x in pair)
    return f"{median} MiB" if row == "memory" else f"{median} ({p95})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", nargs="*", type=int, default=[100, 1_000, 5_000, 10_000])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--limit", type=float, default=240.0)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    if chosen.only:
        for row in measure(chosen.only, chosen.blocks[0]):
            print(json.dumps(row), flush=True)
        os._exit(0)  # not measured: the end of what was built
    systems = ["Gradwire", "RealGradwire", "GraphicsView", "CoarseGraphicsView"]
    if find_spec("NodeGraphQt"):
        systems.append("NodeGraphQt")
    else:
        print("NodeGraphQt is not installed here.")
    results = {
        (system, count): told(system, count, chosen.limit)
        for count in chosen.blocks
        for system in systems
    }
    print(table(results, systems, chosen.blocks))
    if chosen.json:
        rows = [
            {"system": system, "blocks": count, "cpu_ms": known}
            for (system, count), known in results.items()
        ]
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
