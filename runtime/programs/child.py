"""The process that runs a program's function and captures the model that it makes."""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import random
import sys
import threading
import traceback
from importlib import import_module
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.diagram.files.storage import save
from gradwire.runtime.interchange.importing.capturing import capture
from gradwire.runtime.interchange.importing.child import described, error_json, say
from gradwire.runtime.interpreters import pipes
from gradwire.runtime.programs.scripts import watched_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import CodeType, TracebackType

    from gradwire.runtime.interchange.importing.imported import Imported

_SEED = 0
_MOST = 2000
"""Characters of a program's own error that are passed on, at most."""


def main() -> None:
    """Serve one capture, unless the end of the other process ends this one."""
    commands, binary = pipes()  # the program may read and print what it likes
    answers = io.TextIOWrapper(binary, encoding="utf-8")
    request = json.loads(commands.readline())
    threading.Thread(target=_end_with, args=(commands,), name="end", daemon=True).start()
    say(answers, answer(request))


def _end_with(commands: IO[bytes]) -> None:
    """Wait until nobody holds the other end."""
    commands.read()
    os._exit(1)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Capture or run what is requested, and say what came of it."""
    if "script" in request:
        return _watched(Path(request["script"]), request)
    file, name = Path(request["file"]), request["name"]
    _replace(request["replaced"])
    try:
        with _shown_as_python_does(file, name):
            function = _function(file, name, request["home"])
            _seed()
            made = function()
            found = _captured(function, made, request["loss"], request["structure"])
        save(found.diagram, request["out"])
    except GradwireError as error:
        return {"error": error_json(error)}
    return {"imported": described(found), "files": _files(Path(request["home"]))}


def _replace(sources: Mapping[str, str]) -> None:
    """Let files have other contents for all that this process imports."""
    if not sources:
        return

    class Replacing(SourceFileLoader):
        def get_code(self, fullname: str) -> CodeType | None:
            text = sources.get(self.path)
            return super().get_code(fullname) if text is None else compile(text, self.path, "exec")

    loaders = (
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (Replacing, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )
    sys.path_hooks.insert(0, FileFinder.path_hook(*loaders))
    sys.path_importer_cache.clear()
    for path, text in sources.items():
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


def _watched(script: Path, request: dict[str, Any]) -> dict[str, Any]:
    sources = request.get("replaced", {})
    _replace(sources)
    text = sources.get(str(script.absolute()))
    arguments, steps = request["arguments"], request.get("steps")
    try:
        code, reports = watched_script(script, arguments, is_quiet=True, steps=steps, text=text)
    except GradwireError as error:
        return {"error": error_json(error)}
    files = _files(Path.cwd(), script)
    models = [report.as_json() for report in reports]
    return {"exit_code": code, "models": models, "files": files}


def _function(file: Path, name: str, home: str) -> Callable[[], object]:
    """The function, from its file as a module of the package that the file is in, if any."""
    package, parts = file.parent, [file.stem]
    while (package / "__init__.py").is_file():
        parts.insert(0, package.name)
        package = package.parent
    sys.path.insert(0, str(package))
    sys.path.insert(_behind_the_standard_library(), home)
    module = import_module(".".join(parts))
    if not os.path.samefile(module.__file__ or os.devnull, file):
        raise FileError(
            f"{'.'.join(parts)} is another module, {module.__file__}.",
            next_step="Give the file another name.",
        )
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise FileError(
                f"{file.name} defines no {name}.",
                expected="a function without arguments that makes the model",
            )
        found = getattr(found, part)
    if not callable(found):
        raise FileError(
            f"{name} in {file.name} is not a function.",
            expected="a function without arguments that makes the model",
            got=type(found).__name__,
        )
    function: Callable[[], object] = found
    return function


def _behind_the_standard_library() -> int:
    """The place on the path from which a folder hides no module of Python, but installed ones."""
    own = Path(os.__file__).parent
    return 1 + max(
        i for i, entry in enumerate(sys.path) if Path(entry) in (own, own / "lib-dynload")
    )


def _seed() -> None:
    random.seed(_SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(_SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(_SEED)


def _captured(function: Callable[[], object], made: object, loss: str, structure: bool) -> Imported:
    """A model with its arguments, or a step: whatever was made."""
    if isinstance(made, tuple) and made and callable(made[0]):
        return capture(*made, loss=loss, structure=structure)
    _seed()
    return capture(made if callable(made) else function, loss=loss, structure=structure)


@contextlib.contextmanager
def _shown_as_python_does(file: Path, name: str) -> Iterator[None]:
    """What the program raises is shown on standard error, and a FileError."""
    try:
        yield
    except GradwireError:
        raise
    except (Exception, SystemExit) as error:  # whatever a program raises is its own
        trace = _own(error.__traceback__, file)
        traceback.print_exception(error.with_traceback(trace))
        last = traceback.extract_tb(trace)[-1:]
        place = f" ({Path(last[0].filename).name}:{last[0].lineno})" if last else ""
        said = f"{type(error).__name__}: {error}"[:_MOST]
        raise FileError(f"{name} raised {said}{place}.") from None


def _own(trace: TracebackType | None, file: Path) -> TracebackType | None:
    """The part of a traceback from the program on; all of it where the program isn't in it."""
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename != str(file):
        own = own.tb_next
    return own or trace


def _files(home: Path, *more: Path) -> dict[str, str]:
    """The program's own modules that are loaded, by the last parts of their files' names."""
    found: dict[str, set[str]] = {}
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    modules = (Path(file) for file in loaded if isinstance(file, str))
    for file in (*(path.absolute() for path in more), *modules):
        if file.is_relative_to(home) and "site-packages" not in file.parts:
            found.setdefault(file.name, set()).add(file.relative_to(home).as_posix())
    return {name: paths.pop() for name, paths in found.items() if len(paths) == 1}
