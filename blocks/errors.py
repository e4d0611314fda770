"""Every error Gradwire raises, and where in a diagram it happened.

GradwireError
├── BlockError                 a block class, or one block of a diagram
│   ├── BlockDefinitionError   the class itself is wrong (raised when it is defined)
│   ├── UnknownBlockError      no block of that type is installed
│   └── ParameterError         a parameter or literal has a wrong value
├── TraceError                 invalid arithmetic, found before anything runs
│   ├── ShapeError             shapes don't fit
│   ├── LimitError             too large to be computed
│   └── DTypeError             dtypes don't fit
├── DiagramError               the document
│   ├── FileError              can't be read or written; has line and column
│   ├── BuildError             an expression that makes no diagram
│   └── ChangeError            an edit that can't be applied
└── RunError                   the run
    ├── FeedError              a fed value is missing or doesn't fit
    ├── HeadError              no loss, or a head that needs an output gradient
    └── NotRunnableError       a requested result depends on a block that has a problem
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from gradwire.blocks.classes.dataclass import dataclass

__all__ = [
    "BlockDefinitionError",
    "BlockError",
    "BuildError",
    "ChangeError",
    "DTypeError",
    "DiagramError",
    "FeedError",
    "FileError",
    "GradwireError",
    "HeadError",
    "LimitError",
    "Location",
    "NotRunnableError",
    "ParameterError",
    "RunError",
    "ShapeError",
    "TraceError",
    "UnknownBlockError",
]


MOST_QUOTED = 500
"""Characters of each part of a message: what it quotes may have been written by anybody."""


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """A text, or its beginning and a sign that there is more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def reason_of(error: BaseException) -> str:
    """What an exception says that is none of Gradwire's, without a full stop: its type, and its
    first line if any.
    """
    is_memory = isinstance(error, MemoryError)
    what = "There is not enough memory." if is_memory else f"{type(error).__name__}:"
    said = str(error).partition("\n")[0]
    return shortened(f"{what} {said}" if said else what[:-1])


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a diagram: ``page/block.port``, each part optional from the right.

    ``block`` is a path through page blocks (``encoder/W1``) when the place is in one use of a page.
    """

    page: str | None = None
    block: str | None = None
    port: str | None = None

    def __str__(self) -> str:
        place = self.block or ""
        if self.port:
            place = f"{place}.{self.port}"
        if self.page and self.page != "main":
            place = f"{self.page}: {place}" if place else self.page
        return shortened(place or self.page or "diagram")


class GradwireError(Exception):
    """Says what went wrong and where, what was expected, what was found, and what to do next."""

    def __init__(
        self,
        what: str,
        *,
        location: Location | None = None,
        expected: str | None = None,
        got: str | None = None,
        next_step: str | None = None,
    ) -> None:
        self.what = shortened(what)
        super().__init__(self.what)
        self.location = location
        self.expected = None if expected is None else shortened(expected)
        self.got = None if got is None else shortened(got)
        self.next_step = None if next_step is None else shortened(next_step)

    def at(self, location: Location) -> Self:
        """Add the location to this error and return it; parts that are already known stay."""
        known = self.location or Location()
        self.location = replace(
            location,
            page=known.page or location.page,
            block=known.block or location.block,
            port=known.port or location.port,
        )
        return self

    def __str__(self) -> str:
        text = f"{self.location}: {self.what}" if self.location else self.what
        if self.expected is not None and self.got is not None:
            text += f" Expected {self.expected}, got {self.got}."
        elif self.expected is not None:
            text += f" Expected {self.expected}."
        elif self.got is not None:
            text += f" Got {self.got}."
        return f"{text} {self.next_step}" if self.next_step else text


class BlockError(GradwireError):
    """A block class, or one block of a diagram, is wrong."""


class BlockDefinitionError(BlockError):
    """A block class can't be used; raised when the class is defined."""


class UnknownBlockError(BlockError):
    """No block of that type is installed."""


class ParameterError(BlockError):
    """A parameter or a literal has an invalid value."""


class TraceError(GradwireError):
    """Invalid arithmetic, found while tracing, before anything runs."""


class ShapeError(TraceError):
    """Shapes that don't fit each other."""


class LimitError(TraceError):
    """More than can be computed: too many elements, axes, values or nodes of a tree."""


class DTypeError(TraceError):
    """Dtypes that don't fit each other or the operation."""


class DiagramError(GradwireError):
    """The document is wrong."""


class FileError(DiagramError):
    """A file can't be read or written; ``line`` and ``column`` count from 1."""

    def __init__(
        self,
        what: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        location: Location | None = None,
        expected: str | None = None,
        got: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(what, location=location, expected=expected, got=got, next_step=next_step)
        self.path = path
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        """Path, line and column as far as they are known; may be empty."""
        return ":".join(str(p) for p in (self.path, self.line, self.column) if p is not None)

    def __str__(self) -> str:
        return f"{self.place}: {super().__str__()}" if self.place else super().__str__()


class BuildError(DiagramError):
    """An expression can't be made a diagram."""


class ChangeError(DiagramError):
    """An edit that can't be applied; the diagram is unchanged."""


class RunError(GradwireError):
    """A run can't start or can't continue."""


class FeedError(RunError):
    """A fed value is missing or doesn't fit its block."""


class HeadError(RunError):
    """Nothing to differentiate: no loss, or a head that needs an output gradient."""


class NotRunnableError(RunError):
    """A requested result depends on a block that has a problem."""
