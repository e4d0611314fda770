"""Flattens pages to one list of block instances: expands every use and follows every wire."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias, cast

from gradwire.blocks.block import Block, Opaque, Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import Location
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, Scan
from gradwire.runtime.diagram.bypass import Bypassed, passing_input
from gradwire.runtime.diagram.checks.expansion import Expansion, scan_problems
from gradwire.runtime.diagram.model import MAIN, Diagram, Page, own_ports, page_ports, ports
from gradwire.runtime.diagram.pages import inside
from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortName, PortPath, WirePath
from gradwire.runtime.diagram.plain import plain_ports
from gradwire.runtime.engine.flat import Flat, Instance

if TYPE_CHECKING:
    from gradwire.blocks.values import PortLiteral

Scope: TypeAlias = "tuple[Scope, str, str] | None"
"""The owner of the variables of a use: an independent use, identified by the scope of its page,
its page and its name; None for the page that runs."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of a page that is still to be expanded."""

    path: InstancePath
    page: str
    wires: Mapping[str, tuple[WirePath, PortPath]] = field(default_factory=dict)
    literals: Mapping[str, PortLiteral] = field(default_factory=dict)
    scope: Scope = None
    position: tuple[int, ...] = ()
    """The index of each page block on its path, in its page, and the number of each step."""
    like: Mapping[str, InstancePath] = field(default_factory=dict)
    """PageInputs, with the instance whose shape and dtype each must have."""
    loop: InstancePath | None = None
    """The Scan of which this is in the step that stands for others."""


def flatten(
    diagram: Diagram, page: str = MAIN, loops: int | None = None, peeled: bool = False
) -> Flat:
    """Expand all uses from ``page`` on, except where checks report recursion or an excess.

    With ``loops`` one step stands for all steps of Scans that have more of them and are in no other
    such Scan: of the others, there are no instances. Where there is a condition, and with
    ``peeled``, it does not stand for the first step to run.
    """
    flat = Flat(
        folder=diagram.folder,
        comparison=diagram.comparison,
        training=diagram.training,
        in_order=True,
    )
    variables: dict[Hashable, dict[tuple[int, ...], InstancePath]] = {}
    expansion = Expansion(diagram)
    pending = [_Use(ROOT, page)] if page in diagram.pages else []
    while pending:
        use = pending.pop()
        flat.uses.setdefault(use.page, []).append(use.path)
        for index, instance in enumerate(_instances(flat, diagram, use)):
            block, identity = instance.block, (use.scope, use.page, instance.name)
            instance.loop = use.loop
            is_plain = plain_ports(type(block)) is not None  # asking for a class takes longer
            if not is_plain and isinstance(block, Formula):
                if expansion.sizes[use.page].fits:
                    _expand(flat, instance, block)
                continue
            if is_plain or not isinstance(block, PageBlock):
                flat.instances[instance.path] = instance
                if not instance.inputs and isinstance(block, Source) and block.kind == "variable":
                    uses = variables.setdefault((*identity, instance.owned), {})
                    uses[use.position] = instance.path
                if instance.owned:
                    flat.owned[use.path.port_inside(instance.owner)] = instance.path
                continue
            for output in ports(diagram, use.page, instance.name).outputs:
                flat.aliases[instance.port(output)] = (instance.path / output).port("out")
            if expansion.opens(use.page, instance.name):
                scope = identity if block.independent else use.scope
                inner = _Use(
                    instance.path,
                    block.page,
                    instance.wires,
                    block.literals,
                    scope,
                    (*use.position, index),
                    loop=use.loop,
                )
                if isinstance(block, Scan):
                    steps = _steps(flat, diagram, instance, block, inner, loops, peeled)
                    pending += reversed(steps)
                else:
                    pending.append(inner)
    _share(flat, variables.values())
    flat.in_order &= not flat.aliases and len(flat.uses) == 1
    return flat


def _steps(
    flat: Flat,
    diagram: Diagram,
    instance: Instance,
    scan: Scan,
    whole: _Use,
    loops: int | None,
    peeled: bool,
) -> list[_Use]:
    """The uses of its page that a Scan makes, except where checks report its parameters."""
    page = diagram.pages[scan.page]
    inner = page_ports(page)
    if any(scan_problems(scan, inner, Location())):
        return []
    from gradwire.runtime.engine.unrolling import looped, unroll  # few diagrams have a Scan

    if loops is not None and scan.steps > loops and not whole.loop:
        steps = looped(flat, instance, scan, page, inner, peeled or bool(scan.condition))
    else:
        steps = unroll(flat, instance, scan, page, inner)
    return [
        _Use(
            step.path,
            whole.page,
            step.wires,
            scope=whole.scope,
            position=(*whole.position, step.number),
            like=step.like,
            loop=instance.path if step.stands else whole.loop,
        )
        for step in steps
    ]


