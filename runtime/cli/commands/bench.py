"""``gradwire bench FILE``: where the time of a diagram goes, block by block."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gradwire.blocks.errors import FeedError
from gradwire.runtime.cli.arguments import (
    Device,
    DiagramFile,
    EngineName,
    Json,
    Losses,
    Threads,
    Values,
)
from gradwire.runtime.cli.engines import opened_engine
from gradwire.runtime.cli.output import UsageError, print_json, print_problems, problems_code
from gradwire.runtime.cli.sessions import choose_losses, has_errors, open_session
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.profile import Cost, Profile, profile
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.publish.printable import title_line
from gradwire.runtime.publish.text import Part, TextTable, bytes_text, show, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram.paths import PortPath

NAMED = 4
"""Blocks of one piece of work that are named; more are counted."""


MOST_SECONDS = 3600.0
"""For how long may be measured."""


def _seconds(text: str) -> float:
    try:
        given = float(text)
    except ValueError:
        given = math.nan
    if not 0 <= given <= MOST_SECONDS:  # a comparison with NaN is false
        raise UsageError(
            "--seconds is not a length of time.",
            expected=f"a number from 0 to {MOST_SECONDS:g}",
            got=repr(text),
        )
    return given


def bench(
    file: DiagramFile,
    values: Values = None,
    loss: Losses = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", metavar="S", help="For how long to measure.", parser=_seconds),
    ] = 1.0,
    engine: EngineName = "numpy",
    device: Device = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure where time goes, block by block.

    A call computes the losses and the gradients of all trainable variables; without a loss, every
    value. Blocks that run as one piece of work share a row.
    """
    with opened_engine(EngineChoice(engine, device, threads)) as opened:
        session, problems = open_session(file, values, partial(Session, engine=opened))
        print_problems(problems)
        if has_errors(problems):
            raise typer.Exit(problems_code(problems))
        measured = _measured(session, choose_losses(session, loss), seconds)
    if json:
        print_json(_json(measured, str(file), session))
    else:
        show(_parts(measured, title_line(session.diagram.title) or str(file)))


def _measured(session: Session, losses: Sequence[PortPath], seconds: float) -> Profile:
    try:
        return profile(session, losses, seconds=seconds)
    except FeedError as error:
        name = error.location.block if error.location else "NAME"
        error.next_step = f"Give it one with --set {name}=VALUE, or in the file."
        raise


def _parts(measured: Profile, title: str) -> list[Part]:
    """A summary, and a table of blocks, those that cost most first."""
    call = (
        f"One call takes {time_text(measured.call)} (median of {measured.runs}): "
        f"{measured.steps} steps, {bytes_text(measured.bytes)} for their results."
    )
    once = {"trace": measured.tracing, "plan": measured.planning}
    if measured.compiling:
        once["compile"] = measured.compiling
        call += " It is compiled as a whole, one piece of work in which all blocks share a row."
    each = ", ".join(f"{time_text(taken)} to {what}" for what, taken in once.items())
    ready = f"Prepared once in {time_text(sum(once.values()))}: {each}."
    total = sum(cost.seconds for cost in measured.costs) or 1.0
    rows = tuple(
        (
            time_text(cost.forward) if cost.forward else "-",
            time_text(cost.backward) if cost.backward else "-",
            f"{100 * cost.seconds / total:.1f} %",
            bytes_text(cost.bytes),
            str(cost.steps),
            _names(cost),
        )
        for cost in measured.costs
    )
    head = ("forward", "backward", "share", "writes", "steps", "blocks")
    return [title, f"{call}\n{ready}", TextTable("Blocks", head, rows)]


def _names(cost: Cost) -> str:
    names = ", ".join(cost.blocks[:NAMED])
    more = len(cost.blocks) - NAMED
    return f"{names} and {more} more" if more > 0 else names


def _json(measured: Profile, file: str, session: Session) -> dict[str, object]:
    """``{"report": "bench", "version": 1, …}``; times in seconds."""
    return {
        "report": "bench",
        "version": 1,
        "file": file,
        "title": session.diagram.title,
        "engine": session.engine.name,
        "device": session.engine.device,
        "losses": list(measured.losses),
        "call": measured.call,
        "tracing": measured.tracing,
        "planning": measured.planning,
        "compiling": measured.compiling,
        "runs": measured.runs,
        "steps": measured.steps,
        "bytes": measured.bytes,
        "costs": [
            {
                "blocks": list(cost.blocks),
                "forward": cost.forward,
                "backward": cost.backward,
                "bytes": cost.bytes,
                "steps": cost.steps,
            }
            for cost in measured.costs
        ],
    }
