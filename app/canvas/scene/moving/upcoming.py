"""Where the blocks of a page will lie after an edit that is not made yet."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.document.diff import changed_keys
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.runtime.diagram import Diagram, Page

LINES = 2
"""Lines of numbers that a new block is expected to show once it has values."""


@dataclass(frozen=True, eq=False)
class Upcoming:
    """The page of a scene as it will be in ``diagram``; its blocks that stay keep their heights."""

    before: Scene
    diagram: Diagram

    @property
    def page_name(self) -> str:
        """The name of the page."""
        return self.before.page_name

    @property
    def page(self) -> Page:
        """The page after the edit."""
        return self.diagram.pages[self.page_name]

    @cached_property
    def names(self) -> list[str]:
        """The blocks (n,) in the order of the page."""
        return list(self.page.blocks)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each block."""
        return dict(zip(self.names, range(len(self.names)), strict=True))

    @cached_property
    def rects(self) -> Floats:
        """Left, top, width, height of each block (n, 4)."""
        corners = list(map(self.page.layout.get, self.names))
        if None in corners or self._may_have_other_ports():
            return self.scene.rects
        numbers = map(self.before.index.get, self.names, repeat(-1))
        known = np.fromiter(numbers, np.intp, len(self.names))
        found: Floats = np.empty((len(known), 4))
        flat = chain.from_iterable(filter(None, corners))
        found[:, :2] = np.fromiter(flat, float, 2 * len(known)).reshape(-1, 2)
        found[:, 2:] = self.before.rects[known, 2:] if len(self.before.names) else 0.0
        if changed := self._changed():
            few = self._scene_of(self._alone(changed))
            found[[self.index[name] for name in few.names]] = few.rects
        return found

    @cached_property
    def scene(self) -> Scene:
        """The whole page, laid out anew."""
        return self._scene_of(self.page)

    def _scene_of(self, page: Page) -> Scene:
        same = page is self.page
        shown = self.diagram if same else self.diagram.with_page(self.page_name, page)
        scene, rows = Scene(shown, self.page_name), self.before.rows
        known = map(self.before.index.get, scene.names, repeat(-1))
        lines = [LINES if number < 0 else int(rows[number]) for number in known]
        scene.set_rows(np.maximum(np.array(lines, np.int32), scene.least_rows))
        return scene

    def _may_have_other_ports(self) -> bool:
        """Whether uses of other pages may, since one of these has changed."""
        known = self.before.diagram.pages
        return self.before.has_pages and any(
            page is not known.get(name)
            for name, page in self.diagram.pages.items()
            if name != self.page_name
        )

    def _changed(self) -> set[str]:
        """The blocks whose sizes may be others than on the scene."""
        was, now, scene = self.before.page, self.page, self.before
        changed = {*changed_keys(was.blocks, now.blocks), *changed_keys(was.styles, now.styles)}
        for target in changed_keys(was.wires, now.wires):
            sources = was.wires.get(target), now.wires.get(target)
            changed |= {target.block, *(source.block for source in sources if source is not None)}
        low = np.flatnonzero(scene.rows < scene.least_rows)
        changed.update(scene.names[number] for number in low.tolist())
        return changed & now.blocks.keys()

    def _alone(self, names: set[str]) -> Page:
        """The page with these blocks alone, and all that their ports depend on."""
        page = self.page
        ends = [side.get(name, ()) for name in names for side in page.ends]
        return replace(
            page,
            blocks={name: page.blocks[name] for name in names},
            wires={target: page.wires[target] for target in chain.from_iterable(ends)},
            bends={},
            routes={},
        )
