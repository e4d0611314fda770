"""All studies of the examples that train, in full: ``python -m tests.assets.studies [NAME…]``.

Prints what each finds, and fails if a claim does not hold or a number in a note or in the manual
is off by more than its standard deviation. ``--write`` writes the numbers there.
"""

from __future__ import annotations

import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from gradwire.runtime.diagram import load, save
from gradwire.runtime.training.studies.files import Study, load_study
from gradwire.runtime.training.studies.variants import diagram_of
from gradwire.runtime.training.studies.verdicts import StudyResult, VariantOutcome, run_study
from tests.assets.examples import MANUAL, ROOT
from tests.examples.gallery import TRAINING, path

STUDIES = ROOT / "assets" / "studies"
PAGE = MANUAL / "training.md"
_NUMBER = r"(−?\d+(?:\.\d+)?)"


def study_path(name: str) -> Path:
    """The file of an example's study."""
    return STUDIES / f"{name}.study.json"


def told(text: str, variant: str) -> tuple[float, float] | None:
    """Mean and standard deviation of a variant as a text states them: ``open 0.99 ± 0.01``."""
    found = re.search(rf"\b{re.escape(variant)} {_NUMBER} ± {_NUMBER}", text)
    return None if found is None else (_number(found[1]), _number(found[2]))


def written(text: str, outcome: VariantOutcome) -> str:
    """A text with the numbers of a variant in place of those that it states."""
    assert outcome.mean is not None and outcome.deviation is not None
    digits = 3 if outcome.deviation < 0.005 and abs(outcome.mean) < 10 else 2
    mean, deviation = (
        f"{value:.{digits}f}".replace("-", "−") for value in (outcome.mean, outcome.deviation)
    )
    pattern = rf"\b{re.escape(outcome.variant)} {_NUMBER} ± {_NUMBER}"
    return re.sub(pattern, f"{outcome.variant} {mean} ± {deviation}", text)


def texts(name: str) -> dict[str, str]:
    """The places that state an example's numbers: its notes, and its line of the manual."""
    notes = " ".join(note.text for note in load(path(name)).main.notes.values())
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return {"note": notes, "manual": "\n".join(line for line in lines if name in line)}


def disagreements(name: str, result: StudyResult) -> list[str]:
    """Where an example's texts state other numbers than a study has found."""
    found = []
    for place, text in texts(name).items():
        for outcome in result.outcomes.values():
            stated = told(text, outcome.variant)
            if stated is None or outcome.mean is None:
                found.append(f"the {place} does not state {outcome.variant}")
            elif abs(stated[0] - outcome.mean) > stated[1] + 0.005:
                found.append(f"the {place} says {stated[0]} for {outcome.variant}")
    return found


def write(name: str, result: StudyResult) -> None:
    """Write the numbers of a study to the note of its example and to the manual."""
    diagram = load(path(name))
    notes = dict(diagram.main.notes)
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    for outcome in result.outcomes.values():
        notes = {key: replace(n, text=written(n.text, outcome)) for key, n in notes.items()}
        lines = [written(line, outcome) if name in line else line for line in lines]
    save(diagram.with_page("main", replace(diagram.main, notes=notes)), path(name))
    PAGE.write_text("".join(lines), encoding="utf-8")


def _run(name: str) -> tuple[StudyResult, float]:
    study: Study = load_study(study_path(name))
    start = time.process_time()
    result = run_study(study, diagram_of(study, study_path(name)))
    return result, time.process_time() - start


def main(arguments: list[str]) -> int:
    """Run the studies named, or all; returns the exit code."""
    names = [name for name in arguments if not name.startswith("-")] or list(TRAINING)
    failed = 0
    for thread_pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(thread_pool, "1")  # one core for each process
    with ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for name, (result, seconds) in zip(names, pool.map(_run, names), strict=True):
            print(f"{name}, {seconds:.0f} s")
            for outcome in result.outcomes.values():
                values = " ".join(f"{value:.4g}" for value in outcome.values)
                print(f"  {outcome.variant}: {outcome.mean} ± {outcome.deviation}: {values}")
            for verdict in result.verdicts:
                how = "holds" if verdict.holds else "DOES NOT HOLD"
                print(f"  {verdict.claim.text}: {verdict.fulfilled} of {verdict.of}, {how}")
            if "--write" in arguments:
                write(name, result)
            wrong = disagreements(name, result)
            print("".join(f"  WRONG: {line}\n" for line in wrong), end="", flush=True)
            failed += bool(wrong) or not result.holds
    return 1 if failed else 0


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
