"""The diagram of a question, as a picture and in words: its blocks, wires and sources, and nothing
that is computed, so that it shows all that is needed for an answer, and no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gradwire.blocks.block import Source
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.model import MAIN, own_ports
from gradwire.runtime.diagram.paths import InstancePath, PortName
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.quiz.numbers import stated
from gradwire.runtime.publish.living.drawn.picture import pictures
from gradwire.runtime.publish.living.drawn.svg import svg

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Diagram, Page

_LETTERS = 22
"""Characters that a line of a face has room for."""
_SHOWN = 400
"""Characters of a parameter that is written out: formulas have some."""


class QuestionDiagrams:
    """Pictures of one diagram for its questions, which differ by the values of its variables."""

    def __init__(self, diagram: Diagram) -> None:
        pages = {name: replace(page, notes={}) for name, page in diagram.pages.items()}
        self._diagram = replace(diagram, pages=pages)
        self._drawn = cache(lambda: pictures(self._diagram, lower(self._diagram)))

    def svgs(self, values: Mapping[str, str]) -> list[str]:
        """The main page as SVG, then the pages that it uses, with values of variables by path."""
        drawn = self._drawn()
        found: dict[str, str] = {}
        for use, page in drawn["uses"].items():
            if page not in found:
                title = self._diagram.title if page == MAIN else page
                shown = {**drawn, "uses": {"": page}}
                found[page] = svg(title, shown, {}, self._numbers(InstancePath(use), page, values))
        return [*found.values()]

    def words(self) -> list[str]:
        """A line for each block that is no source of a single value: ``mul1 = Mul(w, x)``."""
        return [
            f"{name if page == MAIN else InstancePath.of(page, name)} = {text}"
            for page, content in self._diagram.pages.items()
            for name, block in content.blocks.items()
            if (text := _words(content, name, block))
        ]

    def _numbers(
        self, use: InstancePath, page: str, values: Mapping[str, str]
    ) -> dict[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {}
        for name, block in self._diagram.pages[page].blocks.items():
            text = values.get(use / name) or _value(block)
            if text and len(text) <= _LETTERS:
                found[name] = [text]
        return found


def _value(block: Block) -> str:
    """The value that a source has by itself."""
    given = getattr(block, "value", None) if isinstance(block, Source) else None
    if not isinstance(given, Tensor):
        return ""
    return stated(given.array) or amount(given.array)


def _words(page: Page, name: str, block: Block) -> str:
    if isinstance(block, Source) and block.wants_gradient:
        return ""  # the question says what variables are
    if value := _value(block):
        return value
    return f"{type(block).type_name()}({', '.join(_arguments(page, name, block))})"


def _arguments(page: Page, name: str, block: Block) -> Iterator[str]:
    ports, literals = own_ports(page, name), block.literals
    several = len(ports.inputs) > 1
    for port in ports.inputs:
        source = page.wires.get(PortName(name, port))
        if source is not None:
            outputs = own_ports(page, source.block).outputs
            given = str(source) if len(outputs) > 1 else source.block
        elif port in literals:
            array = literals[port].array
            given = (stated(array) or amount(array)) if array.shape else number(array[()])
        else:
            continue
        yield f"{port}: {given}" if several and "." not in port else given
    record = block.to_record()
    for key in sorted(record.keys() - {"type", *ports.inputs, *literals}):
        text = str(record[key])
        yield f"{key}={text}" if len(text) <= _SHOWN else f"{key}=…"
