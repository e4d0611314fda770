"""The blocks and recurrent layers that can be added to a page, and the search among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.app.services.translation import editor
from gradwire.blocks.block import Block, Opaque
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.docstrings import docstring
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.registry import registry
from gradwire.runtime.build import build
from gradwire.runtime.build import input as source
from gradwire.runtime.diagram import FIRST_PORTS, MAIN, inserted, page_ports
from gradwire.runtime.recurrent import gru, lstm, rnn

if TYPE_CHECKING:
    from gradwire.app.services.favourites import Favourites
    from gradwire.blocks.formulas.expressions import Expression
    from gradwire.runtime.diagram import Change, Diagram, Point

LAYERS: Mapping[str, Callable[..., Expression]] = {"LSTM": lstm, "GRU": gru, "RNN": rnn}
"""What makes each layer, by the name that the palette shows."""
_STEPS, _UNITS = 8, 4


def summary(layer: str) -> str:
    """What a layer computes, in a line."""
    return docstring(LAYERS[layer]).partition("\n")[0].replace("``", "")


def adding_layer(diagram: Diagram, page: str, layer: str, at: Point) -> tuple[str, Change]:
    """The name of a new layer, and the change that adds it with its top left at ``at``."""
    paste = inserted(diagram, page, _made(layer), at, label=f"Add {layer}")
    (name,) = paste.blocks
    return name, paste.change


def _made(layer: str) -> Diagram:
    """A diagram of the layer alone, whose states begin at zero and whose x is open."""
    zeros = {"h": np.zeros(_UNITS)} | ({"c": np.zeros(_UNITS)} if layer == "LSTM" else {})
    made = LAYERS[layer](source("x"), steps=_STEPS, units=_UNITS, name=layer.lower(), **zeros)
    diagram = build(made)
    name = layer.lower()
    return diagram.with_page("main", replace(diagram.main, blocks={name: diagram.main.blocks[name]},
                                             wires={}, layout={}, routes={}))  # fmt: skip


_INITIAL: Mapping[str, Mapping[str, Any]] = {
    "Variable": {"value": 1.0},
    "Constant": {"value": 1.0},
    "Linear": {"units": 4},
    "Conv2D": {"filters": 4},
}
"""Initial parameters of new blocks, so that diagrams run at once."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A block to add, and the names of its first input and output; empty if it has none.

    A page block without a page name creates a new page, or that of the layer of its title.
    """

    title: str
    block: Block
    input: str
    output: str

    @property
    def kind(self) -> str:
        """The type of the block, by which it is a favourite; empty for a page of the diagram."""
        return "" if isinstance(self.block, PageBlock) else type(self.block).type_name()

    def fits(self, *, from_output: bool) -> bool:
        """Whether a wire from an output, or else from an input, can end here."""
        return bool(self.input if from_output else self.output)


def candidates(diagram: Diagram, page: str) -> list[Candidate]:
    """All types of the registry, in its order, then recurrent layers and the pages that can be
    used on ``page``.
    """
    types = registry().classes.items()
    found = [type_candidate(name) for name, cls in types if not issubclass(cls, Opaque)]
    found += map(type_candidate, LAYERS)
    return found + [
        page_candidate(diagram, name)
        for name in diagram.pages
        if name != MAIN and page_refusal(diagram, page, name) is None
    ]


def type_candidate(type_name: str) -> Candidate:
    """A new block of a type, or a recurrent layer; of the type Page, a new page.

    Raises UnknownBlockError.
    """
    if type_name in LAYERS:
        return Candidate(type_name, Scan(), *FIRST_PORTS)
    cls = registry().get(type_name)
    if issubclass(cls, PageBlock):
        return Candidate(type_name, cls(), *FIRST_PORTS)
    first = next((f"{p.name}.0" if p.variadic else p.name for p in cls().input_ports()), "")
    block = cls.new().with_parameters(**_INITIAL.get(type_name, {}))
    return Candidate(type_name, block, first, next(iter(cls.outputs), ""))


def page_candidate(diagram: Diagram, name: str) -> Candidate:
    """Another use of a page of the diagram."""
    ports = page_ports(diagram.pages[name])
    first = (next(iter(side), "") for side in (ports.inputs, ports.outputs))
    return Candidate(name, PageBlock(page=name), *first)


def page_refusal(diagram: Diagram, page: str, used: str) -> str | None:
    """Why page ``used`` can't be used on ``page``, as a sentence; None if it can."""
    if used not in diagram.pages:
        return editor.tr("There is no page '{0}' in this diagram.").format(used)
    if used == page:
        return editor.tr("Page '{0}' can't be used on itself.").format(used)
    if page in _within(diagram, used):
        reason = editor.tr("Page '{0}' can't be used here: it uses page '{1}' itself.")
        return reason.format(used, page)
    return None


def search(
    among: Iterable[Candidate], text: str, favourites: Favourites | None = None
) -> list[Candidate]:
    """The candidates that match every word of ``text``, best name first; all for an empty text.

    Favourites come first among names that match; without a text, recently used ones follow.
    """
    words = text.casefold().split()
    starred = () if favourites is None else favourites.starred
    fitting = [
        c for c in among if all(matches(word, type(c.block), c.title) for word in words)
    ]  # fmt: skip
    if words:
        return sorted(fitting, key=lambda c: sort_key(words, c.title, c.kind in starred))
    used = () if favourites is None else favourites.used
    first = [*starred, *(name for name in used if name not in starred)]
    return sorted(fitting, key=lambda c: first.index(c.kind) if c.kind in first else len(first))


def matches(word: str, cls: type[Block], title: str) -> bool:
    """Whether ``word`` is in the title, is the symbol, or begins a word of family or summary."""
    if word in title.casefold() or word == cls.symbol:
        return True
    return any(other.startswith(word) for other in _words(cls))


def rank(words: list[str], title: str) -> int:
    """How well a title matches the first of ``words``, 0 best."""
    name, word = title.casefold(), words[0] if words else ""
    return 0 if name == word else 1 if name.startswith(word) else 2 if word in name else 3


def sort_key(words: list[str], title: str, starred: bool) -> tuple[int, bool, int]:
    """Sort key of a match: the exact name, then favourites, then other names, then the rest."""
    fit = rank(words, title)
    return {0: 0, 3: 2}.get(fit, 1), not starred, fit


@cache
def _words(cls: type[Block]) -> tuple[str, ...]:
    return tuple(f"{cls.family.replace('_', ' ')} {cls.summary()}".casefold().split())


def _within(diagram: Diagram, page: str) -> set[str]:
    """``page`` and all pages used on it, at any depth."""
    waiting, seen = [page], {page}
    for name in waiting:
        here = diagram.pages.get(name)
        blocks = here.blocks.values() if here is not None else ()
        inner = {block.page for block in blocks if isinstance(block, PageBlock)} - seen
        seen |= inner
        waiting += inner
    return seen
