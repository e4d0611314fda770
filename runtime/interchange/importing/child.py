"""The process that imports a file: its memory and time are limited, and it can be killed.

It reads one line of JSON from standard input and writes lines of JSON to standard output: how far
it is, and at last what it found. The diagram itself goes to a file. So nothing that a file may have
done to this process reaches the other one but text and a diagram that is checked when it is read.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.data.progress import listening
from gradwire.runtime.diagram.files.storage import save
from gradwire.runtime.interchange.importing.formats import import_here
from gradwire.runtime.interchange.importing.options import ImportOptions

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

MAX_SECONDS = 600
"""Seconds of processor time that an import may take."""
LEAST_MEMORY = 2 << 30
"""Bytes of address space that it may have in any case; more where the machine has more than twice
as much."""


def main() -> None:
    """Serve one import, unless the end of the other process ends this one."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libraries may print what they like
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_other, name="end", daemon=True).start()
    limit_resources()
    say(answers, answer(request, answers))


def _end_with_the_other() -> None:
    """Wait until nobody holds the other end of standard input."""
    sys.stdin.read()
    os._exit(1)


def say(answers: IO[str], message: dict[str, Any]) -> None:
    """Write one message."""
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def answer(request: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    """Import the requested file, and say what came of it."""
    path = Path(request["path"])
    shapes = {name: tuple(shape) for name, shape in request["options"].pop("shapes").items()}
    options = ImportOptions(shapes=shapes, **request["options"])
    try:
        with listening(lambda what, done: say(answers, {"what": what, "done": done})):
            found = import_here(path, options)
            save(found.diagram, request["out"])
        return {"imported": _described(found)}
    except GradwireError as error:
        return {"error": _error(error)}
    except MemoryError:
        return {"error": _error(FileError("The model needs more memory than an import may have."))}
    except RecursionError:
        return {"error": _error(FileError("The model is nested too deeply."))}
    except Exception as error:  # a damaged file may fail anywhere in a reader
        if os.environ.get("GRADWIRE_TRACEBACK"):
            raise
        what = f"The file is damaged, or has something unexpected: {type(error).__name__}: {error}"
        return {"error": _error(FileError(f"{what[:500]}."))}


def limit_resources() -> None:
    """Bound memory and processor time, where the system can."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    bytes_ = max(LEAST_MEMORY, memory // 2)
    resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 5))


def _described(found: Imported) -> dict[str, Any]:
    return {
        "remarks": [asdict(remark) for remark in found.remarks],
        "parameters": dict(found.parameters),
        "inputs": dict(found.inputs),
        "outputs": dict(found.outputs),
    }


def _error(error: GradwireError) -> dict[str, Any]:
    place = error.location
    return {
        "what": error.what,
        "expected": error.expected,
        "got": error.got,
        "next_step": error.next_step,
        "block": None if place is None else place.block,
    }


if __name__ == "__main__":
    main()
