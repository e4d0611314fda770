"""What ``gradwire study`` does with study files: variants of a diagram, and claims about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from gradwire.runtime.cli.output import UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.cli.studies.trainings import StudyJob
from gradwire.runtime.engine.session.lookup import find_port
from gradwire.runtime.publish.printable import title_line
from gradwire.runtime.publish.report import heading
from gradwire.runtime.publish.studies.tables import reasons_parts, results_json, results_parts
from gradwire.runtime.publish.text import Part, TextTable
from gradwire.runtime.training.studies.files import Measure, load_study
from gradwire.runtime.training.studies.folder import StudySettings
from gradwire.runtime.training.studies.results import Results
from gradwire.runtime.training.studies.task import StudyWork, require_runnable
from gradwire.runtime.training.studies.variants import diagram_of
from gradwire.runtime.training.studies.varying import SEED, parse_varied, plan
from gradwire.runtime.training.studies.verdicts import (
    VARIANT,
    StudyResult,
    VariantOutcome,
    planned_study,
)

# What ``gradwire study`` does with a diagram: all combinations of what ``--vary`` names.


def varied_job(
    file: Path,
    vary: Sequence[str],
    measure: Sequence[str],
    seeds: int | None,
    steps: int | None,
    stored: StudySettings | None,
) -> StudyJob:
    """The trainings of a diagram; what is not given is as it is stored. All of it is checked."""
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    varied = _varied(vary, seeds)
    measures = tuple(Measure(port=find_port(session.program, name)) for name in measure)
    if stored is not None:
        varied, steps = varied or dict(stored.varied), steps or stored.steps
        measures = measures or stored.measures
    if not varied:
        raise UsageError(
            "There is nothing to vary.",
            expected="--vary NAME=VALUES",
            next_step="For example --vary lr=1e-3,1e-2 --vary seed=0..9.",
        )
    diagram = session.diagram
    planned = plan(diagram, varied, steps)
    work = StudyWork.on(diagram, measures)
    require_runnable(work, planned[0].task)
    settings = StudySettings.of(diagram, varied, measures, steps)
    return StudyJob(file, work, varied, planned, settings, title=diagram.title)


def varied_parts(job: StudyJob, results: Results) -> list[Part]:
    """The results as tables."""
    return [heading(job.title, str(job.file)), *results_parts(results)]


def varied_json(job: StudyJob, results: Results) -> dict[str, object]:
    """The results as JSON."""
    return {"file": str(job.file), "title": job.title, **results_json(results)}


def _varied(vary: Sequence[str], seeds: int | None) -> dict[str, Sequence[object]]:
    found: dict[str, Sequence[object]] = {}
    for text in vary:
        name, values = parse_varied(text)
        if name in found:
            raise UsageError(f"--vary {name} is given twice.", next_step="Write all values in one.")
        found[name] = values
    if seeds is not None:
        if SEED in found:
            raise UsageError("--seeds and --vary seed are the same.", next_step="Give one of them.")
        found[SEED] = range(seeds)
    return found


def variants_job(
    file: Path, seeds: int | None, steps: int | None, stored: StudySettings | None
) -> StudyJob:
    """The trainings of a study file; seeds and steps that are not given are those stored."""
    study = load_study(file)
    if stored is not None:
        seeds = seeds or len(stored.varied.get(SEED, ())) or None
        steps = steps or stored.steps
    diagram = diagram_of(study, file)
    work, varied, planned = planned_study(study, diagram, seeds=seeds, steps=steps)
    settings = StudySettings.of(
        diagram, varied, work.measures, study.steps if steps is None else steps, study.variants
    )
    return StudyJob(file, work, varied, planned, settings, study, study.title or diagram.title)


def variants_json(file: str, result: StudyResult) -> dict[str, object]:
    """The result of one study as JSON; null where a training diverged or failed."""
    return {
        "file": file,
        "title": result.study.title,
        "measure": result.study.measure.model_dump(mode="json"),
        "variants": {name: _numbers(result, outcome) for name, outcome in result.outcomes.items()},
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


def variants_parts(file: str, result: StudyResult) -> list[Part]:
    """The result of one study as tables of variants and claims."""
    measure = result.study.measure
    called = f"{measure.port}: {measure.called}" if measure.called else measure.port
    rows = tuple(_row(result, outcome) for outcome in result.outcomes.values())
    columns = ("variant", "mean", "deviation", "diverged", "values")
    parts: list[Part] = [
        f"{file}: {title_line(result.study.title)}" if result.study.title else file,
        TextTable(called, columns, rows),
    ]
    if result.verdicts:
        judged = tuple(
            (v.claim.text, f"{v.fulfilled} of {v.of}", "holds" if v.holds else "does not hold")
            for v in result.verdicts
        )
        parts.append(TextTable("Claims", ("claim", "seeds", "verdict"), judged))
    return parts + reasons_parts(result.results)


def _numbers(result: StudyResult, outcome: VariantOutcome) -> dict[str, object]:
    known = set(outcome.finite)
    return {
        "mean": outcome.mean,
        "deviation": outcome.deviation,
        "diverged": _diverged(result, outcome),
        "failed": _count(result, outcome, "failed"),
        "values": [value if value in known else None for value in outcome.values],
    }


def _diverged(result: StudyResult, outcome: VariantOutcome) -> int:
    """Those without a finite number that did not fail."""
    return len(outcome.values) - len(outcome.finite) - _count(result, outcome, "failed")


def _count(result: StudyResult, outcome: VariantOutcome, status: str) -> int:
    return sum(
        trained.status == status and planned.settings[VARIANT] == outcome.variant
        for planned, trained in result.results.ended()
    )


def _row(result: StudyResult, outcome: VariantOutcome) -> tuple[str, ...]:
    values = " ".join(f"{value:.4g}" for value in outcome.values)
    numbers = ("" if n is None else f"{n:.4g}" for n in (outcome.mean, outcome.deviation))
    return (outcome.variant, *numbers, str(_diverged(result, outcome)), values)
