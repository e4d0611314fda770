"""Checks the structure of a diagram, without tracing and without raising."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.block import Block, Opaque
from gradwire.blocks.errors import BlockError, Location, UnknownBlockError
from gradwire.blocks.importing.kinds import is_field
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, Scan
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.names import NAME_RULE, is_name
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.registry import registry
from gradwire.blocks.terms import term_index, term_name
from gradwire.runtime.diagram.bypass import passing_input
from gradwire.runtime.diagram.checks.dependencies import Dependencies
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.checks.expansion import Expansion, scan_problems
from gradwire.runtime.diagram.files.records import strict_block
from gradwire.runtime.diagram.layout.later import waits
from gradwire.runtime.diagram.model import MAIN, Diagram, Ports, page_ports
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.plain import blocks_of, classes_of, survey
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gradwire.runtime.diagram.model import Page


# Finds positions, bends, routes and styles of what a page does not have.


def stray_layout(page: Page, name: str) -> Iterator[Diagnostic]:
    """What is placed that does not exist, or not at a finite position."""
    for block, at in () if _is_sound(page) else page.layout.items():
        if block not in page.blocks:
            what = "There is a position for a block that does not exist."
        elif not (math.isfinite(at.x) and math.isfinite(at.y)):
            what = "The block's position is not finite."
        else:
            continue
        yield _stray(Location(name, block), what)
    for target, bends in page.bends.items():
        if target not in page.wires:
            yield _stray(Location(name, *target), "There are bends for a wire that does not exist.")
        elif not all(map(math.isfinite, chain.from_iterable(bends))):
            yield _stray(Location(name, *target), "A bend of the wire is not finite.")
    what = "There is a route for a wire that does not exist."
    for target in () if waits(page.routes, page.wires) else page.routes:
        if target not in page.wires:
            yield _stray(Location(name, *target), what)
    for block in page.styles:
        if block not in page.blocks:
            yield _stray(Location(name, block), "There is a style for a block that does not exist.")


def _is_sound(page: Page) -> bool:
    """Whether all positions are finite, and those of blocks that exist."""
    if waits(page.layout, page.blocks):
        return True
    numbers = chain.from_iterable(page.layout.values())
    return page.layout.keys() <= page.blocks.keys() and all(map(math.isfinite, numbers))


def _stray(location: Location, what: str) -> Diagnostic:
    return Diagnostic("info", location, what, next_step="Arrange the page.", code="stray-layout")


@explained
@uncollected()
def check(diagram: Diagram) -> list[Diagnostic]:
    """All structural problems, page by page: names, blocks, inputs, wires, cycles, layout.

    Codes: no-main-page, bad-name, unknown-block, wrong-parameters, missing-page, page-recursion,
    missing-input, not-shown, unknown-literal, port-gap, dangling-wire, unknown-port,
    driven-page-input, cycle, stray-layout, untrainable, too-large, step-name, plugin-failed.
    """
    dependencies = Dependencies(diagram)
    found = [*_check_pages(diagram, dependencies), *Expansion(diagram, dependencies).problems()]
    page_blocks = {name: page_ports(page) for name, page in diagram.pages.items()}
    for name in diagram.pages:
        page = _PageCheck(diagram, name, page_blocks)
        found += [*page.all(), *(() if page.survey.in_order else _check_cycles(dependencies, name))]
        found += stray_layout(diagram.pages[name], name)
    return [*found, *_check_plugins(diagram)]


def _check_pages(diagram: Diagram, dependencies: Dependencies) -> Iterator[Diagnostic]:
    if MAIN not in diagram.pages:
        yield Diagnostic(
            "error",
            Location(),
            f"There is no page {MAIN!r} to run.",
            next_step=f"Name one page {MAIN!r}.",
            code="no-main-page",
        )
    for name in diagram.pages:
        if not is_name(name):
            yield _bad_name(name, "page", Location(name))
    for group in dependencies.recursive:
        yield Diagnostic(
            "error",
            Location(group[0]),
            "The page contains itself."
            if len(group) == 1
            else f"The pages contain one another: {', '.join(group)}.",
            next_step="Remove one of the page blocks.",
            code="page-recursion",
        )


def _check_cycles(dependencies: Dependencies, page: str) -> Iterator[Diagnostic]:
    for cycle in dependencies.cycles(page):
        yield Diagnostic(
            "error",
            Location(page, cycle.blocks[0]),
            f"The blocks read one another: {cycle}.",
            next_step="Remove one of these wires.",
            code="cycle",
        )


def _check_plugins(diagram: Diagram) -> Iterator[Diagnostic]:
    """Methods of plug-ins that failed and have a stand-in, once for each type of block."""
    places: dict[str, Location] = {}
    for page_name, page in diagram.pages.items():
        foreign = {cls for cls in classes_of(page) if cls.plugin}
        for name, block in page.blocks.items() if foreign else ():
            if type(block) in foreign:
                block.label()  # here, so that it is reported before a window shows it
                places.setdefault(block.type_name(), Location(page_name, name))
    for type_name, place in places.items():
        for what in registry().failures.get(type_name, ()):
            yield Diagnostic("warning", place, what, code="plugin-failed")


class _PageCheck:
    """Checks of the blocks, inputs and wires of one page."""

    def __init__(self, diagram: Diagram, name: str, page_blocks: Mapping[str, Ports]) -> None:
        self._diagram = diagram
        self._name = name
        self._page_blocks = page_blocks
        self._page = diagram.pages[name]
        self.survey = survey(self._page)

    def all(self) -> Iterator[Diagnostic]:
        for name in self._wired:
            if not is_name(name):
                yield _bad_name(name, "block", Location(self._name, name))
            yield from self._check_block(name, self._page.blocks[name])
        for target in self.survey.wires:
            yield from self._check_wire(self._page.wires[target], target)

    @cached_property
    def _wired(self) -> Mapping[str, set[str]]:
        """The blocks to look at more closely, in order, with their inputs that have wires."""
        blocks = self._page.blocks
        unsure = {*self.survey.blocks, *blocks_of(self._page, Variable)}
        unsure |= {name for name, x in blocks.items() if is_field(x) or not is_name(name)}
        found: dict[str, set[str]] = {name: set() for name in blocks if name in unsure}
        for target in self._page.wires if found else ():
            if (ports := found.get(target.block)) is not None:
                ports.add(target.port)
        return found

    def _check_block(self, name: str, block: Block) -> Iterator[Diagnostic]:
        if isinstance(block, Opaque):
            yield _why_opaque(block, Location(self._name, name))
        elif isinstance(block, PageBlock):
            yield from self._check_page_block(name, block)
        else:
            yield from self._check_inputs(name, block)
        if is_field(block) and block.page:
            yield from self._check_field(name, block.page)
        yield from _untrainable(block, Location(self._name, name))
        for port, own in block.owned.items():
            yield from _untrainable(own, Location(self._name, name, port))

    def _check_page_block(self, name: str, block: PageBlock) -> Iterator[Diagnostic]:
        if block.page not in self._page_blocks:
            yield Diagnostic(
                "error",
                Location(self._name, name),
                f"There is no page {block.page!r}.",
                expected="one of " + ", ".join(self._page_blocks),
                next_step="Choose an existing page for this block.",
                code="missing-page",
            )
            return
        inner = self._diagram.pages[block.page]
        wired = self._wired[name]
        for port in self._page_blocks[block.page].inputs:
            has_default = bool(inner.blocks[port].literals)
            if not (has_default or port in wired or port in block.literals):
                yield _missing(Location(self._name, name, port))
        yield from self._check_literals(name, block)
        if isinstance(block, Scan):
            ports = self._page_blocks[block.page]
            yield from scan_problems(block, ports, Location(self._name, name))

    def _check_field(self, name: str, page: str) -> Iterator[Diagnostic]:
        """What is wrong with the page that a Field draws; everything else runs all the same."""
        at = Location(self._name, name)
        known = self._page_blocks.get(page)
        if known is None:
            others = [other for other in self._page_blocks if other != MAIN]
            yield Diagnostic(
                "warning",
                at,
                f"There is no page {page!r}, so the field shows nothing.",
                expected="one of " + ", ".join(others) if others else None,
                next_step=did_you_mean(page, others) or "Choose another page for this block.",
                code="missing-page",
            )
        elif len(known.inputs) not in (1, 2) or len(known.outputs) != 1:
            yield Diagnostic(
                "warning",
                at,
                f"Page {page!r} is no function of a point, so the field shows nothing.",
                expected="one input, for points (n, 2), or two, for x and y; and one output",
                got=f"inputs: {', '.join(known.inputs) or 'none'}; "
                f"outputs: {', '.join(known.outputs) or 'none'}",
                next_step="Choose another page, or put the part that you mean into a page.",
                code="not-shown",
            )

    def _check_inputs(self, name: str, block: Block) -> Iterator[Diagnostic]:
        if block.bypassed:
            if passing_input(self._page, name) is None:
                yield _nothing_to_pass(Location(self._name, name))
            return
        wired = self._wired[name]
        driven_outside = isinstance(block, PageInput) and self._name != MAIN
        for port in block.input_ports():
            if port.variadic:
                yield from self._check_gaps(name, block, port.name)
            elif port.required and not (
                driven_outside or port.name in wired or block.is_given(port.name)
            ):
                yield _missing(Location(self._name, name, port.name))
        yield from self._check_literals(name, block)

    def _check_literals(self, name: str, block: Block) -> Iterator[Diagnostic]:
        for port in block.literals:
            if not self._has_input(PortName(name, port)):
                yield Diagnostic(
                    "error",
                    Location(self._name, name, port),
                    "There is a literal for an input that does not exist.",
                    next_step="Remove it.",
                    code="unknown-literal",
                )

    def _check_gaps(self, name: str, block: Block, port: str) -> Iterator[Diagnostic]:
        given = (*self._wired[name], *block.literals)
        indices = (term_index(term, port) for term in given)
        terms = sorted({index for index in indices if index is not None})
        for index in sorted({*range(len(terms))} - {*terms})[:1]:
            yield Diagnostic(
                "error",
                Location(self._name, name, term_name(port, index)),
                "A term of the repeating input is missing.",
                expected=f"{term_name(port, 0)} to {term_name(port, len(terms) - 1)} without a gap",
                got=", ".join(term_name(port, term) for term in terms[:8]),
                next_step="Number the terms from 0.",
                code="port-gap",
            )

    def _check_wire(self, source: PortName, target: PortName) -> Iterator[Diagnostic]:
        for end, verb in ((source, "starts"), (target, "ends")):
            if end.block not in self._page.blocks:
                yield Diagnostic(
                    "error",
                    Location(self._name, *target),
                    f"The wire from {source} {verb} at a block that does not exist: {end.block!r}.",
                    next_step=_nearest_end(end.block, self._page.blocks),
                    code="dangling-wire",
                )
                return
        outputs, inputs = self._outputs(source.block), self._has_input(target)
        if outputs is not None and source.port not in outputs:
            yield Diagnostic(
                "error",
                Location(self._name, *target),
                f"The wire starts at an output that does not exist: {source}.",
                expected="one of " + ", ".join(outputs) if outputs else "no output at all",
                next_step=_nearest_end(source.port, outputs),
                code="unknown-port",
            )
        if not inputs:
            known = self._inputs(target.block)
            yield Diagnostic(
                "error",
                Location(self._name, *target),
                f"The wire from {source} ends at an input that does not exist.",
                expected="one of " + ", ".join(known) if known else "no input at all",
                next_step=_nearest_end(target.port, known),
                code="unknown-port",
            )
        elif isinstance(self._page.blocks[target.block], PageInput):
            yield Diagnostic(
                "error",
                Location(self._name, *target),
                "This is an input of the page and gets its value from outside; it can't be wired.",
                next_step="Remove the wire.",
                code="driven-page-input",
            )

    def _outputs(self, name: str) -> Collection[str] | None:
        """Names of a block's outputs; None if it may have any."""
        block = self._page.blocks[name]
        if isinstance(block, PageBlock) and block.page in self._page_blocks:
            return self._page_blocks[block.page].outputs
        return None if isinstance(block, Opaque | PageBlock) else block.output_names()

    def _inputs(self, name: str) -> list[str]:
        """Names of a block's inputs, of any number of terms the first."""
        block = self._page.blocks[name]
        if isinstance(block, PageBlock) and block.page in self._page_blocks:
            return [*self._page_blocks[block.page].inputs]
        ports = () if isinstance(block, Opaque | PageBlock) else block.inputs
        return [term_name(port.name, 0) if port.variadic else port.name for port in ports]

    def _has_input(self, port: PortName) -> bool:
        block = self._page.blocks[port.block]
        if isinstance(block, PageBlock) and block.page in self._page_blocks:
            inner = self._diagram.pages[block.page]
            return isinstance(inner.blocks.get(port.port), PageInput)
        if isinstance(block, Opaque | PageBlock):
            return True
        if isinstance(block, Formula):
            return port.port in block.content.inputs
        found = block.port(port.port)
        return found is not None and not (
            found.variadic and term_index(port.port, found.name) is None
        )


