"""Living pages of all examples and lessons: bytes, times, and how far they are from the runtime.

    python -m tests.benchmarks.living [--trials 20] [--sweep] [--float32] [FILE ...]

Every page is computed in node and in Chromium, with random values and all combinations of switches
and losses; with ``--sweep`` each source in turn goes through so many values instead. ``bytes`` are
those of the page; ``publish`` is the time that publishing takes, with its own comparison;
``compute`` is the least time of a recompute in node and ``states`` that of all states, both in
milliseconds. ``None`` and ``states`` count what differs; ``worst`` is the largest
difference of a number, relative to its array's largest element (or to a thousandth of the largest
gradient, where a whole array is rounding errors; nan where infinities differ in sign), and ``over``
how many are off by more than 1e-12.
Diagrams that divide a gradient by its own length amplify rounding errors where it is tiny.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradwire.runtime.diagram import load
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.publishing import published
from tests.runtime.publish.living import chromium, node
from tests.runtime.publish.living.oracle import in_dtype, swept, work_of

ASSETS = Path(__file__).parents[2] / "assets"
_SPEED = """(work) => {
  const live = new Live(work.data).compute();
  const least = (call) => {
    let best = Infinity;
    for (let round = 0; round < 30; round++) {
      const start = performance.now();
      let calls = 0;
      do { call(); calls++; } while (performance.now() - start < 10);
      best = Math.min(best, (performance.now() - start) / calls);
    }
    return best;
  };
  const states = () => { live._levels = null; live._states = {}; live.states(); };
  return {compute: least(() => live.compute()), states: least(states)};
}"""
_HEAD = (
    f"{'':34}{'bytes':>8}{'publish':>9}{'compute':>9}{'states':>8}{'cases':>7}{'numbers':>9}"
    f"{'equal':>7}{'None':>6}{'states':>7}{'over':>6}{'worst':>9}"
)


def row(file: Path, trials: int, dtype: str, browser: bool, folder: Path, sweep: bool) -> str:
    """The line of one diagram."""
    diagram = load(file)
    if dtype != "float64":
        diagram = in_dtype(diagram, dtype)
    start = time.perf_counter()
    page = published(diagram)
    seconds = time.perf_counter() - start
    name = file.name.partition(".")[0]
    line = f"{name:34}{len(page.html.encode()):8}{seconds:8.2f}s"
    if page.obstacle:
        return f"{line}  a picture: {page.obstacle}"
    living = living_data(diagram)
    work = work_of(living, trials)
    if sweep:
        work = {"data": living.data, "cases": list(swept(living, trials))}
    speed = node.run(folder, _SPEED, {"data": living.data})
    line += f"{speed['compute']:9.4f}{speed['states']:8.4f}"
    line += counts(node.compared(folder, work))
    if browser:
        line += f"\n{'  in Chromium':34}{'':34}{counts(chromium.compared(folder, work))}"
    return line


def counts(found: dict[str, Any]) -> str:
    """What a comparison found, in columns."""
    equal = found["equal"] / max(1, found["numbers"])
    worst = math.nan if found["worst"] is None else found["worst"]  # infinities of other signs
    return (
        f"{found['cases']:7}{found['numbers']:9}{equal:7.1%}{found['none']:6}{found['states']:7}"
        f"{found['over']:6}{worst:9.1e}" + "".join(f"\n    {each}" for each in found["wrong"])
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--float32", action="store_true", help="with all floats in float32")
    parser.add_argument("--sweep", action="store_true", help="each source in turn")
    parser.add_argument("--no-chromium", action="store_true")
    given = parser.parse_args(arguments)
    files = given.files or sorted([*ASSETS.glob("diagrams/*.json"), *ASSETS.glob("lessons/*.json")])
    dtype = "float32" if given.float32 else "float64"
    browser = chromium.CHROMIUM is not None and not given.no_chromium
    print(_HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            print(row(file, given.trials, dtype, browser, Path(folder), given.sweep), flush=True)


if __name__ == "__main__":
    main()
