"""Arranging pages once something reads where their blocks are; many diagrams are only run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gradwire.runtime.diagram.layout.arranging import Arrangement
    from gradwire.runtime.diagram.model import Diagram, Page

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[K, V]):
    """A mapping that is made when it is first read. Its keys are some of those of ``among``."""

    __slots__ = ("_made", "_make", "_names")

    def __init__(self, make: Callable[[], Mapping[K, V]], among: Mapping[K, object]) -> None:
        self._make: Callable[[], Mapping[K, V]] | None = make
        self._made: Mapping[K, V] = {}
        self._names = among.keys()

    def waits(self, among: Mapping[K, object]) -> bool:
        """Whether it has not been read, and none of its keys will be missing in ``among``."""
        return self._make is not None and self._names <= among.keys()

    def _read(self) -> Mapping[K, V]:
        make = self._make
        if make is not None:  # threads that read it at once all make the same
            self._made = make()
            self._make = None
        return self._made

    def __getitem__(self, key: K) -> V:
        return self._read()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._read()

    def __iter__(self) -> Iterator[K]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[K, V]], tuple[dict[K, V]]]:
        """Copies and pickles are of what was made."""
        return dict, (dict(self),)


def waits(mapping: Mapping[K, object], among: Mapping[K, object]) -> bool:
    """Whether a mapping is one that has not been read yet, and belongs to these blocks or wires."""
    return isinstance(mapping, LazyMapping) and mapping.waits(among)


def arranged_later(diagram: Diagram) -> Diagram:
    """A diagram without positions, notes and bends, with those that ``arrange`` gives all pages.

    They are computed page by page when something first reads them.
    """
    pages = {name: _arranged_later(diagram, name, page) for name, page in diagram.pages.items()}
    return replace(diagram, pages=pages)


def _arranged_later(diagram: Diagram, name: str, page: Page) -> Page:
    @cache
    def found() -> Arrangement:
        from gradwire.runtime.diagram.layout.arranging import arrangement

        return arrangement(diagram, name)

    return replace(
        page,
        layout=LazyMapping(lambda: found().places, page.blocks),
        routes=LazyMapping(lambda: found().routes, page.wires),
    )
