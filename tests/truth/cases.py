"""Real programs and what must be said of them.

A case is a function that captures a program as its user has it and returns the import. Modules of
``questions`` and ``bugs`` declare cases with ``@case``; ``python -m tests.truth`` prints how many
are answered in full, in part and wrongly.
"""

from __future__ import annotations

import importlib.util
import linecache
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, observe, reassurance, with_fix

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported

Score: TypeAlias = Literal["full", "unknown", "part", "wrong"]
"""Cause, cure and place are said; the product says that it doesn't know; something is missing;
something false is said, or that nothing is wrong."""

UNKNOWN = ("not the same program", "not checked", "is not known", "does not know")
"""What sentences say where the product does not know."""


@dataclass(frozen=True)
class Case:
    """A program, and what must and must not be said of it."""

    capture: Callable[[], Imported]
    address: str
    """Of the public thread; empty for a planted bug."""
    asks: str
    """What the user sees."""
    cause: str
    """What is wrong, as accepted in the thread or planted."""
    names: tuple[str, ...]
    """Parts of sentences that name the cause and the cure; each must be said."""
    at: str
    """The source of the line that must be named; empty where no line is to blame."""
    never: tuple[str, ...]
    """Parts of sentences that would be false."""
    about: tuple[str, ...]
    """Parameters that the user asks about besides, by their names in the program."""

    @property
    def name(self) -> str:
        module = self.capture.__module__.removeprefix("tests.truth.")
        return f"{module}.{self.capture.__name__}"

    def said(self) -> list[str]:
        """Remarks, findings, and what is said of the parameters asked about."""
        imported = self.capture()
        session = Session(imported.diagram)
        found = [f"{finding.key}: {finding.sentence}" for finding in diagnose(session)]
        observed = observe(session)
        return [
            *(str(remark) for remark in imported.remarks),
            *(found or [reassurance(session.program, session.program.heads())]),
            *(
                with_fix(session, observed.explain(imported.parameters[name])).sentence
                for name in self.about
            ),
        ]

    def score(self, said: list[str]) -> tuple[Score, str]:
        """How well a program was answered, and what is missing or false."""
        text = "\n".join(said)
        if false := [part for part in self.never if part in text]:
            return "wrong", f"said: {false}"
        missing = [part for part in self.names if part not in text]
        if self.at and not self._place_is_in(text):
            missing.append(f"the line of {self.at!r}")
        if not missing:
            return "full", ""
        if any(words in text for words in UNKNOWN):
            return "unknown", f"not said: {missing}"
        kind: Score = "wrong" if "Nothing wrong" in text else "part"
        return kind, f"not said: {missing}"

    def _place_is_in(self, text: str) -> bool:
        code = self.capture.__code__
        lines = linecache.getlines(code.co_filename)
        file = code.co_filename.rpartition("/")[2]
        numbers = [n for n, line in enumerate(lines, 1) if self.at in line and "at=" not in line]
        return any(re.search(rf"{re.escape(file)}:{n}\b", text) for n in numbers)


def case(
    asks: str,
    cause: str,
    *names: str,
    at: str = "",
    address: str = "",
    never: tuple[str, ...] = (),
    about: tuple[str, ...] = (),
) -> Callable[[Callable[[], Imported]], Case]:
    """A decorator that makes a case of the function that captures its program."""

    def decorate(capture: Callable[[], Imported]) -> Case:
        return Case(capture, address, asks, cause, names, at, never, about)

    return decorate


def cases_of(package: str) -> Iterator[Case]:
    """The cases that the modules of a package of ``tests.truth`` declare, in order; none of a
    package that there is not.
    """
    if importlib.util.find_spec(f"tests.truth.{package}") is None:
        return
    found = importlib.import_module(f"tests.truth.{package}")
    for info in sorted(pkgutil.iter_modules(found.__path__), key=lambda info: info.name):
        module: Any = importlib.import_module(f"{found.__name__}.{info.name}")
        yield from (x for x in list(vars(module).values()) if isinstance(x, Case))
