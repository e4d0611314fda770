"""Fuzz programs: ``python -m tests.fuzz [NAME…] [--minutes 2] [--seed 0] [--case N]``.

The minutes are of processor time, shared by the programs named (all by default). Each prints its
cases, what became of them, and for each failure the command that runs that case alone; the exit
code is 1 where there was one.

``.ci/run`` uses the seed 0 every time: the same change then gives the same verdict, on any day and
for everyone, and a failure is one of the change. Other seeds look for what nobody has seen yet;
they are for long runs, whose failures become tests.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.fuzz.programs import PROGRAMS
from tests.fuzz.runner import PATIENCE, Report, fuzz

MEMORY = 4 << 30
"""Bytes of address space that a case may need beside what Python, numpy and Qt have."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, default=None)
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in PROGRAMS]:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    programs = [PROGRAMS[name] for name in chosen.names or PROGRAMS]
    seconds = 60 * chosen.minutes / len(programs)
    numbers = () if chosen.case is None else (chosen.case,)
    reports: list[Report] = []
    for program in programs:
        # The limit of a case ends Python code alone; this one ends the process, with a traceback.
        faulthandler.dump_traceback_later(2 * PATIENCE + 20 * seconds, exit=True)
        reports.append(fuzz(program, chosen.seed, seconds=seconds, numbers=numbers))
        print(reports[-1], flush=True)
    faulthandler.cancel_dump_traceback_later()
    if numbers:
        print("".join(failure.trace for report in reports for failure in report.failures))
    return int(any(report.failures for report in reports))


if __name__ == "__main__":
    sys.exit(main())
