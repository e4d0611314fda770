"""How true what is said of real programs is: ``python -m tests.truth [KIND] [NAME…]``.

Prints the score of each case whose name contains one of the names given, what is missing or false
in it, and the sums. The exit code is 1 where something said is wrong. Of ``healthy`` programs every
alarm is wrong, and of those of ``libraries`` whether they get in and agree with PyTorch is asked.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from tests.truth.cases import cases_of
from tests.truth.programs import Program, programs_of
from tests.truth.watched import score_of

CASES, PROGRAMS = ("questions", "bugs"), ("healthy", "libraries")
KINDS = (*CASES, *PROGRAMS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=KINDS, help="all by default")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--say", action="store_true", help="print all that is said")
    parser.add_argument(
        "--watch", action="store_true", help="train and watch the programs of cases instead"
    )
    chosen = parser.parse_args()
    is_wrong = False
    for kind in [chosen.kind] if chosen.kind else KINDS:
        if kind in PROGRAMS:
            is_wrong |= programs(kind, chosen.names)
            continue
        scores: Counter[str] = Counter()
        for case in list(cases_of(kind)):
            if chosen.names and not any(name in case.name for name in chosen.names):
                continue
            if chosen.watch:
                score, why, said = score_of(case)
                if score is None:
                    print(f"{'none':8} {case.name}: it trains nothing")
                    continue
            else:
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


def programs(kind: str, names: Sequence[str]) -> bool:
    """Print the scores of programs; whether anything said is wrong."""
    scores: Counter[str] = Counter()
    alarms = 0
    for each in programs_of(kind):
        if not isinstance(each, Program):
            print(each, flush=True)
            continue
        if names and not any(name in each.name for name in names):
            continue
        if kind == "healthy":
            said = each.alarms()
            alarms += len(said)
            score = "alarmed" if said else "quiet"
        else:
            score, why = each.comparison()
            said = [why] if why else []
        scores[score] += 1
        print(f"{score:9} {each.name}", *said, sep="\n          | ", flush=True)
    counts = ", ".join(f"{count} {score}" for score, count in sorted(scores.items()))
    also = f", {alarms} alarms" if kind == "healthy" else ""
    print(f"{kind}: {sum(scores.values())} programs: {counts}{also}")
    return bool(alarms or scores["differs"])


if __name__ == "__main__":
    raise SystemExit(main())
