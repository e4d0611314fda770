"""How true what is said of real programs is: ``python -m tests.truth [questions|bugs] [NAME…]``.

Prints the score of each case whose name contains one of the names given, what is missing or false
in it, and the sums. The exit code is 1 where something said is wrong.
"""

from __future__ import annotations

import argparse
from collections import Counter

from tests.truth.cases import cases_of

KINDS = ("questions", "bugs")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=KINDS, help="all by default")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--say", action="store_true", help="print all that is said")
    chosen = parser.parse_args()
    is_wrong = False
    for kind in [chosen.kind] if chosen.kind else KINDS:
        scores: Counter[str] = Counter()
        for case in cases_of(kind):
            if chosen.names and not any(name in case.name for name in chosen.names):
                continue
            said = case.said()
            score, why = case.score(said)
            scores[score] += 1
            print(f"{score:8} {case.name}{f': {why}' if why else ''}", flush=True)
            if chosen.say:
                print("\n".join(f"         | {line}" for line in said))
        is_wrong |= bool(scores["wrong"])
        counts = ", ".join(f"{scores[s]} {s}" for s in ("full", "unknown", "part", "wrong"))
        print(f"{kind}: {sum(scores.values())} cases: {counts}")
    return int(is_wrong)


if __name__ == "__main__":
    raise SystemExit(main())
