"""Rebinds programs to a diagram that differs only in numbers, and writes values to diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.block import Source
from gradwire.blocks.importing.kinds import is_dataset
from gradwire.blocks.library.pages import Composite, PageInput
from gradwire.runtime.calculus.dtypes import holders
from gradwire.runtime.diagram.checks.checks import check
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.engine.program import Leaf
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gradwire.blocks.block import Block
    from gradwire.blocks.values import PortLiteral
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.diagram.paths import InstancePath
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
