"""What ``gradwire study`` does with the trainings of a study: makes them, shows how far it is, and
writes a folder.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path

import typer

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.cli.engines import options_of
from gradwire.runtime.cli.interrupt import interruptible
from gradwire.runtime.cli.output import INTERRUPTED, say
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.interpreters import processors
from gradwire.runtime.progress_bars import bar
from gradwire.runtime.publish.studies.drawing import drawing
from gradwire.runtime.publish.studies.figures import figures
from gradwire.runtime.publish.studies.tables import results_csv
from gradwire.runtime.training.studies.cluster import on_cluster
from gradwire.runtime.training.studies.files import Study
from gradwire.runtime.training.studies.folder import StudyFolder, StudySettings
from gradwire.runtime.training.studies.processes import in_processes
from gradwire.runtime.training.studies.results import Results, carry_out
from gradwire.runtime.training.studies.task import Runner, Stop, StudyWork, Trained, in_this_process
from gradwire.runtime.training.studies.varying import PlannedTraining

CSV, JSON = "results.csv", "results.json"


@dataclass(frozen=True, slots=True)
class StudyPlaces:
    """Where the trainings of a study are made, and where they are written."""

    workers: int | None = None
    scheduler: str | None = None
    """The address of a scheduler of Dask."""
    folder: Path | None = None

    def runner(self, count: int, stop: Stop) -> Runner:
        """What makes so many trainings: a cluster, processes, or this process alone."""
        scheduler = self.scheduler
        if scheduler is not None:
            return lambda work, tasks: on_cluster(work, tasks, scheduler, stop)
        workers = min(self.workers or processors(), count)
        if workers <= 1:
            return lambda work, tasks: in_this_process(work, tasks, stop)
        return lambda work, tasks: in_processes(work, tasks, workers, stop)


@dataclass(frozen=True, slots=True)
class StudyJob:
    """The trainings of a study, and what decides their numbers."""

    file: Path
    work: StudyWork
    varied: Mapping[str, Sequence[object]]
    planned: Sequence[PlannedTraining]
    settings: StudySettings
    study: Study | None = None
    """The study file that it is by, if it is by one."""
    title: str = ""


def results_of(job: StudyJob, where: StudyPlaces) -> Results:
    """Make the trainings of a study that are not made yet.

    Ctrl-C ends those that run; the others are kept in the folder, and the command that goes on is
    said.
    """
    folder = None if where.folder is None else StudyFolder(where.folder, job.settings)
    with interruptible() as interrupted, folder or nullcontext():
        if folder is not None and folder.notes:
            say(*folder.notes)
        before = 0 if folder is None else len(folder.done)
        with _progress(len(job.planned), before) as show:
            run = where.runner(len(job.planned) - before, interrupted)
            results = carry_out(job.work, job.varied, job.planned, run, folder, show)
        if not results.is_complete:
            say(*_how_to_go_on(job, results, where))
            raise typer.Exit(INTERRUPTED)
    return results


def write_results(folder: Path, results: Results, report: str, title: str) -> None:
    """Write the results into the folder of a study: for other programs, and as plots."""
    texts = {CSV: results_csv(results), JSON: report}
    texts |= {name: drawing(figure) for name, figure in figures(results, title).items()}
    for name, text in texts.items():
        with system_errors(folder / name, "write"):
            replace_file(folder / name, text.encode("utf-8", "replace"))


def _how_to_go_on(job: StudyJob, results: Results, where: StudyPlaces) -> list[str]:
    ended, of = len(results.trained), len(results.planned)
    if where.folder is None:
        return [f"Interrupted after {ended:,} of {of:,} trainings; none is kept without --out DIR."]
    again = ["gradwire", "study", str(job.file), "--resume", str(where.folder)]
    again += [] if where.workers is None else ["--workers", str(where.workers)]
    again += [] if where.scheduler is None else ["--scheduler", where.scheduler]
    again += options_of(job.work.engine)
    return [
        f"Interrupted after {ended:,} of {of:,} trainings, which are kept in {where.folder}.",
        f"Go on with: {shlex.join(again)}",
    ]


@contextmanager
def _progress(total: int, before: int) -> Iterator[Callable[[Trained], None]]:
    """On a terminal, a bar with the number of trainings that have ended and the time left."""
    wrong = {"diverged": 0, "failed": 0}
    ended = count(before + 1)
    with bar("trainings", total, before, keep=True) as shown:

        def show(trained: Trained) -> None:
            if trained.status in wrong:
                wrong[trained.status] += 1
            told = ", ".join(f"{times} {status}" for status, times in wrong.items() if times)
            shown.move(next(ended), told)

        yield show
