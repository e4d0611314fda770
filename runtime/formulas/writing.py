"""Writes blocks as a formula, and as Python that builds them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradwire.blocks.block import Opaque, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.formulas.array_syntax import is_function
from gradwire.blocks.formulas.reading import is_loss
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageOutput, Scan
from gradwire.blocks.names import snake_case
from gradwire.runtime.diagram.bypass import passing_input
from gradwire.runtime.diagram.model import ports
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Diagram

LONGEST = 72
"""Characters from which an inner expression gets a name and a line of its own."""
_SIGNS = {
    "Add": ("+", 11),
    "Sub": ("-", 11),
    "Mul": ("*", 12),
    "Div": ("/", 12),
    "MatMul": ("@", 12),
    "Mod": ("%", 12),
    "Pow": ("**", 14),
    "Greater": (">", 9),
    "GreaterEqual": (">=", 9),
    "Less": ("<", 9),
    "LessEqual": ("<=", 9),
}
"""Operators and how tightly they bind, by block type."""
_NEGATION, _CALL = 13, 20
_LARGEST_VALUE = 400
"""Characters of an array that Python text gives in full; a larger one is left out."""


@dataclass(frozen=True, slots=True)
class _Text:
    """An expression as text, and how tightly its outermost operator binds."""

    text: str
    binds: int = _CALL

    def within(self, binds: int) -> str:
        return self.text if self.binds >= binds else f"({self.text})"


def formula_of(diagram: Diagram, page: str, names: Collection[str]) -> str:
    """Blocks of a page as a formula: a line for each that is named or read more than once.

    Sources appear by name only. ``gradwire.blocks.formulas.reading`` reads the text again. Empty if
    there is nothing to compute.
    """
    return "\n".join(_Writer(diagram, page, names, prefix="").lines())


def lines_of(
    diagram: Diagram,
    page: str,
    names: Collection[str],
    inputs: Mapping[PortName, str],
    results: Collection[str],
) -> list[str]:
    """Blocks of a page as the lines of a formula that names what it reads outside as ``inputs``
    does. The last line names no result unless there are several ``results``.
    """
    writer = _Writer(diagram, page, names, prefix="", inputs=inputs)
    lines = writer.lines()
    return lines if results else [*lines[:-1], lines[-1].partition(" = ")[2]]


def python_of(diagram: Diagram, page: str, names: Collection[str]) -> str:
    """Blocks of a page as a Python program that builds a diagram of them.

    Blocks outside that are read become inputs. Empty without blocks.
    """
    writer = _Writer(diagram, page, names, prefix="gw.")
    lines = [*writer.notes(), *writer.sources(), *writer.lines()]
    if not lines:
        return ""
    ends = ", ".join(writer.ends())
    return "\n".join(["import gradwire as gw", "", *lines, f"diagram = gw.build({ends})", ""])


class _Writer:
    """Writes the blocks of a selection. ``prefix`` stands before functions; empty in formulas."""

    def __init__(
        self,
        diagram: Diagram,
        page: str,
        names: Collection[str],
        prefix: str,
        inputs: Mapping[PortName, str] = MappingProxyType({}),
    ) -> None:
        self._diagram, self._page_name, self._prefix = diagram, page, prefix
        self._names_outside = inputs
        self._page = diagram.pages[page]
        chosen = set(names)
        self._chosen = dict.fromkeys(filter(chosen.__contains__, self._page.blocks))
        self._identifiers: dict[str, str] = {}
        self._taken: set[str] = set()
        self._texts: dict[str, _Text] = {}
        self._statements: list[str] = []

    def lines(self) -> list[str]:
        """The statements of all blocks that are no sources, each after those that it reads."""
        self._statements.clear()
        for name in self._in_order():
            block = self._page.blocks[name]
            if isinstance(block, Source):
                continue
            text = self._written(name, block)
            if self._needs_line(name, text):
                self._statements.append(f"{self.identifier(name)} = {self._named(name, text)}")
            else:
                self._texts[name] = text
        return list(self._statements)

    def notes(self) -> Iterator[str]:
        """A comment for each page that is used: its contents are not written."""
        blocks = (self._page.blocks[name] for name in self._chosen)
        used = [block.page for block in blocks if isinstance(block, PageBlock)]
        for page in dict.fromkeys(used):
            yield f"# {identifier_of(page)} is page {page!r}: write it as a function with @gw.page."

    def sources(self) -> Iterator[str]:
        """A statement for each source, and an input for each block outside that is read."""
        chosen = set(self._chosen)
        outside = [
            source.block
            for target, source in self._page.wires.items()
            if target.block in chosen and source.block not in chosen
        ]
        for name in dict.fromkeys(outside):
            yield f"{self.identifier(name)} = gw.input({name!r})"
        for name in self._chosen:
            block = self._page.blocks[name]
            if isinstance(block, Source):
                yield f"{self.identifier(name)} = {_source(name, block)}"

    def ends(self) -> list[str]:
        """Identifiers of the blocks that no chosen block reads."""
        chosen = set(self._chosen)
        return [
            self.identifier(name) for name in self._chosen if chosen.isdisjoint(self._readers(name))
        ]

    def identifier(self, name: str) -> str:
        """The name of a block as an identifier of Python; different for different blocks."""
        if name not in self._identifiers:
            made = identifier_of(name)
            block = self._page.blocks[name]
            if (
                not self._prefix
                and is_loss(made)
                and not isinstance(block, Loss | PageOutput | Source)
            ):
                made = f"_{made}"  # or it would be read as a Loss
            while made in self._taken or made == "gw" or self._hides(name, made):
                made += "_"
            self._identifiers[name] = made
            self._taken.add(made)
        return self._identifiers[name]

    def _hides(self, name: str, identifier: str) -> bool:
        """Whether in a formula an identifier hides a function that another block needs."""
        if self._prefix or identifier == "loss":
            return False
        needing = self._needing.get(identifier, set())
        return len(needing) > (name in needing)

    @cached_property
    def _needing(self) -> dict[str, set[str]]:
        """The chosen blocks that need a function, by the name of the function."""
        found: dict[str, set[str]] = {}
        for name in self._chosen:
            block = self._page.blocks[name]
            found.setdefault(snake_case(type(block).type_name()), set()).add(name)
            if isinstance(block, PageBlock):
                found.setdefault(identifier_of(block.page), set()).add(name)
        return found

    def _in_order(self) -> list[str]:
        """The chosen blocks, each after those that it reads; blocks of a cycle in any order."""
        chosen, placed, found = set(self._chosen), set(), []
        waiting = [(name, False) for name in reversed(self._chosen)]
        while waiting:
            name, ready = waiting.pop()
            if ready:
                found.append(name)
            elif name not in placed:
                placed.add(name)
                waiting.append((name, True))
                inward = [source.block for _, source in self._wires(name)]
                waiting += [(block, False) for block in reversed(inward) if block in chosen]
        return found

    def _wires(self, name: str) -> list[tuple[str, PortName]]:
        """The ports of a block that are wired, in order, and what drives them."""
        wires = self._page.wires
        own = ports(self._diagram, self._page_name, name).inputs
        driven = [(port, wires.get(PortName(name, port))) for port in own]
        return [(port, source) for port, source in driven if source is not None]

    def _readers(self, name: str) -> list[str]:
        """The block of each wire that leaves a block."""
        return [target.block for target in self._page.ends.outward.get(name, ())]

    def _needs_line(self, name: str, text: _Text) -> bool:
        readers = self._readers(name)
        inside = len(readers) == 1 and readers[0] in self._chosen
        outputs = ports(self._diagram, self._page_name, name).outputs
        block = self._page.blocks[name]
        return (
            not inside
            or (isinstance(block, Loss) and not self._prefix)  # its name alone says what it is
            or len(outputs) != 1
            or len(text.text) > LONGEST
            or not _is_automatic(name, block)
        )

    def _named(self, name: str, text: _Text) -> str:
        """The right side of a statement; in Python it names the block."""
        if not self._prefix or _is_automatic(name, self._page.blocks[name]):
            return text.text
        if text.text.endswith(")") and text.binds == _CALL and text.text.startswith("gw."):
            comma = "" if text.text.endswith("()") else ", "
            return f"{text.text[:-1]}{comma}name={name!r})"
        return f"{text.within(_CALL)}.named({name!r})"

    def _written(self, name: str, block: Block) -> _Text:
        kind = type(block).type_name()
        inputs = dict(self._inputs(name, block))
        if block.bypassed and (passing := passing_input(self._page, name)) is not None:
            return inputs[passing]
        record = {k: v for k, v in block.to_record().items() if not block.is_given(k)}
        parameters = _keywords(record)
        own = ports(self._diagram, self._page_name, name).inputs
        complete = all(port in inputs for port in own)
        if kind in _SIGNS and complete and len(own) == 2 and not parameters:
            return self._operation(kind, *(inputs[port] for port in own))
        if kind == "Neg" and complete:
            return _Text(f"-{inputs[own[0]].within(_NEGATION)}", _NEGATION)
        if kind == "Transpose" and complete and not parameters:
            return _Text(f"{inputs[own[0]].within(_CALL)}.T")
        if kind == "Loss" and not self._prefix and name.startswith("loss"):
            return inputs[own[0]] if complete else _Text("loss()")
        given = _arguments(() if isinstance(block, Formula) else own, inputs)
        if isinstance(block, Scan):
            if self._prefix:  # the page itself is the first argument, in place of its name
                given.insert(0, identifier_of(record.pop("page", "")))
            function, parameters = "scan", _keywords(record)
        elif isinstance(block, PageBlock):
            function, parameters = self._page_function(block)
        elif isinstance(block, Opaque):
            function, parameters = identifier_of(kind), []
        else:
            function = snake_case(kind)
        return _Text(f"{self._prefix}{function}({', '.join([*given, *parameters])})")

    def _page_function(self, block: PageBlock) -> tuple[str, list[str]]:
        """What calls a page, and its parameters; ``page(…, page="…")`` where its name is taken."""
        function = identifier_of(block.page)
        own = ["independent=True"] if block.independent else []
        others = (name for name in self._diagram.pages if name != block.page)
        if self._prefix or not (is_function(function) or function in map(identifier_of, others)):
            return function, own
        return "page", [f"page={block.page!r}", *own]

    def _operation(self, kind: str, left: _Text, right: _Text) -> _Text:
        """``left sign right``; all operators but ** group from the left."""
        sign, binds = _SIGNS[kind]
        power = kind == "Pow"
        first, second = left.within(binds + power), right.within(binds + (not power))
        if binds == _SIGNS["Less"][1]:
            first = left.within(binds + 1)
        return _Text(f"{first} {sign} {second}", binds)

    def _inputs(self, name: str, block: Block) -> Iterator[tuple[str, _Text]]:
        wires = self._page.wires
        wired = [port for port in block.ownable if PortName(name, port) in wires]
        own = _own_variables(block, wired, self._prefix)
        for port in ports(self._diagram, self._page_name, name).inputs:
            source = self._page.wires.get(PortName(name, port))
            if source is not None:
                yield port, self._read(source)
            elif port in block.literals:
                yield port, _number(block.literals[port].to_json())
            elif port in own:
                yield port, _Text(own[port])

    def _read(self, source: PortName) -> _Text:
        if source in self._names_outside:
            return _Text(self._names_outside[source])
        if source.block in self._texts:
            return self._texts[source.block]
        identifier = self.identifier(source.block)
        outputs = ports(self._diagram, self._page_name, source.block).outputs
        first = not outputs or source.port == outputs[0]
        return _Text(identifier if first else f"{identifier}[{source.port!r}]")


def identifier_of(name: str) -> str:
    """A name with what Python does not allow replaced."""
    made = re.sub(r"\W", "_", name)
    return f"_{made}" if made[:1].isdigit() or keyword.iskeyword(made) else made


def _source(name: str, block: Source) -> str:
    """The call that makes a source; an array that is large is left out, with a comment."""
    record = block.to_record()
    comment = ""
    if len(repr(record.get("value"))) > _LARGEST_VALUE:
        shape, dtype = block.open_shape, block.leaf_dtype
        del record["value"]
        comment = f"  # shape {shape}, {dtype}: too large to be written here"
    kind = snake_case(type(block).type_name())
    if kind in ("variable", "constant", "input"):
        given = [repr(name), *_keywords(record)]
    else:
        given = [*_keywords(record), f"name={name!r}"]
    return f"gw.{kind}({', '.join(given)}){comment}"


def _arguments(own: Sequence[str], inputs: Mapping[str, _Text]) -> list[str]:
    """The inputs of a call: by position up to the first one that is left out, then by name."""
    first = next((i for i, port in enumerate(own) if port not in inputs), len(own))
    return [
        text.text if port in own[:first] else f"{port}={text.text}" for port, text in inputs.items()
    ]


def _own_variables(block: Block, wired: Collection[str], prefix: str) -> dict[str, str]:
    """The own variables of unwired inputs as arguments; what a call without them gives is left out.

    An input for which such a call would make a variable, and which has none, is None.
    """
    free = [port for port in block.ownable if port not in wired and port not in block.literals]
    usual = {port for port in free if block.owned.get(port) == block.ownable[port]}
    required = [port.name for port in block.inputs if port.required and port.name in free]
    made = bool(required) and usual.issuperset(required)
    return {
        port: _own(block, port, prefix) if port in block.owned else "None"
        for port in free
        if (port not in usual if made else port in block.owned)
    }


def _own(block: Block, port: str, prefix: str) -> str:
    """The call that makes an own variable, with what differs from the one of a new block."""
    usual, record = block.ownable[port].to_record(), block.owned[port].to_record()
    fields = type(block.owned[port]).model_fields
    record = {name: fields[name].default for name in usual} | record
    given = {name: value for name, value in record.items() if value != usual.get(name)}
    if len(repr(given.get("value"))) > _LARGEST_VALUE:
        given = {"shape": list(block.owned[port].open_shape or ()), **given}
        del given["value"]
    return f"{prefix}own({', '.join(_keywords(given))})"


def _number(value: object) -> _Text:
    text = repr(value)
    return _Text(text, _NEGATION if text.startswith("-") else _CALL)


def _keywords(record: dict[str, object]) -> list[str]:
    return [f"{name}={value!r}" for name, value in record.items() if name != "type"]


def _is_automatic(name: str, block: Block) -> bool:
    """Whether the editor chose the name of a block: its type in snake case, and a number."""
    return re.fullmatch(rf"{re.escape(snake_case(type(block).type_name()))}_?\d*", name) is not None
