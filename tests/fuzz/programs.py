"""The fuzz programs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz import (
    arguments,
    captures,
    compiled,
    data,
    diagrams,
    files,
    formulas,
    lessons,
    pages,
    printing,
    sentences,
)

if TYPE_CHECKING:
    from tests.fuzz.runner import Program

PROGRAMS: dict[str, Program] = {
    program.name: program
    for module in (
        files,
        diagrams,
        compiled,
        formulas,
        sentences,
        printing,
        arguments,
        pages,
        lessons,
        data,
        captures,
    )
    for program in module.PROGRAMS
}
