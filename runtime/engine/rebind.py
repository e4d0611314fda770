"""Going on with a diagram of which only numbers have changed, and writing values into one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blocks.block import Source
from blocks.errors import RunError
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput
from blocks.library.sources import Variable
from blocks.values import Tensor
from runtime.calculus.dtypes import holders
from runtime.diagram.checks.checks import check
from runtime.diagram.paths import InstancePath
from runtime.engine.flatten import flatten
from runtime.engine.program import Leaf

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from blocks.block import Block
    from blocks.values import PortLiteral
    from runtime.diagram.model import Diagram
    from runtime.engine.flatten import Flat, Instance
    from runtime.engine.program import Program


def rebind(
    programs: Collection[Program], before: Diagram, after: Diagram, page: str
) -> list[str] | None:
    """Give programs of ``before`` the numbers of ``after``; None, and nothing done, where more
    than numbers differs.

    Returns the paths of leaves whose numbers may have changed: of sources (``W1``) and of literals
    (``mul1.a``). Numbers are values and initialisers of sources and literals of inputs, as long
    as shape, dtype and trainability stay; layout, notes and titles don't matter at all.
    """
    edited = _edited_blocks(before, after)
    if edited is None:
        replaced = _compare_flat(programs, flatten(after, page))
    else:
        replaced = {path: new for program in programs for path, new in _uses(program, edited)}
    if replaced is None:
        return None
    if edited is None or _placed_anew(before, after):
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
    """A block of a page, as it was and as it is."""

    page: str
    name: str
    before: Block
    after: Block


def _edited_blocks(before: Diagram, after: Diagram) -> list[_Edited] | None:
    """The blocks that differ in numbers alone, where nothing else can differ: the wires and all
    other blocks are the very same objects. None where that takes a closer look.
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
    alike = all(_same_arithmetic(block.before, block.after) for block in edited)
    return edited if alike else None


def _uses(program: Program, edited: Iterable[_Edited]) -> Iterator[tuple[InstancePath, Block]]:
    """The paths at which edited blocks run, and what runs there now."""
    for page, name, before, after in edited:
        for use in program.flat.uses.get(page, ()):
            path = use / name
            if isinstance(after, PageBlock):
                yield from _literals_inside(program, path, after)
            elif (inside := program.instances.get(path)) is None:
                continue  # a variable that an earlier use shares
            elif inside.block is before:  # not an input given a literal outside
                yield path, after


def _literals_inside(
    program: Program, path: InstancePath, block: PageBlock
) -> Iterator[tuple[InstancePath, Block]]:
    """The inputs of a page that take literals of the block that stands for it."""
    for port, literal in block.literals.items():
        inside = program.instances.get(path / port)
        if inside is not None and isinstance(inside.block, PageInput) and "x" not in inside.wires:
            yield inside.path, PageInput(literals={"x": literal})


def _compare_flat(programs: Iterable[Program], flat: Flat) -> dict[InstancePath, Block] | None:
    """The blocks that are other objects, by path; None where they differ in more than numbers."""
    if not all(_alike(program.flat, flat) for program in programs):
        return None
    return {
        path: instance.block
        for program in programs
        for path, instance in flat.instances.items()
        if program.instances[path].block is not instance.block
    }


def _placed_anew(before: Diagram, after: Diagram) -> bool:
    """Whether places have changed, of which the checks report those that are not finite."""
    return any(
        old.layout is not after.pages[page].layout or old.bends is not after.pages[page].bends
        for page, old in before.pages.items()
    )


def _rebind_leaves(program: Program, instance: Instance) -> list[str]:
    """Let the leaves of a block read its numbers; their paths."""
    block = instance.block
    sources: dict[str, Source | PortLiteral]
    sources = {instance.path: block} if isinstance(block, Source) else {}
    sources |= {instance.port(port): literal for port, literal in block.literals.items()}
    paths = [path for path in sources if path in program.leaves]
    for path in paths:
        program.leaves[path] = Leaf(program.leaves[path].value, sources[path])
    return paths


def _alike(a: Flat, b: Flat) -> bool:
    """Equal but for numbers."""
    return (
        a.aliases == b.aliases
        and list(a.instances) == list(b.instances)
        and all(
            (one.page, one.name, one.inputs, one.wires)
            == (two.page, two.name, two.inputs, two.wires)
            and _same_arithmetic(one.block, two.block)
            for one, two in zip(a.instances.values(), b.instances.values(), strict=True)
        )
    )


def _same_arithmetic(a: Block, b: Block) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or _kinds(a) != _kinds(b):
        return False
    if isinstance(a, Source) and isinstance(b, Source):
        return (a.open_shape, a.leaf_dtype, a.wants_gradient) == (
            b.open_shape,
            b.leaf_dtype,
            b.wants_gradient,
        )
    return all(getattr(a, name) == getattr(b, name) for name in a.parameter_names())


def _kinds(block: Block) -> list[tuple[object, ...]]:
    """What tracing sees of the literals, in order."""
    return [
        (port, x.tensor.shape, x.tensor.dtype, x.dtype, x.weak, _holders(x))
        for port, x in block.literals.items()
    ]


def _holders(literal: PortLiteral) -> frozenset[str]:
    """What a weak integer may become; tracing refuses a dtype that does not hold it."""
    number = literal.tensor.array.item() if literal.weak else None
    return holders(number) if isinstance(number, int) else frozenset()


def with_values(
    diagram: Diagram,
    program: Program,
    held: Collection[str],
    values: Mapping[str, NDArray[Any]],
) -> Diagram:
    """The diagram with those of the values in its variables that are held, by path.

    Raises RunError where independent uses of a page have different ones: a page has one value.
    """
    chosen: dict[tuple[str, str], tuple[str, NDArray[Any]]] = {}
    for path in (*held, *values):
        instance = program.instances[InstancePath(path)]
        key = instance.page, instance.name
        if not isinstance(instance.block, Variable) or (path not in held and key not in chosen):
            continue
        first, value = chosen.setdefault(key, (path, values[path]))
        if not np.array_equal(value, values[path], equal_nan=True):
            raise RunError(
                f"{first} and {path} belong to independent uses of page {instance.page!r} "
                "and have different values, but the page has one.",
                next_step="Give one of the uses a page of its own, or let them share variables.",
            )
    for (page, name), (_, value) in chosen.items():
        content = diagram.pages[page]
        block = content.blocks[name].with_parameters(value=Tensor(value))
        blocks = {**content.blocks, name: block}
        diagram = diagram.with_page(page, replace(content, blocks=blocks))
    return diagram
