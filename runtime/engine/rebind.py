"""Rebinds programs to a diagram that differs only in numbers, and stores the current values of
variables in the diagram that they belong to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.errors import RunError
from gradwire.blocks.importing.kinds import is_dataset
from gradwire.blocks.library.pages import Composite, PageInput
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.names import fresh_names
from gradwire.blocks.values import Tensor
from gradwire.runtime.calculus.dtypes import holders
from gradwire.runtime.diagram.checks.checks import check
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.engine.program import Leaf
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array, PortLiteral
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.diagram.pages import Address
    from gradwire.runtime.engine.flat import Flat, Instance
    from gradwire.runtime.engine.program import Program


@uncollected()
def rebind(
    programs: Collection[Program], before: Diagram, after: Diagram, page: str
) -> list[str] | None:
    """Rebind programs of ``before`` to the numbers of ``after``.

    Numbers are values and initialisers of sources, and literals of inputs, while shape, dtype and
    trainability stay the same; layout, notes and titles are ignored. Returns the paths of leaves
    whose numbers may have changed, of sources (``W1``) and of literals (``mul1.a``). If anything
    else differs, returns None and leaves the programs unchanged.
    """
    if before.folder != after.folder and any(
        is_dataset(instance.block) and instance.block.is_file
        for program in programs
        for instance in program.instances.values()
    ):
        return None
    edited = _edited_blocks(before, after)
    if edited is None:
        replaced = _compare_flat(programs, flatten(after, page))
    else:
        replaced = {path: new for program in programs for path, new in _uses(program, edited)}
    if replaced is None:
        return None
    for program in programs:
        program.flat.comparison = after.comparison
        program.flat.training = after.training
        program.forget_numbers()
    if edited is None or _layout_changed(before, after):
        problems = check(after)
        for program in programs:
            program.diagnostics[: program.checked] = problems
            program.checked = len(problems)
    changed: dict[str, None] = {}
    for program in programs:
        for path, block in replaced.items():
            instance = program.instances[path]
            equal, instance.block = instance.block == block, block
            paths = _rebind_leaves(program, instance)
            changed |= {} if equal else dict.fromkeys(paths)
    return list(changed)


class _Edited(NamedTuple):
    """A block of a page, before and after the edit."""

    page: str
    name: str
    before: Block
    after: Block


def _edited_blocks(before: Diagram, after: Diagram) -> list[_Edited] | None:
    """The blocks that were edited, if identity of all other blocks and of the wires shows that
    only their numbers differ; None if that needs a closer look.
    """
    if list(before.pages) != list(after.pages):
        return None
    edited = []
    for page, old in before.pages.items():
        new = after.pages[page]
        if old.wires is not new.wires or len(old.blocks) != len(new.blocks):
            return None
        if old.blocks is new.blocks:
            continue
        for (name, one), (other, two) in zip(old.blocks.items(), new.blocks.items(), strict=True):
            if name != other:
                return None
            if one is not two:
                edited.append(_Edited(page, name, one, two))
    only_numbers = all(_same_but_numbers(block.before, block.after) for block in edited)
    return edited if only_numbers else None


def _uses(program: Program, edited: Iterable[_Edited]) -> Iterator[tuple[InstancePath, Block]]:
    """The paths of the instances of edited blocks, with their new blocks."""
    for page, name, before, after in edited:
        for use in program.flat.uses.get(page, ()):
            path = use / name
            if isinstance(after, Composite):
                yield from _literals_inside(program, path, after)
            elif (instance := program.instances.get(path)) is None:
                continue  # a shared variable whose instance is in an earlier use
            elif instance.block is before:  # false for a PageInput with a literal of its use
                yield path, after
                yield from _owned_by(program, path, before, after)
        if isinstance(after, PageInput):
            yield from _defaults(program, page, name, before, after)


def _defaults(
    program: Program, page: str, name: str, before: Block, after: Block
) -> Iterator[tuple[InstancePath, Block]]:
    """What the Scans of a page get at an input that takes the literal of its PageInput."""
    for path, scan in program.flat.scans.items():
        inner = program.instances.get(path / name) if scan.page == page else None
        if inner is not None and inner.block.literals is before.literals:
            yield inner.path, inner.block.model_copy(update={"literals": after.literals})


def _owned_by(
    program: Program, path: InstancePath, before: Block, after: Block
) -> Iterator[tuple[InstancePath, Block]]:
    """The own variables of an edited block; those of wired inputs have no instance."""
    for port, variable in after.owned.items():
        inner = program.instances.get(path / port)
        if inner is not None and inner.block is before.owned[port]:
            yield inner.path, variable


def _literals_inside(
    program: Program, path: InstancePath, block: Composite
) -> Iterator[tuple[InstancePath, Block]]:
    """The PageInputs that take literals of a use of their page, or of a Formula block."""
    for port, literal in block.literals.items():
        inner = program.instances.get(path / port)
        if inner is not None and isinstance(inner.block, PageInput) and "x" not in inner.wires:
            yield inner.path, inner.block.with_parameters(x=literal)


def _compare_flat(programs: Iterable[Program], flat: Flat) -> dict[InstancePath, Block] | None:
    """The blocks that were replaced, by path; None if they differ in more than numbers."""
    if not all(_equal_but_numbers(program.flat, flat) for program in programs):
        return None
    return {
        path: instance.block
        for program in programs
        for path, instance in flat.instances.items()
        if program.instances[path].block is not instance.block
    }


def _layout_changed(before: Diagram, after: Diagram) -> bool:
    """Whether positions, bends, routes or styles have changed, of which checks report the wrong."""
    return any(
        old.layout is not after.pages[page].layout
        or old.bends is not after.pages[page].bends
        or old.routes is not after.pages[page].routes
        or old.styles is not after.pages[page].styles
        for page, old in before.pages.items()
    )


def _rebind_leaves(program: Program, instance: Instance) -> list[str]:
    """Rebind the leaves of an instance to its new block; returns their paths."""
    block = instance.block
    sources: dict[str, Source | PortLiteral]
    sources = {instance.path: block} if isinstance(block, Source) else {}
    sources |= {instance.port(port): literal for port, literal in block.literals.items()}
    paths = [path for path in sources if path in program.leaves]
    for path in paths:
        program.leaves[path] = Leaf(program.leaves[path].value, sources[path])
    return paths


def _equal_but_numbers(a: Flat, b: Flat) -> bool:
    return (
        a.aliases == b.aliases
        and list(a.instances) == list(b.instances)
        and all(
            (one.page, one.name, one.inputs, one.wires)
            == (two.page, two.name, two.inputs, two.wires)
            and _same_but_numbers(one.block, two.block)
            for one, two in zip(a.instances.values(), b.instances.values(), strict=True)
        )
    )


def _same_but_numbers(a: Block, b: Block) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or a.bypassed != b.bypassed:
        return False
    if _literal_types(a) != _literal_types(b):
        return False
    if isinstance(a, Source) and isinstance(b, Source):
        return (a.open_shape, a.leaf_dtype, a.wants_gradient) == (
            b.open_shape,
            b.leaf_dtype,
            b.wants_gradient,
        )
    if a.owned.keys() != b.owned.keys():
        return False
    if not all(_same_but_numbers(own, b.owned[port]) for port, own in a.owned.items()):
        return False
    return all(getattr(a, name) == getattr(b, name) for name in a.parameter_names())


def _literal_types(block: Block) -> list[tuple[object, ...]]:
    """What tracing uses of the literals, in order."""
    return [
        (port, x.tensor.shape, x.tensor.dtype, x.dtype, x.weak, _possible_dtypes(x))
        for port, x in block.literals.items()
    ]


def _possible_dtypes(literal: PortLiteral) -> frozenset[str]:
    """The dtypes that can represent a weak integer; tracing rejects the others."""
    number = literal.tensor.array.item() if literal.weak else None
    return holders(number) if isinstance(number, int) else frozenset()


def with_values(
    diagram: Diagram,
    program: Program,
    assigned: Collection[str],
    values: Mapping[str, Array],
) -> Diagram:
    """The diagram with the current values of those variables that were assigned, by path.

    A page stores one value for all its uses: an independent use with another one gets copies of its
    page and of all pages inside.
    """
    paths = [
        InstancePath(path)
        for path in dict.fromkeys((*assigned, *values))
        if isinstance(program.instances[InstancePath(path)].block, Variable)
    ]
    while True:
        chosen: dict[Address, InstancePath] = {}
        rival = _first_rival(diagram, paths, assigned, values, chosen)
        if rival is None:
            break
        diagram = _apart(diagram, *rival)
    for address, path in chosen.items():
        content = diagram.pages[address.page]
        variable = address.block(diagram).with_parameters(value=Tensor(values[path]))
        blocks = {**content.blocks, address.name: address.replaced(diagram, variable)}
        diagram = diagram.with_page(address.page, replace(content, blocks=blocks))
    return diagram


def _first_rival(
    diagram: Diagram,
    paths: Collection[InstancePath],
    assigned: Collection[str],
    values: Mapping[str, Array],
    chosen: dict[Address, InstancePath],
) -> tuple[InstancePath, InstancePath] | None:
    """Fill ``chosen`` with a path for each variable that is stored, until two paths of one have
    different values; return these.
    """
    for path in paths:
        address = resolve(diagram, path)
        if address is None or (path not in assigned and address not in chosen):
            continue
        first = chosen.setdefault(address, path)
        if not np.array_equal(values[first], values[path], equal_nan=True):
            return first, path
    return None


def _apart(diagram: Diagram, one: InstancePath, other: InstancePath) -> Diagram:
    """The diagram with copies of pages for an independent use that contains one of the paths."""
    for path, rival in ((other, one), (one, other)):
        passed = [
            resolve(diagram, use) for use in _uses_around(rival)
        ]  # copies there keep both together
        for use in _uses_around(path):
            if resolve(diagram, use) not in passed and _is_independent(diagram, use):
                return _with_own_pages(diagram, use)
    raise RunError(
        f"{one} and {other} have different values, but the page can store only one.",
        next_step="Give one of the uses a page of its own.",
    )


def _uses_around(path: InstancePath) -> list[InstancePath]:
    """The uses of pages that contain a variable, from the outside in."""
    return [InstancePath.of(*path.names[:depth]) for depth in range(1, len(path.names))]


def _is_independent(diagram: Diagram, use: InstancePath) -> bool:
    address = resolve(diagram, use)
    block = None if address is None else address.block(diagram)
    return isinstance(block, PageBlock) and block.independent


def _with_own_pages(diagram: Diagram, use: InstancePath) -> Diagram:
    """Give a use copies of its page and of all pages inside, which it alone uses."""
    address = resolve(diagram, use)
    assert address is not None
    block = diagram.pages[address.page].blocks[address.name]
    assert isinstance(block, PageBlock)
    copies: dict[str, str] = {}
    waiting = [block.page]
    while waiting:
        page = waiting.pop()
        if page in copies or page not in diagram.pages:
            continue
        taken = {*diagram.pages, *copies.values()}
        copies[page] = next(fresh_names(page.rstrip("0123456789_ ") or page, taken))
        inner = diagram.pages[page].blocks.values()
        waiting += [each.page for each in inner if isinstance(each, PageBlock)]
    for page, copy in copies.items():
        content = diagram.pages[page]
        blocks = {
            name: each.with_parameters(page=copies.get(each.page, each.page))
            if isinstance(each, PageBlock)
            else each
            for name, each in content.blocks.items()
        }
        diagram = diagram.with_page(copy, replace(content, blocks=blocks))
    outer = diagram.pages[address.page]
    used = block.with_parameters(page=copies[block.page])
    return diagram.with_page(
        address.page, replace(outer, blocks={**outer.blocks, address.name: used})
    )
