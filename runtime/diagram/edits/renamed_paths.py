"""Lets what a diagram says about paths follow a renamed block: lesson, contracts, training, and the
comparison with another system.

Only exact paths are renamed. Patterns, such as ``encoder/*``, stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import InstancePath, PortPath, split_leaf

if TYPE_CHECKING:
    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.lesson import Lesson
    from gradwire.runtime.diagram.training import Training

_Text: TypeAlias = Callable[[str], str]
_CALL = re.compile(r"\b(?:grad|value|state|open)\s*\(([^()]*)\)")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_BRACES = re.compile(r"\{\{|\{(?:[^{}\"']|\"[^\"]*\"|'[^']*')*\}")
"""An expression in a text, or two braces, which stand for one."""
_CONTRACT = re.compile(r"\s*\w+\s*\([^()]*(?:->|→)[^()]*\)")
_WORD = re.compile(r"[^\s(),#]+")
_BRACKET, _ARROW = re.compile(r"\("), re.compile(r"->|→")
_WILD = frozenset("*?[")
_PLACE = frozenset({"gradient", "value", "of", "into", "at", "since"})
_PLACES = frozenset({"look", "losses", "wires", "only", "variables", "record"})
_KEYED = frozenset({"setup", "vary"})
_TEXT = frozenset({"text", "after"})
_EXPRESSION = frozenset({"answer", "holds"})


@dataclass(frozen=True, slots=True)
class Renamed:
    """Paths after a block of a page has been renamed; ``uses`` are the uses of the page.

    Of a port of the page, the port of each use is renamed too.
    """

    uses: tuple[InstancePath, ...]
    old: str
    new: str
    is_port: bool = False

    def place(self, text: str) -> str:
        """The path of a block, port or wire, or of what is inside; patterns stay."""
        if _WILD.intersection(text):
            return text
        whole, leaf = split_leaf(text)
        block, port = PortPath(whole).block, PortPath(whole).port
        for use in self.uses:
            before = use / self.old
            if block == before or block.is_inside(before):
                block = InstancePath.of(*(use / self.new).names, *block.names[len(before.names) :])
            elif self.is_port and use and (block, port) == (use, self.old):
                port = self.new
            else:
                continue
            found = block.port(port) if port else block
            return found.with_leaf(leaf)
        return text

    def contract(self, text: str) -> str:
        """A contract; what stands behind # is a comment. ``updates`` names an optimiser first."""
        line, hash_, comment = text.partition("#")
        start = _ARROW if line.strip().startswith("updates") else _BRACKET
        found = start.search(line)
        at = len(line) if found is None else found.end()
        return line[:at] + _WORD.sub(lambda m: self.place(m[0]), line[at:]) + hash_ + comment

    def expression(self, text: str) -> str:
        """An expression of a lesson, or a contract."""
        if _CONTRACT.fullmatch(text):
            return self.contract(text)
        return _CALL.sub(lambda m: _QUOTED.sub(self._quoted, m[0]), text)

    def text(self, text: str) -> str:
        """A text with expressions in braces."""
        return _BRACES.sub(lambda m: m[0] if m[0] == "{{" else self.expression(m[0]), text)

    def _quoted(self, match: re.Match[str]) -> str:
        quote = match[0][0]
        return quote + self.place(match[0][1:-1]) + quote

    def lesson(self, lesson: Lesson) -> Lesson:
        """A lesson with its paths renamed."""
        record = self._record(lesson.to_record())
        return lesson if record == lesson.to_record() else type(lesson).model_validate(record)

    def training(self, training: Training) -> Training:
        """A recipe with its paths renamed."""
        record = self._record(training.to_record())
        return training if record == training.to_record() else type(training).model_validate(record)

    def comparison(self, comparison: Comparison) -> Comparison:
        """A comparison with its paths renamed."""
        record = self._record(comparison.to_record())
        return type(comparison).model_validate(record)

    def contracts(self, lines: Iterable[str]) -> tuple[str, ...]:
        """Contracts with their paths renamed."""
        return tuple(map(self.contract, lines))

    def _record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self._field(key, value) for key, value in record.items()}

    def _field(self, key: str, value: Any) -> Any:
        match value:
            case str():
                rename = self._renaming(key)
                return value if rename is None else rename(value)
            case dict() if key in _KEYED:
                return {self.place(path): each for path, each in value.items()}
            case dict() if key == "feedback":
                return {name: self.text(each) for name, each in value.items()}
            case dict():
                return self._record(value)
            case list() if key in _PLACES:
                return [self.place(each) for each in value]
            case list() if key == "goals":
                return [self.expression(each) for each in value]
            case list() if key == "hints":
                return [self.text(each) for each in value]
            case list():
                return [self._record(each) if isinstance(each, dict) else each for each in value]
            case _:
                return value

    def _renaming(self, key: str) -> _Text | None:
        if key in _PLACE:
            return self.place
        if key in _EXPRESSION:
            return self.expression
        return self.text if key in _TEXT or key == "feedback" else None
