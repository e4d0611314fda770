"""Blocks that belong to no diagram yet, and the pages that are being written."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import BuildError
from gradwire.blocks.library.views import ViewBlock
from gradwire.blocks.names import MAIN, NAME_RULE, is_name

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

_OWN_MODULES = (
    __name__,
    "gradwire.blocks.formulas.expressions",
    "gradwire.runtime.page_functions",
    "gradwire.runtime.build",
    "gradwire.runtime.recurrent",
    "gradwire.blocks.arguments",
)
_serial = itertools.count()
current_scope: ContextVar[PageScope | None] = ContextVar("page being written", default=None)
"""The page whose function is running; None for the main page."""


class FormulaOutput:
    """One output of a block."""

    __slots__ = ("node", "port")
    node: FormulaNode
    port: str

    def __init__(self, node: FormulaNode, port: str) -> None:
        _set_node(self, node)
        _set_port(self, port)

    def __repr__(self) -> str:
        return f"{self.node.name or self.node.kind}.{self.port}".removesuffix(".")


# Past the refusals of Expression, which set no attribute.
_set_node = vars(FormulaOutput)["node"].__set__
_set_port = vars(FormulaOutput)["port"].__set__


@dataclass(eq=False, slots=True)
class FormulaNode:
    """A block that belongs to no diagram yet; ``serial`` numbers nodes in order of creation.

    The collector visits it and its ``sources`` again and again while a large diagram is written:
    all else that it refers to is shared or holds nothing.
    """

    block: Block
    ports: tuple[str, ...]
    """The inputs that read something."""
    sources: tuple[FormulaNode, ...]
    """What each of them reads."""
    read: tuple[str, ...]
    """The output that each of them reads."""
    outputs: tuple[str, ...]
    kind: str
    name: str | None
    scope: PageScope | None
    written: str
    """File and line of the code that created it."""
    content: PageScope | None = None
    """The page, if this is a use of one."""
    serial: int = field(default_factory=_serial.__next__)

    @property
    def inputs(self) -> Mapping[str, FormulaOutput]:
        """The outputs that it reads, by input."""
        return {
            port: FormulaOutput(source, output)
            for port, source, output in zip(self.ports, self.sources, self.read, strict=True)
        }


@dataclass(eq=False)
class PageScope:
    """A page that belongs to no diagram yet; ``written`` is file and line of its function.

    ``ports`` are its inputs, outputs and views.
    """

    name: str
    written: str
    ports: list[FormulaNode] = field(default_factory=list)


def make_node(
    made: Block,
    inputs: Mapping[str, FormulaOutput],
    outputs: tuple[str, ...],
    kind: str,
    name: str | None,
) -> FormulaNode:
    """Add a block to the current page; raises BuildError for inputs from another page."""
    scope = current_scope.get()
    sources = tuple([value.node for value in inputs.values()])
    require_scope(sources, scope)
    read = _shared(tuple([value.port for value in inputs.values()]))
    if not all(read):
        _require_outputs(inputs.values())
    name = None if name is None else valid_name(name)
    node = FormulaNode(
        made, _shared(tuple(inputs)), sources, read, outputs, kind, name, scope, caller()
    )
    if scope is not None and isinstance(made, ViewBlock):
        scope.ports.append(node)  # nothing reads it, and the page has it all the same
    return node


@lru_cache(maxsize=1024)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names, as one tuple for all nodes."""
    return names


def _require_outputs(inputs: Iterable[FormulaOutput]) -> None:
    """Raise BuildError for a block that gives nothing out."""
    for value in inputs:
        if not value.port:
            raise BuildError(
                f"{value!r} only shows values, and has no output to read.",
                next_step="Read what it shows, and pass the view itself to build(…).",
            )


def require_scope(nodes: Sequence[FormulaNode], scope: PageScope | None) -> None:
    """Raise BuildError unless the blocks are on this page; None is the main page."""
    for node in nodes:
        if node.scope is not scope:
            here, there = (MAIN if s is None else s.name for s in (scope, node.scope))
            raise BuildError(
                f"{node.name or node.kind!r} is on page {there!r} and can't be read on {here!r}.",
                next_step="Pass it to the page as an argument, or return it.",
            )


def valid_name(name: str) -> str:
    """The name unchanged; raises BuildError if it is not valid."""
    if not is_name(name):
        raise BuildError(f"{name!r} is not a valid name.", expected=NAME_RULE)
    return name


def caller() -> str:
    """File and line of the innermost user code on the stack."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") in _OWN_MODULES and frame.f_back is not None:
        frame = frame.f_back
    return _place(frame.f_code.co_filename, frame.f_lineno)


@lru_cache(maxsize=1024)
def _place(file: str, line: int) -> str:
    """``file:line``, one text for all nodes of a line."""
    return f"{file}:{line}"


def reached(ends: Sequence[FormulaNode]) -> list[FormulaNode]:
    """These blocks and all that they depend on, in order of creation."""
    found: dict[FormulaNode, None] = {}
    pending = list(ends)
    while pending:
        node = pending.pop()
        if node not in found:
            found[node] = None
            pending += node.sources
    return sorted(found, key=lambda node: node.serial)
