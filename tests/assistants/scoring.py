"""Whether a bug is mended: by what the program computes, and by what the doctor says of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.programs.references import ModelReference, capture_reference

if TYPE_CHECKING:
    from tests.assistants.repositories import Repository

Verdict: TypeAlias = Literal["mended", "mended otherwise", "not mended"]
_TOLERANCE = 1e-4


class Result(NamedTuple):
    """What became of a bug, and what is still wrong."""

    verdict: Verdict
    why: str = ""


def score(repository: Repository, folder: Path) -> Result:
    """What became of a repository in a folder that a solver has had.

    It is mended if it computes what the program without the bug does: losses, gradients and
    updates. It is mended otherwise if at least the same parameters get gradient, finite and not 0,
    and the doctor no longer says of it what it says of the bug.
    """
    with tempfile.TemporaryDirectory() as scratch:
        without = repository.write(Path(scratch), broken=False)
        wanted, found = measured(without, folder)
    return judged(repository, folder, wanted, found)


def judged(repository: Repository, folder: Path, wanted: Any, found: Any) -> Result:
    """The same by what the program without the bug computes, and that of the folder."""
    if found["error"] and found["error"] != wanted["error"]:
        return Result("not mended", f"raises {found['error']}")
    if _alike(wanted, found):
        return Result("mended")
    if _states(wanted) != _states(found):
        return Result("not mended", "other parameters get gradient than without the bug")
    if left := _said(repository, folder):
        return Result("not mended", left)
    return Result("mended otherwise")


def measured(*folders: Path) -> list[Any]:
    """What the programs of folders compute, each in a process of its own."""
    command = [sys.executable, "-m", "tests.assistants.measuring", *map(str, folders)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _alike(wanted: Any, found: Any) -> bool:
    """Whether two programs compute the same, but for rounding."""
    if wanted["error"] != found["error"]:
        return False
    keys = "losses", "gradients", "values"
    pairs = [(_flat(wanted[key]), _flat(found[key])) for key in keys]
    return all(
        len(one) == len(other)
        and np.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE**2, equal_nan=True)
        for one, other in pairs
    )


def _flat(values: Any) -> list[float]:
    if isinstance(values, list):
        return [x for value in values for x in _flat(value)]
    return [np.nan if values is None else float(values)]


def _states(program: Any) -> list[str]:
    """Whether each parameter gets gradient, in the last call."""
    if not program["gradients"]:
        return []
    states = []
    for gradient in program["gradients"][-1]:
        numbers = [] if gradient is None else [float(x) for x in gradient]
        is_none = gradient is None or not any(numbers)
        states.append("none" if is_none else "some" if np.isfinite(numbers).all() else "bad")
    return sorted(states)


def _said(repository: Repository, folder: Path) -> str:
    """What the doctor still says of the bug; empty for nothing."""
    try:
        captured = capture_reference(ModelReference(folder / "train.py", "make"))
    except GradwireError as error:
        return f"can't be captured: {error}"
    session = Session(captured.imported.diagram)
    sentences = [finding.sentence for finding in diagnose(session)]
    sentences += [str(remark) for remark in captured.imported.remarks]
    case = repository.case
    return next((text for text in sentences if all(name in text for name in case.names)), "")
