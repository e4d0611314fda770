"""The engine of a command, and what a terminal is told while it compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradwire.runtime.cli.output import say
from gradwire.runtime.engine.compilation import listening
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.publish.text import time_text

if TYPE_CHECKING:
    from gradwire.runtime.engine.compilation import Compilation
    from gradwire.runtime.engine.engine import Engine


@contextmanager
def opened_engine(choice: EngineChoice) -> Iterator[Engine]:
    """The engine; within, a terminal is told what it compiles. Raises what ``open_engine`` does."""
    engine = choice.open()
    with listening(_tell):
        yield engine


def options_of(choice: EngineChoice) -> list[str]:
    """The options that choose this engine."""
    given: list[str] = [] if choice.name == "numpy" else ["--engine", choice.name]
    given += [] if choice.device is None else ["--device", choice.device]
    given += [] if choice.threads is None else ["--threads", str(choice.threads)]
    return given + (["--divide-weights"] if choice.divide_weights else [])


def _tell(compilation: Compilation) -> None:
    if not sys.stderr.isatty():
        return
    if compilation.seconds is None:
        say(f"Compiling {compilation.operations:,} operations for JAX …")
    else:
        say(f"Compiled in {time_text(compilation.seconds)}.")
