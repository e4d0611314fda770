"""What ``gradwire study`` does with a diagram: all combinations of what ``--vary`` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from gradwire.runtime.cli.output import UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.cli.studies.trainings import StudyJob
from gradwire.runtime.engine.session.lookup import find_port
from gradwire.runtime.publish.report import heading
from gradwire.runtime.publish.studies.tables import results_json, results_parts
from gradwire.runtime.publish.text import Part
from gradwire.runtime.training.studies.files import Measure
from gradwire.runtime.training.studies.folder import StudySettings
from gradwire.runtime.training.studies.results import Results
from gradwire.runtime.training.studies.task import StudyWork, require_runnable
from gradwire.runtime.training.studies.varying import SEED, parse_varied, plan


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


def varied_json(job: StudyJob, results: Results) -> dict[str, Any]:
    """The results as JSON."""
    return {"file": str(job.file), "title": job.title, **results_json(results)}


def _varied(vary: Sequence[str], seeds: int | None) -> dict[str, Sequence[Any]]:
    found: dict[str, Sequence[Any]] = {}
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
