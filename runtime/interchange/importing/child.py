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
import time
from contextlib import suppress
from dataclasses import asdict
from mmap import PAGESIZE
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradwire.blocks.errors import FileError, GradwireError, reason_of
from gradwire.runtime.data.progress import listening
from gradwire.runtime.diagram.files.storage import save
from gradwire.runtime.engine.plan.memory import machine_bytes
from gradwire.runtime.interchange.importing.formats import import_here
from gradwire.runtime.interchange.importing.options import ImportOptions

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

MAX_SECONDS = 600
"""Seconds of processor time that an import may take."""
LEAST_MEMORY = 2 << 30
"""Bytes of memory that it may have in any case; more where the machine has more than twice as much.
"""
_TOO_LARGE = "The model needs more memory than an import may have."
_PULSE = 0.02
"""Seconds between two looks at the memory in use."""


def main() -> None:
    """Serve one import, unless the end of the other process ends this one."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libraries may print what they like
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_other, name="end", daemon=True).start()
    limit_resources(answers)
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
        return {"imported": described(found)}
    except GradwireError as error:
        return {"error": error_json(error)}
    except MemoryError:
        return {"error": error_json(FileError(_TOO_LARGE))}
    except RecursionError:
        return {"error": error_json(FileError("The model is nested too deeply."))}
    except Exception as error:  # a damaged file may fail anywhere in a reader
        if os.environ.get("GRADWIRE_TRACEBACK"):
            raise
        what = f"The file is damaged, or has something unexpected: {reason_of(error)}"
        return {"error": error_json(FileError(f"{what}."))}


def limit_resources(answers: IO[str]) -> None:
    """Bound processor time and memory. Where the system can't bound memory, as on macOS, the import
    ends once it uses more.
    """
    most = max(LEAST_MEMORY, machine_bytes() // 2)
    try:
        _lower("CPU", MAX_SECONDS, MAX_SECONDS + 5)
        _lower("AS", most, most)
    except (ImportError, OSError, ValueError) as error:
        if os.environ.get("GRADWIRE_TRACEBACK"):
            print(f"The memory in use is watched, as it can't be limited: {error}", file=sys.stderr)
        threading.Thread(target=_watch, args=(most, answers), name="memory", daemon=True).start()


def _lower(name: str, soft: int, hard: int) -> None:
    """Lower the limits of a resource to these; lower ones stay, which the user has chosen."""
    if sys.platform == "win32":
        raise OSError("Windows has no such limits")
    import resource

    kind = getattr(resource, f"RLIMIT_{name}")
    there = [n if n >= 0 else sys.maxsize for n in resource.getrlimit(kind)]  # below 0: no limit
    resource.setrlimit(kind, (min(soft, there[0]), min(hard, there[1])))


def _watch(most: int, answers: IO[str]) -> None:
    """End this process as soon as it uses more memory."""
    while (used := _memory_in_use()) is not None:
        if used > most:
            say(answers, {"error": error_json(FileError(_TOO_LARGE))})
            os._exit(1)
        time.sleep(_PULSE)


def _memory_in_use() -> int | None:
    """Bytes of memory that this process has, or has had at most; None where nobody knows."""
    with suppress(OSError):  # not on Linux
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * PAGESIZE
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def described(found: Imported) -> dict[str, Any]:
    """What is found beside the diagram, for JSON."""
    return {
        "remarks": [asdict(remark) for remark in found.remarks],
        "parameters": dict(found.parameters),
        "inputs": dict(found.inputs),
        "outputs": dict(found.outputs),
    }


def error_json(error: GradwireError) -> dict[str, Any]:
    """An error, for JSON."""
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
