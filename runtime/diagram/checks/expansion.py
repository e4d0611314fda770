"""Computes the size of pages with all uses expanded, without expanding any."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.errors import Location
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.limits import MAX_INSTANCES, MAX_NESTING, MAX_PATH_CHARACTERS
from gradwire.blocks.names import MAX_LENGTH
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.checks.dependencies import Dependencies, strong_components
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.model import page_ports
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.plain import blocks_of, classes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gradwire.runtime.diagram.model import DiagramView, Ports


# Checks that the parameters of a Scan name ports of its page.


def scan_problems(scan: Scan, ports: Ports, at: Location) -> Iterator[Diagnostic]:
    """What prevents a Scan from running the page with these ports; ``at`` is where the Scan is."""
    for name, output in scan.carry.items():
        yield from _unknown(name, "input", "carry", ports.inputs, at)
        yield from _unknown(output, "output", "carry", ports.outputs, at)
    for name in scan.over:
        yield from _unknown(name, "input", "over", ports.inputs, at)
    if scan.condition:
        yield from _unknown(scan.condition, "output", "condition", ports.outputs, at)
    for name in (*ports.inputs, *ports.outputs):
        if name.isascii() and name.isdecimal():
            yield Diagnostic(
                "error",
                at,
                f"Page {scan.page!r} has a port {name!r}, and a Scan names its steps by number.",
                next_step="Rename the port.",
                code="step-name",
            )


def _unknown(
    name: str, kind: str, parameter: str, known: Collection[str], at: Location
) -> Iterator[Diagnostic]:
    if name in known:
        return
    yield Diagnostic(
        "error",
        at,
        f"{parameter} names {name!r}, which is no {kind} of the page.",
        expected="one of " + ", ".join(known) if known else f"no {kind} at all",
        next_step=did_you_mean(name, known) or f"Set {parameter} to ports of the page.",
        code="unknown-port",
    )


_MAX_COUNT = 10**15
"""Counts saturate here, because with nested uses the numbers themselves could fill the memory."""


class ExpandedSize(NamedTuple):
    """The size of an expanded page: instances, characters in their paths, depth of nesting."""

    instances: int
    characters: int
    nesting: int

    @property
    def fits(self) -> bool:
        """Whether a page of this size may be expanded."""
        return (
            self.instances <= MAX_INSTANCES
            and self.characters <= MAX_PATH_CHARACTERS
            and self.nesting <= MAX_NESTING
        )


class Expansion:
    """The sizes of the expanded pages of a diagram; uses of a page inside itself don't count."""

    def __init__(self, diagram: DiagramView, dependencies: Dependencies | None = None) -> None:
        self._pages = diagram.pages
        self._dependencies = dependencies or Dependencies(diagram)

    def opens(self, page: str, name: str) -> bool:
        """Whether the block ``name`` of ``page`` is a use that is expanded.

        Uses of a page inside itself are not, nor are the uses on a page that is too large.
        """
        return name in self._uses[page] and self.sizes[page].fits

    @cached_property
    def sizes(self) -> dict[str, ExpandedSize]:
        """The expanded size of each page."""
        found: dict[str, ExpandedSize] = {}
        used = self._dependencies.used
        for component in strong_components(used, used.__getitem__):
            found |= {page: self._size(page, found) for page in component}
        return found

    def problems(self) -> Iterator[Diagnostic]:
        """A problem for each page that is too large although no page that it uses is."""
        for page in self._pages:
            size = self.sizes[page]
            inner = {name: self.sizes[used] for name, used in self._uses[page].items()}
            if not size.fits and all(below.fits for below in inner.values()):
                yield _too_large(page, size, inner)

    def _size(self, page: str, found: dict[str, ExpandedSize]) -> ExpandedSize:
        blocks = self._pages[page].blocks
        owners = [cls for cls in classes_of(self._pages[page]) if cls.ownable]
        own = (
            PortName(name, port)
            for name, block in blocks_of(self._pages[page], *owners).items()
            for port in block.owned
        )
        inside = (
            PortName(name, part)
            for name, block in blocks_of(self._pages[page], Formula).items()
            for part in block.content.blocks
        )
        names = [*blocks, *map(str, own), *map(str, inside)]
        instances, characters, nesting = len(names), len(names) + sum(map(len, names)), 0
        for name, used in self._uses[page].items():
            inner, block = found[used], blocks[name]
            times, longer = 1, len(name) + 1
            if isinstance(block, Scan):
                times, longer = block.steps, longer + len(str(block.steps)) + 1
                joined = _joined(block, page_ports(self._pages[used]))
                instances += joined
                characters += joined * (longer + MAX_LENGTH)
            instances += times * inner.instances
            characters += times * (longer * inner.instances + inner.characters)
            nesting = max(nesting, inner.nesting)
        return ExpandedSize(min(instances, _MAX_COUNT), min(characters, _MAX_COUNT), nesting + 1)

    @cached_property
    def _uses(self) -> dict[str, dict[str, str]]:
        """The pages used by the blocks of each page, without uses of a page inside itself."""
        groups = enumerate(self._dependencies.recursive)
        group = {page: number for number, pages in groups for page in pages}
        return {
            title: {
                name: block.page
                for name, block in blocks_of(page, PageBlock).items()
                if block.page in self._pages
                and not (title in group and group[title] == group.get(block.page))
            }
            for title, page in self._pages.items()
        }


def _joined(scan: Scan, ports: Ports) -> int:
    """The instances that join the steps of a Scan, at most."""
    each = scan.steps if scan.condition else 0
    return len(ports.inputs) + len(ports.outputs) * (1 + each)


def _too_large(page: str, size: ExpandedSize, inner: dict[str, ExpandedSize]) -> Diagnostic:
    if size.nesting > MAX_NESTING:
        largest = max(inner, key=lambda name: inner[name].nesting)
        what = "Pages are nested too deeply."
        expected, got = f"at most {MAX_NESTING}", f"{size.nesting}"
    else:
        largest = max(inner, key=lambda name: inner[name].instances, default="")
        what = "Too many blocks would run, counting those in the used pages."
        expected, got = f"at most {MAX_INSTANCES:,}", f"{size.instances:,}"
        if size.instances <= MAX_INSTANCES:
            what = "The paths of the blocks that would run are too long in total."
            expected, got = f"at most {MAX_PATH_CHARACTERS:,} characters", f"{size.characters:,}"
    return Diagnostic(
        "error",
        Location(page, largest or None),
        what,
        expected=expected,
        got=got,
        next_step="Use fewer pages here, or reduce the number of blocks in them, or of steps.",
        code="too-large",
    )
