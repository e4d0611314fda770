"""Models that a program makes, by reference: ``model.py:make``, ``HEAD~1:model.py:make``.

``make`` is a function without arguments. It returns what ``gradwire.capture`` takes, a model and
its arguments as a tuple; or it is itself the step that is captured. It runs in a process of its
own, from the folder of its file as ``python model.py`` would, with random numbers from seed 0.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.process import ask, error_of, imported_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

CHILD = "gradwire.runtime.programs.child"
_REFERENCE = re.compile(
    r"(?:(?P<revision>[^:\n]{2,200}):)?(?P<file>(?:[A-Za-z]:)?[^:\n]{1,4000}\.py):(?P<name>[\w.]{1,500})"
)


def _never() -> bool:
    return False


class ModelReference(NamedTuple):
    """What makes a model: a function, the file that defines it, and a revision of git."""

    file: Path
    name: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{f'{self.revision}:' if self.revision else ''}{self.file}:{self.name}"


@dataclass(frozen=True, eq=False)
class Captured:
    """A model that a program makes, captured.

    ``files`` are those of the program, relative to the working folder, by the last parts of their
    names, which is how diagrams tell of lines; a name that several have is left out.
    """

    imported: Imported
    files: Mapping[str, str]


def parse_reference(text: str) -> ModelReference | None:
    """``[REVISION:]FILE.py:NAME``; None for a text that is no reference, such as a file's name."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return None
    return ModelReference(Path(found["file"]), found["name"], found["revision"] or "")


def capture_reference(
    reference: ModelReference,
    *,
    loss: str = "",
    structure: bool = False,
    replaced: Mapping[str, str] | None = None,
    cancelled: Callable[[], bool] = _never,
) -> Captured:
    """Capture what a program makes; ``loss`` and ``structure`` are those of ``gradwire.capture``.

    ``replaced`` has what to run instead of what files contain, by their absolute paths.

    Raises FileError where the program can't be run or captured, or git has no such revision, and
    Interrupted once ``cancelled`` returns true.
    """
    with _at_revision(reference) as (file, home):
        if not file.is_file():
            raise FileError("There is no such file.", path=str(reference))
        with tempfile.TemporaryDirectory(prefix="gradwire-") as folder:
            out = Path(folder) / "model.gradwire.json"
            request = {
                "file": str(file),
                "name": reference.name,
                "home": str(home),
                "out": str(out),
                "loss": loss,
                "structure": structure,
                "replaced": dict(replaced or {}),
            }
            answer = ask(CHILD, request, what="The program", threads=None, cancelled=cancelled)
            if "error" in answer:
                raise error_of(answer["error"], Path(str(reference)))
            return Captured(imported_of(answer["imported"], out), answer["files"])


@contextmanager
def _at_revision(reference: ModelReference) -> Iterator[tuple[Path, Path]]:
    """The file, and the folder that names of files are relative to, as they are in a revision."""
    file = reference.file.absolute()
    if not reference.revision:
        yield file, Path.cwd()
        return
    top = Path(_git(reference, ["rev-parse", "--show-toplevel"], file.parent).strip())
    asked = ["rev-parse", "--verify", "--end-of-options", f"{reference.revision}^{{commit}}"]
    commit = _git(reference, asked, top).strip()
    with tempfile.TemporaryDirectory(prefix="gradwire-") as folder:
        # The whole tree, as its modules import one another; neither index nor branch is touched.
        tree = Path(folder, "tree")
        index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        _git(reference, ["read-tree", commit], top, index)
        _git(reference, ["checkout-index", "--all", f"--prefix={tree}{os.sep}"], top, index)
        yield tree / os.path.relpath(os.path.realpath(file), os.path.realpath(top)), tree


def _git(
    reference: ModelReference,
    arguments: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise FileError(f"git can't be run: {error.strerror}.", path=str(reference)) from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise FileError(f"git can't give this revision: {said[:200]}.", path=str(reference))
    return done.stdout
