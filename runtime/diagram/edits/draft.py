"""A diagram during an edit: pages are opened for writing, everything else is shared.

A draft maintains the invariants between pages: the uses of a page follow changes of its ports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import ChangeError, Location
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.views import Field
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.edits.page_draft import PageDraft
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.diagram.pages import uses_of
from gradwire.runtime.diagram.paths import InstancePath, PortPath, split_leaf

if TYPE_CHECKING:
    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.lesson import Lesson
    from gradwire.runtime.diagram.paths import PortName
    from gradwire.runtime.diagram.training import Training


# Lets what a diagram says about paths follow a renamed block: lesson, contracts, training, and the
# comparison with another system.
#
# Only exact paths are renamed. Patterns, such as ``encoder/*``, stay as they are written.

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

    def _record(self, record: Mapping[str, object]) -> dict[str, object]:
        return {key: self._field(key, value) for key, value in record.items()}

    def _field(self, key: str, value: object) -> object:
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
