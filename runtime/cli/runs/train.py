"""``gradwire train FILE``: trains a diagram by its recipe, into a folder."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradwire.runtime.cli.arguments import (
    Device,
    DiagramFile,
    EngineName,
    Json,
    Threads,
    Values,
    path_option,
)
from gradwire.runtime.cli.engines import opened_engine, options_of
from gradwire.runtime.cli.interrupt import interruptible
from gradwire.runtime.cli.output import (
    INTERRUPTED,
    PROBLEMS,
    UsageError,
    print_json,
    print_problems,
    problems_code,
    say,
)
from gradwire.runtime.cli.processes import (
    Coordinator,
    DivideWeights,
    Process,
    Processes,
    joined,
    run_of,
)
from gradwire.runtime.cli.reading import AllowedData, allow_folders, shown_reading
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.progress_bars import bar
from gradwire.runtime.publish.printable import title_line, visible
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.publish.text import Part, TextTable, show
from gradwire.runtime.training.records import DivergedError
from gradwire.runtime.training.saving.runs import DIVERGED, TRAINED, TrainingRun, take_settings
from gradwire.runtime.training.studies.files import MAX_SEEDS
from gradwire.runtime.training.studies.task import seeded
from gradwire.runtime.training.trainer import Trainer

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session
    from gradwire.runtime.training.records import StepRecord

MOST = 1_000_000_000
"""Iterations that may be asked for."""


def _count(name: str, least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= MOST:
            raise UsageError(
                f"{name} is not a number of iterations.",
                expected=f"an integer from {least} to {MOST:,}",
                got=repr(text[:80]),
            )
        return number

    return parse


def train(
    file: DiagramFile,
    out: Annotated[
        Path | None,
        path_option(
            "--out",
            metavar="DIR",
            help="The folder to write to: history.jsonl and history.csv, checkpoints, and "
            "trained.gradwire.json; without it that of --resume.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            help="Iterations in all, also those before --resume; without it what the recipe says.",
            show_default=False,
            parser=_count("--steps", 0),
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        path_option(
            "--resume",
            metavar="DIR",
            help="Go on from the last checkpoint in this folder of a training, bit by bit as if it "
            "had not been interrupted.",
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            "--every",
            metavar="N",
            help="Iterations between checkpoints; without it multiples of 100, at most one a "
            "second, and one 30 s after the last.",
            show_default=False,
            parser=_count("--every", 1),
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            max=MAX_SEEDS - 1,
            help="Train with other initial values, rows of data and random numbers: those of seed "
            "N of a study; 0 is the diagram as it is.",
            show_default=False,
        ),
    ] = None,
    together: Annotated[
        int | None,
        typer.Option(
            "--together",
            metavar="K",
            help="Iterations that an engine which compiles makes in one call; without it what "
            "suits the diagram.",
            show_default=False,
            parser=_count("--together", 1),
        ),
    ] = None,
    engine: EngineName = "numpy",
    device: Device = None,
    threads: Threads = None,
    divide_weights: DivideWeights = False,
    processes: Processes = 1,
    coordinator: Coordinator = None,
    process: Process = None,
    allowed: AllowedData = None,
    values: Values = None,
    json: Json = False,
) -> None:
    """Train a diagram by its recipe, into a folder.

    Stops at the first loss, gradient or variable that is not finite, says which block made it so,
    and saves the diagram as it was in that pass; the exit code is 1. Ctrl-C ends the iteration,
    writes a checkpoint and exits with 130, and so do SIGTERM and SIGHUP; Ctrl-C pressed again ends
    at once. Of several processes one writes; if one is lost, the others say so and end with 1.
    """
    folder = out or resume
    if folder is None:
        raise UsageError("There is no folder to write to.", next_step="Add --out DIR.")
    allow_folders(allowed)
    choice = EngineChoice(engine, device, threads, divide_weights)
    with ExitStack() as within:
        within.enter_context(joined(processes, coordinator, process, engine, str(file)))
        opened = within.enter_context(opened_engine(choice))
        make = partial(seeded, seed=seed or 0, engine=opened)
        trainer = _trainer(file, values, make, resume)
        how = run_of(processes)
        run = how(trainer, folder, every=every, resume=resume, together=together)
        until = trainer.training.steps if steps is None else steps
        within.enter_context(run)
        interrupted = within.enter_context(interruptible())
        if sys.stderr.isatty():
            say(*trainer.notes, *run.notes)
        began, first = time.perf_counter(), trainer.iterations
        try:
            last = _watched(run, until, interrupted)
        except DivergedError as error:
            _diverged(error, run, str(file), json)
            raise typer.Exit(PROBLEMS) from None
        seconds = time.perf_counter() - began
        speed = (trainer.iterations - first) / seconds if seconds else 0.0
        if interrupted():
            run.checkpoint()
            say(
                f"Interrupted after iteration {trainer.iterations}; a checkpoint is in {folder}.",
                " ".join(
                    [
                        f"Go on with: gradwire train {file} --resume {folder} --steps {until}",
                        *(["--seed", str(seed)] if seed else []),
                        *options_of(choice),
                    ]
                ),
            )
            raise typer.Exit(INTERRUPTED)
        run.finish()
        _report(run, str(file), last, speed, json)


def _trainer(
    file: Path,
    values: Sequence[str] | None,
    make: Callable[[Diagram], Session],
    resume: Path | None,
) -> Trainer:
    with shown_reading():
        session, problems = open_session(file, values, make)
        print_problems(problems)
        if has_errors(problems):
            raise typer.Exit(problems_code(problems))
        if resume is not None:
            take_settings(session, resume)
        return Trainer(session)


def _watched(run: TrainingRun, until: int, interrupted: Callable[[], bool]) -> StepRecord | None:
    """Train, with a progress bar on a terminal; returns the last record."""
    last = None
    with _progress(run, until) as show_iteration:
        if interrupted():
            return None
        for last in run.iterations(until):
            show_iteration(last)
            if interrupted():
                break
    return last


@contextmanager
def _progress(run: TrainingRun, until: int) -> Iterator[Callable[[StepRecord], None]]:
    """Shows records as a bar with losses and steps per second, and alarms above it."""
    done, told, began = run.trainer.iterations, 0, time.perf_counter()
    with bar("", until, done, keep=True) as shown:

        def show_iteration(record: StepRecord) -> None:
            nonlocal told
            for alarm in run.alarms[told:]:
                shown.say(visible(alarm.sentence))
            told = len(run.alarms)
            if shown.is_due or record.step == until:
                speed = (record.step - done) / (time.perf_counter() - began)
                shown.move(record.step, f"{speed:,.0f} steps/s {visible(_losses(record))}")

        yield show_iteration


def _losses(record: StepRecord) -> str:
    """``loss 0.0123, L_G 0.69``: losses by their block where it has one output."""
    return ", ".join(f"{PortPath(name).short} {loss:.4g}" for name, loss in record.losses.items())


def _report(run: TrainingRun, file: str, last: StepRecord | None, speed: float, json: bool) -> None:
    if json:
        print_json(_json(run, file, last, speed))
    else:
        show(_parts(run, file, last, speed))


def _parts(run: TrainingRun, file: str, last: StepRecord | None, speed: float) -> list[Part]:
    trainer = run.trainer
    title = title_line(trainer.session.diagram.title) or file
    if last is None:
        made = f"{trainer.iterations:,} iterations are made already."
    else:
        made = f"Trained for {trainer.iterations:,} iterations, {speed:,.0f} steps per second."
    parts: list[Part] = [title, f"{made}\nThe result is {run.folder / TRAINED}."]
    told = [*trainer.notes, *run.notes, *(alarm.sentence for alarm in run.alarms)]
    parts += ["\n".join(told)] if told else []
    if last is not None:
        rows = [(name, _number(loss)) for name, loss in last.losses.items()]
        rows += [(f"{name}, validation", _number(x)) for name, x in (last.validation or {}).items()]
        parts.append(TextTable("Losses of the last iteration", ("loss", "value"), tuple(rows)))
        rates = tuple(
            (name, f"{about.lr:.6g}", _number(about.grad_norm), str(about.updates))
            for name, about in last.optimisers.items()
        )
        head = ("optimiser", "learning rate", "gradient norm", "updates")
        parts.append(TextTable("Optimisers", head, rates))
    return parts


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _json(run: TrainingRun, file: str, last: StepRecord | None, speed: float) -> dict[str, object]:
    """``{"report": "train", "version": 1, …}``; the speed in steps per second."""
    trainer = run.trainer
    return {
        "report": "train",
        "version": 1,
        "file": file,
        "title": trainer.session.diagram.title,
        "engine": trainer.session.engine.name,
        "device": trainer.session.engine.device,
        "folder": str(run.folder),
        "trained": str(run.folder / TRAINED),
        "rounds": trainer.iterations,
        "speed": speed,
        "notes": [*trainer.notes, *run.notes],
        "alarms": _alarms(run),
        "losses": _finite(last.losses) if last else {},
        "validation": _finite(last.validation) if last and last.validation else {},
        "optimisers": {
            name: {
                "lr": about.lr, "grad_norm": about.grad_norm, "updates": about.updates,
                "skipped": list(about.skipped),
            }
            for name, about in (last.optimisers if last else {}).items()
        },
    }  # fmt: skip


def _alarms(run: TrainingRun) -> list[dict[str, object]]:
    return [
        {
            "trouble": alarm.trouble, "block": alarm.block, "step": alarm.step,
            "sentence": alarm.sentence,
        }
        for alarm in run.alarms
    ]  # fmt: skip


def _finite(numbers: Mapping[str, float]) -> dict[str, float | str]:
    """Numbers for JSON, which has no infinite ones."""
    return {name: x if math.isfinite(x) else str(x) for name, x in numbers.items()}


def _diverged(error: DivergedError, run: TrainingRun, file: str, json: bool) -> None:
    """Say which block made a number that is not finite, and where the pass is stored."""
    if error.diagram is not None:
        error.next_step = f"Look at that pass with: gradwire doctor {run.folder / DIVERGED}"
    if json:
        print_json(
            {
                "report": "train", "version": 1, "file": file, "folder": str(run.folder),
                "rounds": run.trainer.iterations, "alarms": _alarms(run),
                "diverged": run.about(error),
            }
        )  # fmt: skip
    say(*(alarm.sentence for alarm in run.alarms))
    print_problems([Problem.of_error(error, file)])
