"""Editions of one diagram that differ in numbers alone: going on with one, and writing one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.block import Source
from blocks.errors import RunError
from blocks.library.sources import Variable
from blocks.values import Tensor
from runtime.calculus.dtypes import holders
from runtime.diagram.checks.checks import check
from runtime.engine.flatten import flatten
from runtime.engine.program import Leaf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from blocks.block import Block
    from blocks.values import PortLiteral
    from runtime.diagram.model import Diagram
    from runtime.engine.flatten import Flat, Instance
    from runtime.engine.program import Program


def renumbered(programs: Iterable[Program], diagram: Diagram, page: str) -> list[str] | None:
    """Give the programs the numbers of ``diagram``; None, and nothing done, where more differs.

    Returns the paths of leaves whose numbers may have changed: of sources (``W1``) and of literals
    (``mul1.a``). Numbers are values and initialisers of sources and literals of inputs, as long
    as shape, dtype and trainability stay; layout, notes and titles don't matter at all.
    """
    flat = flatten(diagram, page)
    found = list(programs)
    if not all(_alike(program.flat, flat) for program in found):
        return None
    problems = list(check(diagram))
    changed: dict[str, None] = {}
    for program in found:
        program.diagnostics[: program.checked] = problems
        program.checked = len(problems)
        for path, instance in program.instances.items():
            block = flat.instances[path].block
            if instance.block is block:
                continue
            equal, instance.block = instance.block == block, block
            paths = _rebind(program, instance)
            changed |= {} if equal else dict.fromkeys(paths)
    return list(changed)


def _rebind(program: Program, instance: Instance) -> list[str]:
    """Let the leaves of a block read its numbers; their paths."""
    block, path = instance.block, instance.path
    sources: dict[str, Source | PortLiteral] = {path: block} if isinstance(block, Source) else {}
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


def with_values(diagram: Diagram, program: Program, held: Mapping[str, NDArray[Any]]) -> Diagram:
    """The diagram with the values held by path in its variables.

    Raises RunError where two uses of one page hold different ones: a page has one value.
    """
    chosen: dict[tuple[str, str], tuple[str, NDArray[Any]]] = {}
    for path, value in held.items():
        instance = program.instances[path]
        if not isinstance(instance.block, Variable):
            continue
        other = chosen.setdefault((instance.page, instance.name), (path, value))
        if not np.array_equal(other[1], value, equal_nan=True):
            raise RunError(
                f"{other[0]} and {path} are one variable of page {instance.page!r} "
                "and have different values.",
                next_step="Make a copy of the page for one of them.",
            )
    for (page, name), (_, value) in chosen.items():
        content = diagram.pages[page]
        block = content.blocks[name].with_parameters(value=Tensor(value))
        blocks = {**content.blocks, name: block}
        diagram = diagram.with_page(page, replace(content, blocks=blocks))
    return diagram
