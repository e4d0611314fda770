"""How time and memory grow with a diagram: ``python -m tests.benchmarks.growth [--memory]``.

Each stage in processor time, the best of several processes, and the exponent of its growth from
10,000 to 100,000 blocks: 1 is linear. ``build*`` is building without the garbage collector. With
``--memory``, what stays allocated for each block.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gradwire.runtime.diagram import Diagram, Page, load, save
from gradwire.runtime.diagram.checks.checks import check
from gradwire.runtime.diagram.layout.arranging import arrange
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.gc_pause import uncollected
from gradwire.runtime.interchange.importing.formats import import_here
from gradwire.runtime.interchange.importing.options import DEFAULTS
from tests.benchmarks.growth.drawings import DRAWINGS, built, chain, onnx_chain

T = TypeVar("T")
SIZES = (10_000, 100_000)


class Stages:
    """Runs the stages of one diagram in order and notes what each took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.kibibytes: dict[str, float] = {}
        self.resident: dict[str, float] = {}

    def run(self, name: str, work: Callable[[], T]) -> T:
        """What ``work`` returns."""
        gc.collect()
        before, resident = tracemalloc.get_traced_memory()[0], _resident()
        start = time.process_time()
        found = work()
        self.seconds[name] = time.process_time() - start
        gc.collect()
        self.kibibytes[name] = (tracemalloc.get_traced_memory()[0] - before) / 1024
        self.resident[name] = (_resident() - resident) / 1024
        return found


def _resident() -> float:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096.0


def staged(kind: str, count: int, traced: bool) -> dict[str, Any]:
    """All stages of one diagram, here: seconds, and KiB that stay allocated."""
    stages = Stages()
    small = Session(DRAWINGS.get(kind, chain)(100))  # whatever is only loaded or built once
    small.prepare(values=small.losses)()
    flow = analyse(small)
    assert all(flow.verdict(wire).sentence for wire in small.program.wire_sources)
    if traced:
        tracemalloc.start()
    if kind == "mesh" and not traced:
        stages.run("build", lambda: built(count))
        with uncollected():  # while expressions are written, the user's program collects, or not
            stages.run("build*", lambda: built(count))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawing.gradwire.json"
        if kind == "onnx":
            model = onnx_chain(count - 2, Path(folder) / "chain.onnx")
            found = stages.run("import", lambda: import_here(model, DEFAULTS)).diagram
            drawing = Diagram({"main": Page(found.main.blocks, found.main.wires)})
        else:
            drawing = DRAWINGS[kind](count)
        blocks = len(drawing.main.blocks)
        drawing = stages.run("arrange", lambda: arrange(drawing))
        stages.run("save", lambda: save(drawing, path))
        diagram = stages.run("load", lambda: load(path))
    if kind == "onnx":  # it has no loss
        return {"blocks": blocks, "seconds": stages.seconds, "kib": stages.kibibytes,
                "resident": stages.resident}  # fmt: skip
    assert not stages.run("check", lambda: check(diagram))
    session = stages.run("trace", lambda: Session(diagram))
    flow = stages.run("analyse", lambda: analyse(session))
    stages.run("states", flow.prepare)
    wires = list(session.program.wire_sources)
    with uncollected():  # one full collection takes as long as a third of all verdicts
        kept = stages.run("verdicts", lambda: [flow.verdict(wire) for wire in wires])
    assert all(verdict.sentence for verdict in kept)
    call = stages.run("prepare", lambda: session.prepare(values=session.losses))
    stages.run("call", call)
    return {"blocks": blocks, "seconds": stages.seconds, "kib": stages.kibibytes,
            "resident": stages.resident}  # fmt: skip


def _child(kind: str, count: int, *flags: str) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, "--child", kind, str(count), *flags]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return found


def print_times(kinds: list[str], repeats: int) -> None:
    """A table for each kind: microseconds a block at both sizes, and the exponent."""
    for kind in kinds:
        best: dict[int, dict[str, float]] = {}
        for count in SIZES * repeats:
            row = _child(kind, count)
            each = {name: s / row["blocks"] for name, s in row["seconds"].items()}
            known = best.setdefault(count, each)
            best[count] = {name: min(each[name], known[name]) for name in each}
        small, large = (best[count] for count in SIZES)
        print(f"\n{kind:10}" + "".join(f"{count:>12,}" for count in SIZES) + "   µs a block")
        span = math.log(SIZES[1] / SIZES[0])
        for name in large:
            exponent = 1 + math.log(large[name] / small[name]) / span
            print(f"{name:10}{small[name] * 1e6:>12.2f}{large[name] * 1e6:>12.2f}"
                  f"{exponent:>8.3f}", flush=True)  # fmt: skip


def print_memory(kinds: list[str], count: int) -> None:
    """KiB that stay allocated for each block, stage by stage: counted, and resident."""
    for kind in kinds:
        traced, plain = _child(kind, count, "--traced"), _child(kind, count)
        print(f"\n{kind:10}{'counted':>10}{'resident':>10}   KiB a block, of {count:,}")
        for name, kib in traced["kib"].items():
            print(f"{name:10}{kib / traced['blocks']:>10.2f}"
                  f"{plain['resident'][name] / plain['blocks']:>10.2f}", flush=True)  # fmt: skip
        counted, resident = sum(traced["kib"].values()), sum(plain["resident"].values())
        print(f"{'together':10}{counted / traced['blocks']:>10.2f}"
              f"{resident / plain['blocks']:>10.2f}", flush=True)  # fmt: skip


def main() -> None:
    """Print times or memory, or with ``--child`` the stages of one diagram as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*DRAWINGS, "onnx"])
    parser.add_argument("--memory", action="store_true", help="KiB for each block")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--traced", action="store_true")
    options = parser.parse_args()
    if options.child:
        kind, count = options.kinds
        print(json.dumps(staged(kind, int(count), options.traced)))
    elif options.memory:
        print_memory(options.kinds, SIZES[1])
    else:
        print_times(options.kinds, options.repeats)


if __name__ == "__main__":
    main()
