"""Fuzz programs: ``python -m tests.fuzz [NAME…] [--minutes 2] [--seed 0] [--case N] [--jobs 1]``.

The minutes are of processor time, shared by the programs named (all by default). As many programs
as there are jobs run at a time, each in a process of its own. Each prints its cases, what became of
them, and for each failure the command that runs that case alone; the exit code is 1 where there was
one.

``.ci/run`` uses the seed 0 every time: the same change then gives the same verdict, on any day and
for everyone, and a failure is one of the change. Other seeds look for what nobody has seen yet;
they are for long runs, whose failures become tests.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

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
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in PROGRAMS]:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    if chosen.jobs > 1:
        return in_processes(chosen.names or [*PROGRAMS], chosen)
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


def in_processes(names: list[str], chosen: argparse.Namespace) -> int:
    """Run each program in its own process and print what it says, in order; 1 if one failed."""

    def run(name: str) -> subprocess.CompletedProcess[str]:
        options = ["--minutes", str(chosen.minutes / len(names)), "--seed", str(chosen.seed)]
        options += [] if chosen.case is None else ["--case", str(chosen.case)]
        command = [sys.executable, "-m", "tests.fuzz", name, *options]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)

    failed = 0
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for done in pool.map(run, names):
            print(done.stdout, end="", flush=True)
            failed |= int(done.returncode != 0)
    return failed


if __name__ == "__main__":
    sys.exit(main())