def _expand(flat: Flat, whole: Instance, formula: Formula) -> None:
    """Add the instances inside a Formula block; its inputs take its wires or literals."""
    for name, block in inside(formula.expression).blocks.items():
        path = whole.path / name
        part = Instance(path, whole.page, whole.name, block, (), part=name, loop=whole.loop)
        if name in formula.content.inputs:
            part.inputs = ("x",)
            if name in whole.wires:
                part.wires["x"] = whole.wires[name]
            elif name in formula.literals:
                part.block = PageInput(literals={"x": formula.literals[name]})
        else:
            _wire_part(part, whole.path, inside(formula.expression))
        flat.instances[path] = part
    for output in formula.output_names():
        flat.aliases[whole.port(output)] = (whole.path / output).port("out")


def _wire_part(part: Instance, whole: InstancePath, page: Page) -> None:
    """Give a block inside a Formula block its inputs, and the wires to them."""
    part.inputs = own_ports(page, part.part).inputs
    for port in part.inputs:
        source = page.wires.get(PortName(part.part, port))
        if source is not None:
            part.wires[port] = part.path.wire(port), whole.port_inside(source)


def _share(flat: Flat, variables: Iterable[Mapping[tuple[int, ...], InstancePath]]) -> None:
    """Keep the first instance of each variable, given by position of the use; alias the others."""
    for uses in variables:
        first, *later = (uses[position] for position in sorted(uses, key=lambda p: (len(p), p)))
        for path in later:
            del flat.instances[path]
            flat.shared[path] = first
            flat.aliases[path.port("out")] = first.port("out")


_UNKNOWN: tuple[tuple[str, ...], tuple[PortPath, ...]] = (), ()
"""The outputs of a block that comes later, or of which none is known."""


def _instances(flat: Flat, diagram: Diagram, use: _Use) -> Iterator[Instance]:
    page = diagram.pages[use.page]
    sources = cast("Mapping[tuple[str, str], PortName]", page.wires)  # a tuple is made sooner
    known: dict[str, tuple[tuple[str, ...], tuple[PortPath, ...]]] = {}
    for name, block in page.blocks.items():
        plain = plain_ports(type(block))
        inputs = _inputs(diagram, use.page, name, block)
        if block.bypassed:
            flat.in_order = False
            yield from _bypassed(page, use, name, inputs)
            continue
        instance = Instance(use.path / name, use.page, name, block, inputs)
        for port in inputs:
            source = sources.get((name, port))
            if source is not None:
                names, paths = known.get(source.block, _UNKNOWN)
                if source.port in names:
                    path = paths[names.index(source.port)]
                else:
                    flat.in_order, path = False, use.path.port_inside(source)
                instance.wires[port] = instance.path.wire(port), path
            elif port in block.owned:
                variable = Instance(
                    instance.path / port, use.page, name, block.owned[port], (), owned=port
                )
                instance.wires[port] = (instance.path.wire(port), variable.port("out"))
                yield variable
        if plain is not None or not isinstance(block, Formula | Opaque | PageBlock):
            names = block.output_names() if plain is None else plain.outputs
            instance.outputs = tuple(map(instance.path.port, names))
            known[name] = names, instance.outputs
        if plain is None and isinstance(block, PageInput):
            if name in use.wires:
                instance.wires["x"] = use.wires[name]
            elif name in use.literals:
                instance.block = PageInput(literals={"x": use.literals[name]})
            instance.like = use.like.get(name)
            if instance.like is not None:
                instance.after = (instance.like.port("out"),)
        yield instance


def _inputs(diagram: Diagram, page: str, name: str, block: Block) -> tuple[str, ...]:
    """The names of the inputs of a block, terms of repeating ones included."""
    if (plain := plain_ports(type(block))) is not None:
        return plain.inputs
    return () if isinstance(block, Opaque) else ports(diagram, page, name).inputs


def _bypassed(page: Page, use: _Use, name: str, inputs: tuple[str, ...]) -> Iterator[Instance]:
    """What runs in the place of a bypassed block, after its own variables, which it ignores.

    Its first input is the one that goes through. The wires keep their paths.
    """
    block, path = page.blocks[name], use.path / name
    for port, variable in block.owned.items():
        yield Instance(path / port, use.page, name, variable, (), owned=port)
    first = passing_input(page, name)
    wired = [port for port in inputs if port != first and PortName(name, port) in page.wires]
    wires = {
        port: (path.wire(port), use.path.port_inside(page.wires[PortName(name, port)]))
        for port in ([] if first is None else [first, *wired])
    }
    stand_in = Bypassed(names=block.output_names())
    yield Instance(path, use.page, name, stand_in, tuple(wires) or ("x",), wires)
