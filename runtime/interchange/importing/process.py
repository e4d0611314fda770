"""Imports a file in a process of its own; see ``child``."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import FileError, Location
from gradwire.runtime.diagram.files.storage import load
from gradwire.runtime.engine.interruption import Interrupted
from gradwire.runtime.interchange.importing.formats import format_of
from gradwire.runtime.interchange.importing.imported import Imported, Remark
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions
from gradwire.runtime.interpreters import BLAS, end, start, why_ended
from gradwire.runtime.progress_bars import bar

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape

_CHILD = "gradwire.runtime.interchange.importing.child"
_PULSE = 0.05
"""Seconds after which it is asked again whether the import is cancelled."""


def _ignore(what: str, done: float) -> None:
    """A listener that does nothing."""


def _never() -> bool:
    return False


@explained
def import_model(
    path: str | Path,
    *,
    shapes: Mapping[str, Shape] = DEFAULTS.shapes,
    loss: str = "",
    training: bool = False,
    seed: int = 0,
) -> Imported:
    """Import a model from a file of another system, which is recognised by its content.

    ``shapes`` are those of inputs, by name, where the file leaves lengths open; ``loss`` is the
    output to minimise, by default the only one, if that is a single float; with ``training``,
    blocks such as BatchNorm and Dropout are as in training; ``seed`` is that of inputs that get
    numbers. The file is read in a process of its own, whose memory and time are limited; nothing
    of it is executed. Raises FileError.
    """
    options = ImportOptions(shapes, loss, training, seed)
    with bar("Importing", share=True) as shown:
        return import_apart(Path(path), options, progress=lambda what, done: shown.move(done, what))


def import_apart(
    path: Path,
    options: ImportOptions,
    *,
    progress: Callable[[str, float], object] = _ignore,
    cancelled: Callable[[], bool] = _never,
) -> Imported:
    """Import a model in another process.

    ``progress`` gets what is counted and the fraction that is done, 0 … 1. Raises FileError, and
    Interrupted once ``cancelled`` returns true; so does what ``progress`` raises end the import.
    """
    format_of(path)  # what is no model needs no process
    with tempfile.TemporaryDirectory(prefix="gradwire-") as folder:
        out = Path(folder) / "model.gradwire.json"
        request = {"path": str(path.absolute()), "out": str(out), "options": asdict(options)}
        answer = ask(_CHILD, request, progress=progress, cancelled=cancelled)
        if "error" in answer:
            raise error_of(answer["error"], path)
        return imported_of(answer["imported"], out)


def imported_of(described: Mapping[str, Any], out: Path) -> Imported:
    """What a process has found, with the diagram that it wrote; raises FileError."""
    return Imported(
        replace(load(out), folder=None),
        tuple(Remark(**remark) for remark in described["remarks"]),
        described["parameters"],
        described["inputs"],
        described["outputs"],
    )


def ask(
    module: str,
    request: Mapping[str, Any],
    *,
    what: str = "The import",
    threads: int | None = 1,
    progress: Callable[[str, float], object] = _ignore,
    cancelled: Callable[[], bool] = _never,
) -> dict[str, Any]:
    """The answer of a module, in a process of its own, to a request.

    ``what`` it does is for messages; ``threads`` are those of its matrix products, None for its own
    choice. Raises Interrupted, with the process ended, once ``cancelled`` returns true.
    """
    child = start(module, {} if threads is None else dict.fromkeys(BLAS, str(threads)))
    assert child.stdin is not None and child.stdout is not None
    messages: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
    reader = threading.Thread(
        target=_read, args=(child.stdout, messages), name="import", daemon=True
    )
    try:
        with suppress(BrokenPipeError):  # that it has ended is seen below
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
        reader.start()
        while (message := _next(messages, cancelled)) is not None:
            if "what" not in message:
                return message
            progress(str(message["what"]), float(message["done"]))
        return {"error": {"what": _ending(what, child.wait())}}
    finally:
        end(child)
        with suppress(BrokenPipeError):
            child.stdin.close()
        child.stdout.close()


def _read(stream: IO[bytes], messages: SimpleQueue[dict[str, Any] | None]) -> None:
    with suppress(ValueError, OSError):  # the process was killed in the middle of a line
        for line in stream:
            messages.put(json.loads(line))
    messages.put(None)


def _next(
    messages: SimpleQueue[dict[str, Any] | None], cancelled: Callable[[], bool]
) -> dict[str, Any] | None:
    while True:
        if cancelled():
            raise Interrupted
        with suppress(Empty):
            return messages.get(timeout=_PULSE)


def _ending(what: str, code: int) -> str:
    """Why a process gave no answer."""
    if code == -24:  # SIGXCPU
        return f"{what} took too long and was ended."
    return f"{what} has ended without a result: {why_ended(code)}."


def error_of(said: dict[str, Any], path: Path) -> FileError:
    """The error that a process answers with, about a file."""
    place = said.pop("block", None)
    return FileError(**said, path=str(path), location=Location(block=place) if place else None)
