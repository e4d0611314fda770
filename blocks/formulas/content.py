"""What runs inside a Formula block: the blocks of its expression, wired like those of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from gradwire.blocks.block import RESERVED, Block, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.formulas.nodes import reached
from gradwire.blocks.formulas.places import FormulaError, span_of
from gradwire.blocks.formulas.reading import read
from gradwire.blocks.library.pages import Composite, PageInput, PageOutput
from gradwire.blocks.library.sources import Constant
from gradwire.blocks.names import FreshNames

if TYPE_CHECKING:
    from gradwire.blocks.formulas.nodes import FormulaNode, FormulaOutput

MAX_EXPRESSION = 4_000
"""Characters of the expression of a Formula block."""
MAX_OPERATIONS = 500
"""Blocks inside a Formula block, without its ports."""
NOT_INPUTS = RESERVED | {"expression"}
"""Names that a Formula block stores other things under."""


@dataclass(frozen=True)
class FormulaContent:
    """The blocks inside, by name, ports included; wires as target → source, each block and port.

    Inputs are in the order in which the expression names them. ``places`` has for an operation
    the first character of its text and the one after the last.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    blocks: Mapping[str, Block]
    wires: Mapping[tuple[str, str], tuple[str, str]]
    places: Mapping[str, tuple[int, int]]


@lru_cache(maxsize=1024)
def content_of(expression: str) -> FormulaContent:
    """The content of a Formula block. Raises FormulaError with the place in the expression."""
    if len(expression) > MAX_EXPRESSION:
        raise FormulaError(
            "The expression is too long.",
            MAX_EXPRESSION,
            expected=f"at most {MAX_EXPRESSION:,} characters",
            got=f"{len(expression):,}",
            next_step="Make a page of several blocks.",
        )
    return _Reader(expression).content()


class _Reader:
    """Turns an expression into the content of a block."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._formula = read(text)
        self._free = {made.node: name for name, made in self._formula.free.items()}
        if not self._formula.results:
            raise FormulaError("The expression is empty.", 0, expected="such as w * x + b")

    def content(self) -> FormulaContent:
        formula = self._formula
        nodes = reached([made.node for made in formula.results])
        operations = [node for node in nodes if node not in self._free]
        for node in nodes:
            self._require_allowed(node)
        if len(operations) > MAX_OPERATIONS:
            raise FormulaError(
                "The expression has too many operations.",
                self._place(operations[MAX_OPERATIONS])[0],
                expected=f"at most {MAX_OPERATIONS}",
                got=f"{len(operations)}",
                next_step="Make a page of several blocks.",
            )
        inputs, outputs = tuple(formula.free), self._outputs()
        names = self._names(operations, {*inputs, *outputs}) | self._free
        blocks: dict[str, Block] = {name: PageInput() for name in inputs}
        blocks |= {names[node]: node.block for node in operations}
        blocks |= {name: PageOutput() for name in outputs}
        wires = {
            (names[node], port): (names[source.node], source.port)
            for node in operations
            for port, source in node.inputs.items()
        }
        wires |= {(n, "x"): (names[made.node], made.port) for n, made in outputs.items()}
        places = {names[node]: self._place(node) for node in operations}
        return FormulaContent(inputs, tuple(outputs), blocks, wires, places)

    def _outputs(self) -> dict[str, FormulaOutput]:
        """The results that no other line reads: one is called ``out``, several have their names."""
        results = self._formula.results
        nodes = reached([made.node for made in results])
        read_later = {source.node for node in nodes for source in node.inputs.values()}
        ends = [made for made in results if made.node not in read_later] or results[-1:]
        if len(ends) == 1:
            name = "out" if "out" not in self._formula.free else "result"
            return {name if name not in self._formula.free else "output": ends[0]}
        for made in ends:
            if made.node.name is None or made.node in self._free:
                raise FormulaError(
                    "Of several results, each needs a name.",
                    self._place(made.node)[0],
                    next_step="Write name = expression.",
                )
        return {str(made.node.name): made for made in ends}

    def _names(self, operations: Iterable[FormulaNode], ports: set[str]) -> dict[FormulaNode, str]:
        """The name of each operation: the one assigned to it, or else one of its type.

        A result has the name of an output, and is called after its type.
        """
        found: dict[FormulaNode, str] = {}
        named = {node.name for node in operations if node.name is not None}
        fresh = FreshNames(ports | named)
        for node in operations:
            keeps = node.name is not None and node.name not in ports
            found[node] = str(node.name) if keeps else fresh.of(node.kind)
        return found

    def _require_allowed(self, node: FormulaNode) -> None:
        """Raise FormulaError for what can't run inside a block."""
        refused = self._refusal(node)
        if refused is not None:
            what, next_step = refused
            raise FormulaError(what, self._place(node)[0], next_step=next_step)

    def _refusal(self, node: FormulaNode) -> tuple[str, str] | None:
        """What is wrong with a block inside, and what to do; None if nothing is."""
        made = node.block
        if node in self._free:
            if node.name in NOT_INPUTS:
                return f"An input can't be called {node.name!r} here.", "Take another name."
            return None
        if isinstance(made, Source) and not isinstance(made, Constant):
            return f"A Formula block has no {node.kind} inside.", "Write a name, and wire it."
        if made.head:
            return "A Formula block has no loss inside.", "Put a Loss block behind it."
        if isinstance(made, Composite | PageInput | PageOutput):
            return f"{node.kind} can't be inside a Formula block.", "Put it outside."
        if made.owned:
            wanted = " and ".join(made.owned)
            return f"{node.kind} can't own a variable here.", f"Give it {wanted}."
        return None

    def _place(self, node: FormulaNode) -> tuple[int, int]:
        """The first character of a block's text, and the one after the last."""
        at = self._formula.places.get(node)
        return (0, len(self._text)) if at is None else span_of(self._text, at)