def _nearest_end(name: str, known: Collection[str]) -> str:
    """What to do about a wire whose end has a name that nothing has."""
    return did_you_mean(name, known) or "Remove the wire."


def _bad_name(name: str, kind: str, location: Location) -> Diagnostic:
    return Diagnostic(
        "error",
        location,
        f"{name[:120]!r} is not a valid {kind} name.",
        expected=NAME_RULE,
        next_step="Rename it.",
        code="bad-name",
    )


def _nothing_to_pass(location: Location) -> Diagnostic:
    return Diagnostic(
        "error",
        location,
        "The block is bypassed, and no input is wired that could go through.",
        next_step="Wire an input, or let the block work again.",
        code="nothing-to-pass",
    )


def _missing(location: Location) -> Diagnostic:
    return Diagnostic(
        "error",
        location,
        "The input is neither wired nor given a value.",
        next_step="Wire it, or write a number into it.",
        code="missing-input",
    )


def _untrainable(block: Block, location: Location) -> Iterator[Diagnostic]:
    if isinstance(block, Variable) and block.trainable and not block.wants_gradient:
        yield Diagnostic(
            "warning",
            location,
            f"A variable of {block.dtype} can't be trained: it has no gradient.",
            next_step="Give it a floating dtype, or set trainable to false.",
            code="untrainable",
        )


def _why_opaque(block: Opaque, location: Location) -> Diagnostic:
    try:
        strict_block(block.original_type, block.record)
    except BlockError as error:
        unknown = isinstance(error, UnknownBlockError)
        return Diagnostic.from_error(
            error, "unknown-block" if unknown else "wrong-parameters", location
        )
    return Diagnostic(
        "error",
        location,
        f"{block.original_type} was not installed when the diagram was opened.",
        next_step="Open the diagram again.",
        code="unknown-block",
    )
