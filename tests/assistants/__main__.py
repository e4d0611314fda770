"""A benchmark of gradient bugs for assistants: ``python -m tests.assistants make FOLDER``.

``make`` writes a small repository for each bug: ``train.py`` and ``models.py``, plain PyTorch, and
``TASK.md`` with what is seen. ``solve FOLDER COMMAND...`` runs a solver in each of them, such as
``gradwire fix train.py:make --apply``, and ``score FOLDER`` says what became of them.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from pathlib import Path

from tests.assistants.repositories import repositories
from tests.assistants.scoring import score


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "solve", "score"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="of solve")
    parser.add_argument("--seconds", type=int, default=900, help="of a solver, for each")
    chosen = parser.parse_args()
    verdicts: Counter[str] = Counter()
    for repository in repositories():
        place = chosen.folder.absolute() / repository.name
        if chosen.what == "make":
            print(repository.write(chosen.folder))
        elif chosen.what == "solve":
            print(repository.name, flush=True)
            solve(chosen.command, place, chosen.seconds)
        else:
            verdict, why = score(repository, place)
            verdicts[verdict] += 1
            print(f"{repository.name}: {verdict}{f': {why}' if why else ''}", flush=True)
    if verdicts:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        print(f"{verdicts.total()} bugs: {counts}")
    return 0


def solve(command: list[str], folder: Path, seconds: int) -> None:
    """Run a solver in the folder of a repository."""
    try:
        subprocess.run(command, cwd=folder, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        print(f"{folder.name}: the solver takes more than {seconds} s")


if __name__ == "__main__":
    raise SystemExit(main())
