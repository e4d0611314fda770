"""A monkey test of the editor: ``python -m tests.monkey --events 100000 [--seed 0]``.

Random events and changes on the real window, then undo of everything and redo. Ends with an error
at the first law that is broken, with the last acts; ``--trace FILE`` writes down all of them as
they are done. ``--only 17,204,1033`` does the acts of these numbers, and ``tests.monkey.shrink``
finds few that end as badly.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from tests.monkey.life import Failed, Monkey


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--trace", type=Path, default=None)
    parser.add_argument("--every", type=int, default=250)
    chosen = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a life
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.monkey", *sys.argv[1:]])
    faulthandler.enable()
    warnings.simplefilter("error")
    application = QApplication.instance() or QApplication([])
    assert application is not None
    numbers = [int(n) for n in chosen.only.split(",") if n] or range(chosen.events)
    started, monkey = time.monotonic(), Monkey(chosen.seed, chosen.trace)
    try:
        monkey.live(numbers, chosen.every)
    except Failed as failed:
        print(f"seed {chosen.seed}, {failed}", file=sys.stderr)
        return 1
    finally:
        monkey.close()
    print(
        f"seed {chosen.seed}: {len(numbers)} acts in {time.monotonic() - started:.0f} s, all well"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
