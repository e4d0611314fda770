"""Several processes that train together: their options, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeAlias

import typer

from gradwire.runtime import extras
from gradwire.runtime.cli.output import FAILED, UsageError, print_problems, say
from gradwire.runtime.engine.engine import LostProcessError
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.training.saving.runs import FollowingRun, LeadingRun, TrainingRun

MOST = 100_000
"""Processes that may train together."""

_SEVERAL = "Training in several processes"

Processes: TypeAlias = Annotated[
    int,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        max=MOST,
        help="Train in so many processes together, with the engine jax: start this command in each "
        "of them, on one machine or many. They share each batch.",
    ),
]
DivideWeights: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--divide-weights",
        help="Let several devices share large variables and the state of their optimisers too, "
        "which takes less memory and more exchange.",
    ),
]
Coordinator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--coordinator",
        metavar="HOST:PORT",
        help="The machine of process 0, and a port that is free there; under Slurm it is found.",
        show_default=False,
    ),
]
Process: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--process",
        metavar="I",
        min=0,
        max=MOST - 1,
        help="Which of the processes this is, from 0 on; without it what the launcher says, such "
        "as Slurm or mpirun.",
        show_default=False,
    ),
]


def run_of(processes: int) -> type[TrainingRun]:
    """How this process trains: alone, as the one of several that writes, or as another."""
    if processes == 1:
        return TrainingRun
    extras.require("jax", _SEVERAL)
    from gradwire.runtime.engine.jax.processes import leads

    return LeadingRun if leads() else FollowingRun


@contextmanager
def joined(
    processes: int, coordinator: str | None, process: int | None, engine: str, file: str
) -> Iterator[None]:
    """Within, this process computes with the others; does nothing for one process.

    Ends the process at once if another one is lost, as leaving orderly would wait for it. Raises
    UsageError for an engine that can't, RunError where they don't come together.
    """
    if processes == 1:
        if coordinator is not None or process is not None:
            raise UsageError("There is one process.", next_step="Add --processes N.")
        yield
        return
    if engine != "jax":
        raise UsageError(
            "Only the engine jax computes in several processes.", next_step="Add --engine jax."
        )
    extras.require("jax", _SEVERAL)
    from gradwire.runtime.engine.jax.processes import join, leads

    with _own_output():
        join(processes, coordinator, process)
        if not leads():
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # to the end
        try:
            yield
        except LostProcessError as error:
            print_problems([Problem.of_error(error, file)])
            say("The last checkpoint is whole; --resume goes on from it.")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(FAILED)


@contextmanager
def _own_output() -> Iterator[None]:
    """Within, only what Python prints goes to the standard output: what the libraries that connect
    processes write there goes to the standard error.
    """
    before = sys.stdout
    try:
        number = before.fileno()
    except (OSError, ValueError):  # not a file, as within tests
        yield
        return
    before.flush()
    kept = os.dup(number)
    os.dup2(sys.stderr.fileno(), number)
    with open(kept, "w", encoding=before.encoding, errors=before.errors, closefd=False) as own:
        sys.stdout = own
        try:
            yield
        finally:
            sys.stdout = before
            own.flush()
            os.dup2(kept, number)
            os.close(kept)
