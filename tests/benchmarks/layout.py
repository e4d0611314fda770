"""Quality of automatic layouts: ``python -m tests.benchmarks.layout [GRAPH …] [--fuzz N]``.

One row for each layout of each graph: wires behind blocks, crossings, quarter turns a wire, length
of all wires, area, zoom at which it fits 1,600 × 1,000 px, overlapping blocks, processor time.
Beside ours stand ELK layered, where ``node`` finds ``elkjs`` (``npm install elkjs`` in the folder
that the variable ELK_HOME names, or here), and Graphviz dot, where it is installed. They get blocks
of our sizes, with ports where ours are. Crossings within one output's wires don't count.

``--fuzz N`` also lays out N random pages, every fourth with cycles, and as many with frames and
notes, also with collapsed blocks and own parameters, and counts what is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.diagram import Arrange, apply
from gradwire.runtime.diagram.layout.arranging import arrangement
from gradwire.runtime.diagram.layout.graph import LayoutGraph
from gradwire.runtime.diagram.layout.measures import (
    COLUMN_GAP,
    FOOT,
    HEADER,
    PITCH,
    ROW,
    ROW_GAP,
    WIDTH,
)
from tests.benchmarks.drawings import Drawing, drawing, outputs_of
from tests.benchmarks.graphs import example_pages, framed, fuzzed, made_graphs, varied

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

PATIENCE = 120.0
"""Seconds that a layout of others may take."""
_ELK = """
const ELK = require('elkjs/lib/elk.bundled.js');
const graph = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const started = process.cpuUsage();
new ELK().layout(graph).then(found => {
  const used = process.cpuUsage(started);
  console.log(JSON.stringify({found, seconds: (used.user + used.system) / 1e6}));
});
"""
_ELK_OPTIONS = {
    "elk.algorithm": "layered",
    "elk.direction": "RIGHT",
    "elk.edgeRouting": "ORTHOGONAL",
    "elk.spacing.nodeNode": str(ROW_GAP),
    "elk.layered.spacing.nodeNodeBetweenLayers": str(COLUMN_GAP),
    "elk.spacing.edgeNode": str(PITCH),
    "elk.spacing.edgeEdge": str(PITCH),
    "elk.layered.spacing.edgeEdgeBetweenLayers": str(PITCH),
}
_DOT_HEAD = "digraph { rankdir=LR; nodesep=0.5; ranksep=1.1; node [shape=plain]; edge [dir=none];"


def ours(diagram: Diagram, page: str) -> tuple[Drawing, float]:
    """Arrange, from scratch; the best time of three."""
    bare = replace(diagram.pages[page], layout={}, bends={}, routes={})
    diagram = diagram.with_page(page, bare)
    seconds = []
    for _ in range(3):
        started = time.process_time()
        found = arrangement(diagram, page)
        seconds.append(time.process_time() - started)
    return drawing(diagram, page, *found[:3]), min(seconds)


def elk(diagram: Diagram, page: str) -> tuple[Drawing, float] | None:
    """ELK layered with square routes; None where it is not installed or fails."""
    graph = LayoutGraph.of(diagram, page)
    edges = [
        {"id": f"e{i}", "sources": [f"o{line.tail}_{line.leaves}"],
         "targets": [f"i{line.head}_{line.enters}"]}
        for i, line in enumerate(graph.lines)
    ]  # fmt: skip
    children = [
        {"id": f"n{i}", "width": WIDTH, "height": height, "ports": list(_elk_ports(graph, i)),
         "layoutOptions": {"elk.portConstraints": "FIXED_POS"}}
        for i, height in enumerate([node.height for node in graph.nodes])
    ]  # fmt: skip
    job = {"id": "root", "layoutOptions": _ELK_OPTIONS, "children": children, "edges": edges}
    answer = _answer(["node", "--stack-size=60000", "-e", _ELK], json.dumps(job))
    if answer is None:
        return None
    found = answer["found"]
    corners = {child["id"]: (child["x"], child["y"]) for child in found["children"]}
    lines = {}
    for edge in found["edges"]:
        (section,) = edge["sections"]
        points = [section["startPoint"], *section.get("bendPoints", ()), section["endPoint"]]
        lines[edge["id"]] = np.array([(point["x"], point["y"]) for point in points])
    at = np.array([corners[f"n{i}"] for i in range(len(graph.names))])
    return _drawn(graph, at, [lines[f"e{i}"] for i in range(len(edges))]), answer["seconds"]


def _elk_ports(graph: LayoutGraph, node: int) -> Iterator[dict[str, Any]]:
    places = {(f"o{node}_{line.leaves}", WIDTH, line.leaves, "EAST")
              for line in graph.lines if line.tail == node}  # fmt: skip
    places |= {(f"i{node}_{line.enters}", 0.0, line.enters, "WEST")
               for line in graph.lines if line.head == node}  # fmt: skip
    for name, x, y, side in sorted(places):
        options = {"elk.port.side": side}
        yield {"id": name, "x": x, "y": y, "width": 0, "height": 0, "layoutOptions": options}


def dot(diagram: Diagram, page: str) -> tuple[Drawing, float] | None:
    """Graphviz dot with splines; None where it is not installed or fails."""
    graph = LayoutGraph.of(diagram, page)
    text = [
        _DOT_HEAD,
        *(
            f"n{i} [label=<{_table(h)}>];"
            for i, h in enumerate([node.height for node in graph.nodes])
        ),
    ]
    for i, line in enumerate(graph.lines):
        ends = (f"n{line.tail}:o{_row(line.leaves)}:e", f"n{line.head}:i{_row(line.enters)}:w")
        text.append(f"{ends[0]} -> {ends[1]} [id={i}];")
    started = time.perf_counter()
    answer = _answer(["dot", "-Tjson"], "\n".join([*text, "}"]))
    seconds = time.perf_counter() - started
    if answer is None or len(answer.get("edges", ())) < len(graph.lines):
        return None
    corners = np.zeros((len(graph.names), 2))
    for thing in answer["objects"]:
        x, y = map(float, thing["pos"].split(","))
        node = int(thing["name"][1:])
        corners[node] = x - WIDTH / 2.0, -y - [node.height for node in graph.nodes][node] / 2.0
    lines: list[Any] = [None] * len(graph.lines)
    for edge in answer["edges"]:
        points = [p.split(",") for p in edge["pos"].split() if p[0] not in "es"]
        lines[int(edge["id"])] = _cubics(np.array(points, np.float64) * (1.0, -1.0))
    return _drawn(graph, corners, lines), seconds


def _row(offset: float) -> int:
    return int((offset - HEADER) // ROW)


def _table(height: float) -> str:
    """A block as dot draws tables: a header, a row for each line of ports, and a foot."""
    count = round((height - HEADER - FOOT) / ROW)
    half, wide = f'WIDTH="{WIDTH / 2.0}"', f'COLSPAN="2" WIDTH="{WIDTH}"'
    cell = f'<TD {half} HEIGHT="{ROW}" FIXEDSIZE="TRUE" PORT="{{}}"></TD>'
    rows = "".join(f"<TR>{cell.format(f'i{i}')}{cell.format(f'o{i}')}</TR>" for i in range(count))
    head, foot = (
        f'<TR><TD {wide} HEIGHT="{size}" FIXEDSIZE="TRUE"></TD></TR>' for size in (HEADER, FOOT)
    )
    frame = 'BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"'
    return f"<TABLE {frame}>{head}{rows}{foot}</TABLE>"


def _cubics(points: Any, steps: int = 12) -> Any:
    t = np.linspace(0.0, 1.0, steps + 1)[1:, None]
    s = 1.0 - t
    parts = [points[:1]]
    for i in range(0, len(points) - 1, 3):
        a, b, c, d = points[i : i + 4]
        parts.append(s**3 * a + 3 * s * s * t * b + 3 * s * t * t * c + t**3 * d)
    return np.concatenate(parts)


def _answer(command: list[str], text: str) -> Any:
    """What a program prints as JSON; None if it is not there, fails, or takes too long."""
    if shutil.which(command[0]) is None:
        return None
    folder = os.environ.get("ELK_HOME") or None
    try:
        done = subprocess.run(
            command, input=text, text=True, capture_output=True, timeout=PATIENCE, cwd=folder
        )
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None


def _drawn(graph: LayoutGraph, corners: Any, lines: list[Any]) -> Drawing:
    sizes = np.column_stack([np.full(len(corners), WIDTH), [node.height for node in graph.nodes]])
    ends = np.array([line[:2] for line in graph.lines], np.intp).reshape(-1, 2)
    return Drawing(
        np.concatenate([corners, corners + sizes], axis=1), ends, outputs_of(graph), lines
    )


COLUMNS = (
    ("behind", 7), ("crossings", 10), ("turns", 6), ("length k", 9), ("area M", 7), ("zoom %", 7),
    ("overlaps", 9), ("ms", 8),
)  # fmt: skip


def numbers(found: Drawing, seconds: float) -> list[float]:
    """The row of the table."""
    width, height = found.size()
    turns = found.bends() / max(len(found.lines), 1)
    return [
        found.behind(), found.crossings(), turns, found.length() / 1e3, width * height / 1e6,
        100.0 * found.zoom(), found.overlaps(), 1e3 * seconds,
    ]  # fmt: skip


def show(graph: str, layout: str, row: Iterable[float]) -> None:
    """Print a row."""
    cells = (
        f"{value:{width}.0f}" if value == int(value) or value > 100 else f"{value:{width}.1f}"
        for value, (_, width) in zip(row, COLUMNS, strict=True)
    )
    print(f"{graph:16}{layout:6}", *cells, flush=True)


FLAWS = ("wires behind", "overlaps", "something on a note", "a stranger in a frame")


def flaws(found: Drawing) -> list[int]:
    """How many there are of each of FLAWS."""
    return [found.behind(), found.overlaps(), found.covered(), found.strangers()]


def fuzz(kind: str, pages: Iterable[Diagram]) -> None:
    """Lay out random pages and print how many have a flaw."""
    count, counts, differ, changed = 0, np.zeros(len(FLAWS), int), 0, 0
    for diagram in pages:
        found = arrangement(diagram, "main")
        counts += np.sign(flaws(drawing(diagram, "main", *found[:3])))
        differ += found != arrangement(diagram, "main")
        once = apply(diagram, Arrange()).after
        changed += apply(once, Arrange()).after != once
        count += 1
    print(f"{count} {kind}:", *(f"{n} with {flaw}," for n, flaw in zip(counts, FLAWS, strict=True)),
          f"{differ} that differ on repeat, {changed} that change if arranged again")  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("graphs", nargs="*", help="names of graphs; all by default")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N", help="random pages as well")
    chosen = parser.parse_args()
    layouts = {"ours": ours, "elk": elk, "dot": dot}
    print(f"{'graph':16}{'':6}", *(f"{name:>{width}}" for name, width in COLUMNS))
    for name, diagram in made_graphs().items():
        for layout, lay in layouts.items() if not chosen.graphs or name in chosen.graphs else ():
            if found := lay(diagram, "main"):
                show(name, layout, numbers(*found))
    if not chosen.graphs or "examples" in chosen.graphs:
        for layout, lay in layouts.items():
            rows = [numbers(*f) for d, page in example_pages().values() if (f := lay(d, page))]
            if rows:
                show("examples, sum", layout, np.sum(rows, axis=0))
                show("examples, max", layout, np.max(rows, axis=0))
    if chosen.fuzz:
        fuzz("random pages", map(fuzzed, range(chosen.fuzz)))
        fuzz("pages with frames and notes", map(framed, range(chosen.fuzz)))
        fuzz("pages with frames and collapsed blocks", map(varied, range(chosen.fuzz)))


if __name__ == "__main__":
    main()
