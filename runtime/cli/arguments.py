"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.cli.output import UsageError
from gradwire.runtime.engine.plan.numpy_engine import MOST_THREADS
from gradwire.runtime.engine.session.engines import NAMES
from gradwire.runtime.flow.numbers.rules import OLDER_THRESHOLDS, Thresholds


def output_option(help: str) -> Any:
    """``-o OUT``, the file to write."""
    return path_option("--output", "-o", metavar="OUT", help=help)


def path_option(*names: str, metavar: str, help: str) -> Any:
    """An option that takes a path."""
    return typer.Option(*names, parser=Path, metavar=metavar, help=help, show_default=False)


def path_argument(metavar: str, help: str) -> Any:
    """An argument that is a path."""
    return typer.Argument(parser=Path, metavar=metavar, help=help, show_default=False)


DiagramFile: TypeAlias = Annotated[
    Path,
    path_argument(
        "FILE", "A *.gradwire.json file, or a model that a program makes (model.py:make)."
    ),
]
Values: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Give a variable, an input or a constant a value: a number, true, false, nan, inf, "
        "or nested lists. May be repeated.",
        show_default=False,
    ),
]
Losses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--loss",
        metavar="PORT",
        help="Differentiate this port (loss.out, or just loss). May be repeated; without it, "
        "the Loss blocks of the diagram.",
        show_default=False,
    ),
]


def _engine(text: str) -> str:
    if text not in NAMES:
        raise UsageError(
            f"There is no engine {text[:80]!r}.",
            expected="one of " + ", ".join(NAMES),
            next_step=did_you_mean(text, NAMES),
        )
    return text


EngineName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="|".join(NAMES),
        help="What computes. jax compiles the diagram first, and needs the extra of that name.",
        parser=_engine,
    ),
]
Device: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="DEVICE",
        help="Where the engine jax computes: cpu, gpu or tpu, one of them such as gpu:1, or "
        "several that share each batch, such as gpu:all. Without it, what JAX prefers.",
        show_default=False,
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=MOST_THREADS,
        help="Threads on the processor; without it as many as the process has.",
        show_default=False,
    ),
]
ThresholdOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="NAME=NUMBER",
        help="Threshold of a state, or of a sum that cancels: "
        + ", ".join(f"{field.name}={field.default:g}" for field in fields(Thresholds))
        + ". May be repeated.",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, at full precision.")]


def parse_thresholds(thresholds: list[str] | None) -> Thresholds:
    """The thresholds with those given in place; raises UsageError."""
    known = [field.name for field in fields(Thresholds)]
    given: dict[str, float] = {}
    for text in thresholds or ():
        written, _, number = text.partition("=")
        name = OLDER_THRESHOLDS.get(written.strip(), written.strip())
        try:
            given[name] = float(number)
        except ValueError:
            raise UsageError(f"--threshold {text}: {number!r} is not a number.") from None
        if name not in known:
            raise UsageError(
                f"--threshold {text}: there is no threshold {name!r}.",
                expected=f"one of {', '.join(known)}",
                next_step=did_you_mean(name, known),
            )
    return replace(Thresholds(), **given)
