"""``gradwire study FILE…``: trains a diagram with other numbers and seeds, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gradwire.runtime.cli.arguments import (
    Device,
    EngineName,
    Json,
    Threads,
    path_argument,
    path_option,
)
from gradwire.runtime.cli.engines import opened_engine
from gradwire.runtime.cli.output import CLEAN, FAILED, PROBLEMS, UsageError, json_text, print_json
from gradwire.runtime.cli.reading import AllowedData, allow_folders, shown_reading
from gradwire.runtime.cli.studies.trainings import StudyJob, StudyPlaces, results_of, write_results
from gradwire.runtime.cli.studies.variants import (
    variants_job,
    variants_json,
    variants_parts,
    varied_job,
    varied_json,
    varied_parts,
)
from gradwire.runtime.diagram.files.parsing import parse
from gradwire.runtime.diagram.files.storage import text_of
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.publish.text import Part, show
from gradwire.runtime.training.studies.files import MAX_SEEDS, MAX_STEPS
from gradwire.runtime.training.studies.folder import stored_settings
from gradwire.runtime.training.studies.verdicts import judged_study


def study(
    files: Annotated[
        list[Path],
        path_argument(
            "FILE",
            "A diagram, of which --vary says what is varied; or studies: *.study.json files.",
        ),
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=VALUES",
            help="Train with each of these values: a list 1e-3,1e-2, integers 0..9 or 0..100..10, "
            "linspace(0, 1, 5) or geomspace(1e-4, 1, 5). NAME is seed, steps, a field of the "
            "optimisers such as lr (of one: NAME.lr) or BLOCK.PARAMETER. May be repeated: all "
            "combinations are trained.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            metavar="PORT",
            help="Compare this port after training, of an array the mean of its elements. May be "
            "repeated; without it, the losses. On validation rows too, where there are any.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=MAX_SEEDS,
            help="Trainings of each combination or variant, with seeds from 0 on; of a study, in "
            "place of its own number.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=1,
            max=MAX_STEPS,
            help="Iterations of each training; without it what the study or the recipe says.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        path_option(
            "--out",
            metavar="DIR",
            help="The folder to write to: a line for each training as it ends, and the results.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        path_option(
            "--resume",
            metavar="DIR",
            help="Go on with the study in this folder, by the settings that it has.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            max=1024,
            help="Processes that train, each on one processor; without it as many as there are "
            "processors. 1 trains in the command's own process.",
            show_default=False,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Train on the workers of this scheduler of Dask, such as tcp://HOST:8786.",
            show_default=False,
        ),
    ] = None,
    engine: EngineName = "numpy",
    device: Device = None,
    threads: Threads = None,
    allowed: AllowedData = None,
    json: Json = False,
) -> None:
    """Train a diagram with other numbers and seeds, side by side.

    A study file has variants of a diagram and claims about them; the exit code is 1 if a claim does
    not hold. The exit code is 3 if a training did not come to its end. One that diverged has no
    number. Ctrl-C ends the trainings that run and exits with 130; what has ended is kept in the
    folder, from which --resume goes on.
    """
    if workers is not None and scheduler is not None:
        raise UsageError("A scheduler has workers of its own, so --scheduler takes no --workers.")
    allow_folders(allowed)
    diagrams = [file for file in files if _is_diagram(file)]
    folder = _folder(files, diagrams, out, resume)
    stored = None if resume is None else stored_settings(resume)
    if diagrams:
        given = [varied_job(diagrams[0], vary or (), measure or (), seeds, steps, stored)]
    elif vary or measure:
        option = "--vary" if vary else "--measure"
        raise UsageError(
            f"A study file says itself what is varied and measured, so it takes no {option}.",
            next_step=f"Give the diagram that it is about, with {option}.",
        )
    else:
        given = [variants_job(file, seeds, steps, stored) for file in files]
    where = StudyPlaces(workers, scheduler, folder)
    choice = EngineChoice(engine, device, threads)
    given = [replace(job, work=replace(job.work, engine=choice)) for job in given]
    # Opened here too, so that it is refused at once; a cluster may have what is not here.
    with shown_reading(), opened_engine(choice if scheduler is None else EngineChoice()):
        _report([_done(job, where) for job in given], json)


def _report(done: Sequence[tuple[list[Part], dict[str, object], int]], json: bool) -> None:
    if json:
        print_json(_json(record for _, record, _ in done))
    else:
        show([part for parts, _, _ in done for part in parts])
    raise typer.Exit(max(code for _, _, code in done))


def _done(job: StudyJob, where: StudyPlaces) -> tuple[list[Part], dict[str, object], int]:
    """What the trainings of a study gave, as text and as JSON, and the exit code."""
    results = results_of(job, where)
    code = FAILED if any(t.status == "failed" for t in results.trained.values()) else CLEAN
    file = str(job.file)
    if job.study is None:
        parts, record = varied_parts(job, results), varied_json(job, results)
    else:
        judged = judged_study(job.study, results)
        parts, record = variants_parts(file, judged), variants_json(file, judged)
        code = code or (CLEAN if judged.holds else PROBLEMS)
    if where.folder is not None:
        write_results(where.folder, results, json_text(_json([record])), job.title or job.file.name)
        parts.append(f"The results are in {where.folder}.")
    return parts, record, code


def _json(studies: Any) -> Mapping[str, object]:
    return {"report": "study", "version": 1, "studies": list(studies)}


def _is_diagram(file: Path) -> bool:
    document = parse(text_of(file), str(file))
    return isinstance(document, dict) and "gradwire" in document


def _folder(
    files: Sequence[Path], diagrams: Sequence[Path], out: Path | None, resume: Path | None
) -> Path | None:
    """The folder to write to. Raises UsageError for more than one study in it."""
    if diagrams and len(files) > 1:
        raise UsageError("A diagram is studied alone.", got=f"{len(files)} files")
    folder = out or resume
    if folder is not None and len(files) > 1:
        raise UsageError("A folder is for one study.", got=f"{len(files)} files")
    if out is not None and resume is not None and out.resolve() != resume.resolve():
        raise UsageError("A study goes on in its own folder, so --resume takes no other --out.")
    return folder
