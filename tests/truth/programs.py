"""Programs without a fault: the doctor must stay silent, and diagrams must agree with PyTorch.

Modules of ``healthy`` and ``libraries`` declare programs with ``@program``. Those of a library that
is not installed are left out, and named. ``libraries`` needs torchvision and what its modules
import; random weights and tiny configurations, so that nothing is downloaded.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported


@dataclass(frozen=True)
class Program:
    """A program that somebody else has written, or might have."""

    capture: Callable[[], Imported]

    @property
    def name(self) -> str:
        """Its module within ``tests.truth``, and its function."""
        module = self.capture.__module__.removeprefix("tests.truth.")
        return f"{module}.{self.capture.__name__}"

    def alarms(self) -> list[str]:
        """All that is wrong by the doctor's findings, and a refusal.

        Every finding of ``diagnose`` counts, whatever its gravity: a known pattern, and a gradient
        that is 0 for a mathematical reason, are said by ``reassurance`` and ``explain``, and are
        none.
        """
        try:
            imported = self._captured()
        except GradwireError as error:
            return [f"refused: {error}"]
        return [f"{f.complaint.name}: {f.sentence}" for f in diagnose(Session(imported.diagram))]

    def comparison(self) -> tuple[str, str]:
        """Whether it gets in and agrees with PyTorch: a word for it, and what differs."""
        try:
            imported = self._captured()
        except GradwireError as error:
            return "refused", str(error)
        except Exception as error:  # the library's, or a fault of the capture
            return "failed", f"{type(error).__name__}: {error}"
        comparison = imported.diagram.comparison
        if comparison is None or comparison.unchecked:
            return "unchecked", comparison.unchecked if comparison else "it has no loss"
        if comparison.disagreements:
            checked = [str(r) for r in imported.remarks if r.kind == "checked"]
            return "differs", " ".join(checked)
        return "agrees", ""

    def _captured(self) -> Imported:
        torch.manual_seed(0)
        return self.capture()


def program(capture: Callable[[], Imported]) -> Program:
    """A decorator that makes a program of the function that captures it."""
    return Program(capture)


def trained(loss: Callable[[], Any], optimizer: Any, steps: int) -> None:
    """Make steps of training."""
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def programs_of(package: str, only: Collection[str] = ()) -> Iterator[Program | str]:
    """The programs that modules of a package of ``tests.truth`` declare, in order, or ``only`` of
    these modules; for a module that needs a library which is not installed, a sentence.
    """
    found = importlib.import_module(f"tests.truth.{package}")
    for info in sorted(pkgutil.iter_modules(found.__path__), key=lambda info: info.name):
        if only and info.name not in only:
            continue
        try:
            module: Any = importlib.import_module(f"{found.__name__}.{info.name}")
        except ModuleNotFoundError as error:
            yield f"{package}.{info.name}: {error.name} is not installed"
            continue
        yield from (x for x in vars(module).values() if isinstance(x, Program))
