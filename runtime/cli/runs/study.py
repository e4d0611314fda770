"""``gradwire study FILE…``: trains a diagram and its variants, and checks what is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.output import CLEAN, PROBLEMS, print_json
from runtime.cli.reading import AllowedData, allow_folders, shown_reading
from runtime.diagram import Diagram
from runtime.publish.text import Part, Table, show
from runtime.training.studies.files import MAX_SEEDS, MAX_STEPS, Study, load_study
from runtime.training.studies.variants import diagram_of
from runtime.training.studies.verdicts import Outcome, StudyResult, run_study


def study(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Studies: *.study.json files.", show_default=False),
    ],
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=MAX_SEEDS,
            help="Trainings of each variant, in place of the study's own number.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=1,
            max=MAX_STEPS,
            help="Rounds of each training, in place of the study's own number.",
            show_default=False,
        ),
    ] = None,
    allowed: AllowedData = None,
    json: Json = False,
) -> None:
    """Train a diagram and its variants with several seeds, and check what is claimed.

    For each variant: the mean of the measured number over the seeds, its standard deviation and
    all values. A training that diverged has no number. The exit code is 1 if a claim does not hold.
    """
    allow_folders(allowed)
    read: list[tuple[Path, Study, Diagram]] = []
    for file in files:
        found = load_study(file)
        read.append((file, found, diagram_of(found, file)))
    with shown_reading():
        results = [(f, run_study(s, diagram, seeds=seeds, steps=steps)) for f, s, diagram in read]
    if json:
        studies = [result_json(str(file), result) for file, result in results]
        print_json({"report": "study", "version": 1, "studies": studies})
    else:
        show([part for file, result in results for part in _parts(str(file), result)])
    raise typer.Exit(CLEAN if all(result.holds for _, result in results) else PROBLEMS)


def result_json(file: str, result: StudyResult) -> dict[str, Any]:
    """The result of one study as JSON; null where a training diverged."""
    return {
        "file": file,
        "title": result.study.title,
        "measure": result.study.measure.model_dump(mode="json"),
        "variants": {name: _numbers(outcome) for name, outcome in result.outcomes.items()},
        "claims": [
            {
                "claim": verdict.claim.text,
                "seeds": verdict.fulfilled,
                "of": verdict.of,
                "holds": verdict.holds,
            }
            for verdict in result.verdicts
        ],
        "holds": result.holds,
    }


def _numbers(outcome: Outcome) -> dict[str, Any]:
    finite = set(outcome.finite)
    return {
        "mean": outcome.mean,
        "deviation": outcome.deviation,
        "diverged": len(outcome.values) - len(outcome.finite),
        "values": [value if value in finite else None for value in outcome.values],
    }


def _parts(file: str, result: StudyResult) -> list[Part]:
    measure = result.study.measure
    called = f"{measure.port}: {measure.called}" if measure.called else measure.port
    rows = tuple(_row(outcome) for outcome in result.outcomes.values())
    columns = ("variant", "mean", "deviation", "diverged", "values")
    parts: list[Part] = [
        f"{file}: {result.study.title}" if result.study.title else file,
        Table(called, columns, rows),
    ]
    if result.verdicts:
        judged = tuple(
            (v.claim.text, f"{v.fulfilled} of {v.of}", "holds" if v.holds else "does not hold")
            for v in result.verdicts
        )
        parts.append(Table("Claims", ("claim", "seeds", "verdict"), judged))
    return parts


def _row(outcome: Outcome) -> tuple[str, ...]:
    values = " ".join(f"{value:.4g}" for value in outcome.values)
    diverged = len(outcome.values) - len(outcome.finite)
    numbers = ("" if n is None else f"{n:.4g}" for n in (outcome.mean, outcome.deviation))
    return (outcome.variant, *numbers, str(diverged), values)
