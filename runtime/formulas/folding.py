"""Folds blocks of a page into a Formula block."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.block import Opaque, Source
from gradwire.blocks.errors import ChangeError, Location, ParameterError
from gradwire.blocks.formulas.array_syntax import block_class
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Composite, PageInput, PageOutput
from gradwire.blocks.names import fresh_names
from gradwire.runtime.diagram.edits.changes import AddBlock, Batch, Change, Connect, RemoveBlocks
from gradwire.runtime.diagram.edits.grouping import centroid
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.formulas.writing import identifier_of, lines_of

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Diagram, Page


def fold(diagram: Diagram, page: str, names: Collection[str]) -> Batch:
    """Replace blocks of a page by a Formula block that computes the same.

    Sources are left outside and wired to it. The first change of the batch adds the block. Raises
    ChangeError for blocks that can't be inside, and for a value that is read both by these blocks
    and by others.
    """
    here = diagram.pages[page]
    chosen = [
        name
        for name, block in here.blocks.items()
        if name in names and not isinstance(block, Source)
    ]
    if not chosen:
        raise ChangeError(
            "There is nothing to fold into a formula.",
            location=Location(page),
            next_step="Select blocks that compute something.",
        )
    for name in chosen:
        _require_foldable(here, page, name)
    ends = _ends(here, page, chosen)
    inputs = _inputs(here, chosen)
    lines = lines_of(diagram, page, chosen, inputs, ends if len(ends) > 1 else ())
    try:
        block: Block = Formula(expression="\n".join(lines))
    except ParameterError as error:
        raise ChangeError(
            f"These blocks can't be a formula: {error.what}", location=Location(page)
        ) from error
    title = next(fresh_names("Formula", here.blocks))
    places = [here.layout[name] for name in chosen if name in here.layout]
    changes: list[Change] = [AddBlock(title, block, centroid(places), page)]
    outputs = dict(zip(ends, block.output_names(), strict=True))
    changes += _rewired(here, page, title, set(chosen), outputs)
    changes += [Connect(source, PortName(title, port), page) for source, port in inputs.items()]
    changes.append(RemoveBlocks(tuple(chosen), page=page))
    return Batch(f"Fold into {title}", tuple(changes))


def _require_foldable(here: Page, page: str, name: str) -> None:
    """Raise ChangeError for a block that can't be inside a Formula block."""
    block, place = here.blocks[name], Location(page, name)
    what = next_step = ""
    if isinstance(block, Composite | Opaque | PageInput | PageOutput) or block.head:
        what, next_step = f"a {block.type_name()}", "Leave it out of the selection."
        if isinstance(block, Formula):
            next_step = "Unfold it first."
    elif block.owned:
        what, next_step = "a block with a variable of its own", "Move the variable out first."
    elif block.bypassed:
        what, next_step = "a bypassed block", "Remove it, or let it work again."
    elif len(block.output_names()) != 1:
        what, next_step = "a block with several outputs", "Leave it out of the selection."
    if what:
        raise ChangeError(
            f"{name!r} is {what}, which can't be inside a formula.",
            location=place,
            next_step=next_step,
        )


def _ends(here: Page, page: str, chosen: Collection[str]) -> list[str]:
    """The blocks whose values the formula gives, in order; raises ChangeError."""
    found = []
    for name in chosen:
        readers = {target.block for target in here.ends.outward.get(name, ())}
        inside = readers & set(chosen)
        if inside and inside != readers:
            outside = next(reader for reader in readers if reader not in inside)
            raise ChangeError(
                f"{name!r} is read inside the formula and, by {outside!r}, outside of it.",
                location=Location(page, name),
                next_step="Select what reads it as well, or leave it out.",
            )
        if not inside:
            found.append(name)
    return found


def _inputs(here: Page, chosen: Collection[str]) -> dict[PortName, str]:
    """The names of the inputs, by the outputs outside that will drive them.

    A name is that of the block, unless that is a function's or another input's.
    """
    found: dict[PortName, str] = {}
    taken = {identifier_of(name) for name in chosen}
    for name in chosen:
        for target in here.ends.inward.get(name, ()):
            source = here.wires[target]
            if source.block not in chosen and source not in found:
                found[source] = next(_free_names(source, taken))
                taken.add(found[source])
    return found


def _free_names(source: PortName, taken: Collection[str]) -> Iterator[str]:
    """Names for an input that nothing else has: ``w``, ``w2``, ``w3``, …."""
    plain = identifier_of(source.block)
    tried = (plain if number == 1 else f"{plain}{number}" for number in range(1, 1_000_000))
    for name in tried:
        fits = Formula.port(name) is not None and block_class(name) is None
        if fits and name not in taken and name not in ("out", "own"):
            yield name


def _rewired(
    here: Page, page: str, title: str, chosen: Collection[str], outputs: Mapping[str, str]
) -> Iterator[Change]:
    """The wires from the Formula block to what read the folded blocks."""
    for target, source in here.wires.items():
        if source.block in chosen and target.block not in chosen:
            yield Connect(PortName(title, outputs[source.block]), target, page)
