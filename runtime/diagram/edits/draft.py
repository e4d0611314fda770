"""A diagram during an edit: pages are opened for writing, everything else is shared.

A draft maintains the invariants between pages: the uses of a page follow changes of its ports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.errors import ChangeError, Location
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.views import Field
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.edits.page_draft import PageDraft
from gradwire.runtime.diagram.edits.renamed_paths import Renamed
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.pages import uses_of
from gradwire.runtime.diagram.paths import InstancePath

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortName


class Draft:
    """A diagram during an edit; implements DiagramView."""

    def __init__(self, diagram: Diagram) -> None:
        self._base = diagram
        self._pages: dict[str, Page | PageDraft] = dict(diagram.pages)
        self.title = diagram.title
        self.description = diagram.description
        self.contracts = diagram.contracts
        self.views = diagram.views
        self.lesson = diagram.lesson
        self.training = diagram.training
        self.comparison = diagram.comparison

    @property
    def pages(self) -> Mapping[str, Page | PageDraft]:
        """Pages by name, opened or not."""
        return self._pages

    def page(self, name: str) -> PageDraft:
        """The page, opened for writing; raises ChangeError if there is none."""
        page = self._pages.get(name)
        if page is None:
            raise no_page(name, self._pages)
        if isinstance(page, Page):
            page = self._pages[name] = PageDraft(page)
        return page

    def opened(self) -> list[str]:
        """Names of the pages that are open for writing."""
        return [name for name, page in self._pages.items() if isinstance(page, PageDraft)]

    def finish(self) -> Diagram:
        """The diagram as it is now, sharing everything that did not change."""
        pages = {n: p.finish() if isinstance(p, PageDraft) else p for n, p in self._pages.items()}
        same = list(pages) == list(self._base.pages) and all(
            page is self._base.pages[name] for name, page in pages.items()
        )
        shared = self._base.pages if same else pages
        return Diagram(
            shared,
            self.title,
            self.description,
            self.contracts,
            self.views,
            self.lesson,
            self.training,
            self.comparison,
            self._base.folder,
        )

    def uses(self, page: str) -> list[tuple[str, str]]:
        """Page and name of each use of a page."""
        return [
            (outer, name)
            for outer, content in self._pages.items()
            for name, block in content.blocks.items()
            if isinstance(block, PageBlock) and block.page == page
        ]

    def insert_page(self, name: str, page: Page) -> None:
        """Add a page at the end."""
        self._pages[name] = page

    def remove_page(self, name: str) -> None:
        """Remove an unused page and its bookmarks."""
        del self._pages[name]
        self.views = tuple(view for view in self.views if view.page != name)

    def rename_page(self, old: str, new: str) -> None:
        """Rename a page and update its uses and bookmarks."""
        self._pages = {(new if name == old else name): p for name, p in self._pages.items()}
        self.views = tuple(v._replace(page=new) if v.page == old else v for v in self.views)
        for outer, name in [*self.uses(old), *self._fields(old)]:
            page = self.page(outer)
            page.put_block(name, page.blocks[name].model_copy(update={"page": new}))

    def rename_block(self, page: str, old: str, new: str) -> None:
        """Rename a block and, if it is a port of its page, the port of each use of the page.

        Fields that name a use of a page follow, and so do the paths in the lesson, the contracts,
        the training and the comparison.
        """
        here = self.page(page)
        is_port = isinstance(here.blocks[old], PageInput | PageOutput)
        if self.contracts or self.lesson or self.training or self.comparison:
            uses = (*uses_of(self, page), *(self._scans(page) if is_port else ()))
            self._rename_paths(Renamed(uses, old, new, is_port))
        if isinstance(here.blocks[old], PageBlock):
            self._rename_in_fields(page, old, new)
        here.rename_block(old, new)
        if is_port:
            for outer, use in self.uses(page):
                there = self.page(outer)
                there.rename_port(use, old, new)
                if isinstance(scan := there.blocks[use], Scan):
                    there.put_block(use, scan.with_port_renamed(old, new))

    def _scans(self, page: str) -> Iterator[InstancePath]:
        """The paths of the Scans that run a page."""
        for outer, name in self.uses(page):
            if isinstance(self._pages[outer].blocks[name], Scan):
                yield from (use / name for use in uses_of(self, outer))

    def _rename_paths(self, renamed: Renamed) -> None:
        self.contracts = renamed.contracts(self.contracts)
        if self.lesson is not None:
            self.lesson = renamed.lesson(self.lesson)
        if self.training is not None:
            self.training = renamed.training(self.training)
        if self.comparison is not None:
            self.comparison = renamed.comparison(self.comparison)

    def _fields(self, page: str | None = None) -> list[tuple[str, str]]:
        """Page and name of each Field, or of each that evaluates a page."""
        return [
            (outer, name)
            for outer, content in self._pages.items()
            for name, block in content.blocks.items()
            if isinstance(block, Field) and (page is None or block.page == page)
        ]

    def _rename_in_fields(self, page: str, old: str, new: str) -> None:
        """Let the Fields whose use lies on the way through a block follow its new name."""
        for outer, name in self._fields():
            field = self._pages[outer].blocks[name]
            assert isinstance(field, Field)
            at, parts = MAIN, [*InstancePath(field.use).names] if field.use else []
            scan: Scan | None = None
            for depth, part in enumerate(parts):
                if scan is not None:  # the part is the number of a step
                    at, scan = scan.page, None
                    continue
                if at == page and part == old:
                    parts[depth] = new
                inside = self._pages[at].blocks.get(part) if at in self._pages else None
                scan = inside if isinstance(inside, Scan) else None
                at = inside.page if isinstance(inside, PageBlock) else ""
            if (use := InstancePath.of(*parts)) != field.use:
                moved = field.model_copy(update={"use": str(use)})
                self.page(outer).put_block(name, moved)

    def remove_blocks(self, page: str, names: Collection[str]) -> None:
        """Remove blocks with their wires and, if they were ports of the page, the wires and
        literals of these ports at each use of the page.
        """
        here = self.page(page)
        gone = set(names)
        here.remove_wires(list(here.wires_at(names)), staying=lambda name: name not in gone)
        lost = {n for n in names if isinstance(here.blocks[n], PageInput | PageOutput)}
        for name in names:
            here.remove_block(name)
        for outer, use in self.uses(page) if lost else ():
            there = self.page(outer)
            wires = (t for t in there.wires_at([use]) if _touches(there, t, use, lost))
            there.remove_wires(list(wires))
            for target in there.wires_at([use]):  # its ports have moved up
                there.route(target, ())
            there.keep_literals(use, lambda port: port not in lost)
            if isinstance(scan := there.blocks[use], Scan):
                there.put_block(use, scan.without_ports(lost))


def no_page(name: str, pages: Collection[str]) -> ChangeError:
    """The error for a page that does not exist."""
    return ChangeError(
        f"There is no page {name!r}.",
        location=Location(page=name),
        expected="one of " + ", ".join(pages) if pages else None,
        next_step=did_you_mean(name, pages),
    )


def no_block(name: str, blocks: Iterable[str], location: Location) -> ChangeError:
    """The error for a block that does not exist, with the similar names of those that do."""
    return ChangeError(
        f"There is no block {name!r}.", location=location, next_step=did_you_mean(name, blocks)
    )


def _touches(page: PageDraft, target: PortName, use: str, ports: Collection[str]) -> bool:
    source = page.wires[target]
    return (target.block == use and target.port in ports) or (
        source.block == use and source.port in ports
    )
