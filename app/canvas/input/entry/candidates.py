"""Blocks that can be added to a page: what there is, what fits a wire, what a search finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from blocks.block import Block, Opaque
from blocks.library.pages import Page as PageBlock
from blocks.registry import registry
from runtime.diagram import MAIN
from runtime.diagram.edits.grouping import FIRST_PORTS
from runtime.diagram.model import page_ports

if TYPE_CHECKING:
    from app.services.favourites import Favourites
    from runtime.diagram import Diagram


_BEGUN = {"Variable": {"value": 1.0}, "Constant": {"value": 1.0}}
"""What new blocks begin with, so that what is built with them runs at once."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A block to add, and the names of its first ports; empty where it has none of that side.

    A page block without the name of a page is a new page.
    """

    title: str
    block: Block
    input: str
    output: str

    @property
    def kind(self) -> str:
        """What it is as a favourite: the block's type; nothing for a page of the diagram."""
        return "" if isinstance(self.block, PageBlock) else type(self.block).type_name()

    def fits(self, *, from_output: bool) -> bool:
        """Whether a wire that comes from an output (or else from an input) can go on here."""
        return bool(self.input if from_output else self.output)


def choices(diagram: Diagram, page: str) -> list[Choice]:
    """All types of the registry, in its order, then the pages that can be used on ``page``."""
    types = registry().classes.items()
    found = [type_choice(name) for name, cls in types if not issubclass(cls, Opaque)]
    return found + [
        page_choice(diagram, name)
        for name in diagram.pages
        if name != MAIN and page_refusal(diagram, page, name) is None
    ]


def type_choice(type_name: str) -> Choice:
    """A new block of a type; of the type Page, a new page. Raises UnknownBlockError."""
    cls = registry().get(type_name)
    if issubclass(cls, PageBlock):
        return Choice(type_name, cls(), *FIRST_PORTS)
    first = next((f"{p.name}.0" if p.variadic else p.name for p in cls.inputs), "")
    block = cls.model_validate(_BEGUN.get(type_name, {}))
    return Choice(type_name, block, first, next(iter(cls.outputs), ""))


def page_choice(diagram: Diagram, name: str) -> Choice:
    """One more use of a page of the diagram."""
    ports = page_ports(diagram.pages[name])
    first = (next(iter(side), "") for side in (ports.inputs, ports.outputs))
    return Choice(name, PageBlock(page=name), *first)


def page_refusal(diagram: Diagram, page: str, used: str) -> str | None:
    """Why page ``used`` can't be used on ``page``, as a sentence; None if it can."""
    if used not in diagram.pages:
        return _tr("There is no page '{0}' in this diagram.").format(used)
    if used == page:
        return _tr("Page '{0}' can't be used on itself: it would never end.").format(used)
    if page in _within(diagram, used):
        reason = _tr("Page '{0}' can't be used here: it stands on page '{1}' itself.")
        return reason.format(used, page)
    return None


def _tr(text: str) -> str:
    return QCoreApplication.translate("choices", text)


def found(among: Iterable[Choice], text: str, favourites: Favourites | None = None) -> list[Choice]:
    """The choices that have every word of ``text``, best name first; all for an empty text.

    Of names that fit, favourites stand first; without a text, those used last come after them.
    """
    words = text.casefold().split()
    starred = () if favourites is None else favourites.starred
    fitting = [
        c for c in among if all(matches(word, type(c.block), c.title) for word in words)
    ]  # fmt: skip
    if words:
        return sorted(fitting, key=lambda c: standing(words, c.title, c.kind in starred))
    used = () if favourites is None else favourites.used
    first = [*starred, *(name for name in used if name not in starred)]
    return sorted(fitting, key=lambda c: first.index(c.kind) if c.kind in first else len(first))


def matches(word: str, cls: type[Block], title: str) -> bool:
    """``word`` is in the title, or begins a word of the family or summary, or is the symbol."""
    if word in title.casefold() or word == cls.symbol:
        return True
    return any(other.startswith(word) for other in _words(cls))


def rank(words: list[str], title: str) -> int:
    """How well a title matches the first of ``words``, 0 best."""
    name, word = title.casefold(), words[0] if words else ""
    return 0 if name == word else 1 if name.startswith(word) else 2 if word in name else 3


def standing(words: list[str], title: str, starred: bool) -> tuple[int, bool, int]:
    """Where a title stands in what was found: lower is earlier.

    The very name, then favourites and others with the word in the name, then what only tells of it.
    """
    fit = rank(words, title)
    return {0: 0, 3: 2}.get(fit, 1), not starred, fit


@cache
def _words(cls: type[Block]) -> tuple[str, ...]:
    return tuple(f"{cls.family.replace('_', ' ')} {cls.summary()}".casefold().split())


def _within(diagram: Diagram, page: str) -> set[str]:
    """``page`` and all pages that its blocks stand for, at any depth."""
    waiting, seen = [page], {page}
    for name in waiting:
        here = diagram.pages.get(name)
        blocks = here.blocks.values() if here is not None else ()
        inner = {block.page for block in blocks if isinstance(block, PageBlock)} - seen
        seen |= inner
        waiting += inner
    return seen
