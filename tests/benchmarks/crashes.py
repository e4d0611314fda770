"""Kills of an editor at work: ``python -m tests.benchmarks.crashes [KILLS [SEED]]``.

Each is killed by SIGKILL at a random moment of edits and saves. Prints how much was lost; ends
with an error at the first kill that costs more than a second or leaves a file that isn't whole.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from tests.app.crashes import Crashes


def main(kills: int = 300, seed: int = 0) -> None:
    crashes = Crashes()
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + kills):
            losses.append(crashes.crash(Path(folder) / str(number), number))
    crashes.close()
    seconds = sorted(loss.seconds for loss in losses)
    print(
        f"{kills} kills, {sum(x.edits for x in losses)} edits, {sum(x.saves for x in losses)} "
        f"saves; the journal was ahead of the file {sum(x.from_journal for x in losses)} times"
    )
    print(f"lost: median {statistics.median(seconds):.2f} s, p95 "
          f"{seconds[int(0.95 * len(seconds))]:.2f} s, most {seconds[-1]:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
