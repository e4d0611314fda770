"""Interventions: open a stop, cut a wire, freeze a variable, …; each becomes a Change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, assert_never

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import ChangeError, Location, ParameterError
from gradwire.blocks.library.gradient import StopGradient, StraightThrough
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import (
    AddBlock,
    Batch,
    Change,
    Connect,
    Diagram,
    Point,
    PortName,
    SetParameters,
    apply,
    fresh_name,
)
from gradwire.runtime.diagram.edits.draft import no_block
from gradwire.runtime.diagram.pages import Address, resolve
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine.flatten import flatten


@dataclass(frozen=True, slots=True)
class OpenStop:
    """Open a StopGradient, or have it spare one leaf of a tree: values stay, gradient passes."""

    block: str
    leaf: str = ""

    def __str__(self) -> str:
        return f"{self.block} on {self.leaf}" if self.leaf else self.block


@dataclass(frozen=True, slots=True)
class CloseStop:
    """Close a StopGradient that is open or spares leaves."""

    block: str


@dataclass(frozen=True, slots=True)
class CutWire:
    """Put a StopGradient on a wire, named by its target or as ``source→target``."""

    wire: str


@dataclass(frozen=True, slots=True)
class Freeze:
    """Make a variable frozen."""

    variable: str


@dataclass(frozen=True, slots=True)
class Train:
    """Make a variable trainable."""

    variable: str


@dataclass(frozen=True, slots=True)
class Bridge:
    """Put a StraightThrough before ``target``: value of ``hard``, gradient to ``soft``; or with
    ``target`` None before all that reads ``hard`` before any step is made.
    """

    hard: str
    soft: str
    target: str | None = None


Intervention: TypeAlias = OpenStop | CloseStop | CutWire | Freeze | Train | Bridge


def change_of(diagram: Diagram, steps: Iterable[Intervention]) -> Batch:
    """One change that makes all the steps. Raises ChangeError for one that can't be made.

    Blocks, wires and variables are named by path; what is done to a page is done to all its uses.
    """
    changes: list[Change] = []
    labels = []
    before = diagram
    for step in dict.fromkeys(steps):
        made = (
            _bridge(diagram, step, before) if isinstance(step, Bridge) else _changes(diagram, step)
        )
        diagram = apply(diagram, made).after
        changes.append(made)
        labels.append(made.label)
    return Batch(", ".join(labels) or "Change nothing", tuple(changes))


def wire_target(text: str) -> tuple[PortPath | None, str]:
    """Source and target of ``w.out→mul1.a``, ``w.out->mul1.a``, ``w→mul1.a`` or ``mul1.a``."""
    source, arrow, target = text.replace("->", "→").partition("→")
    if not arrow:
        return None, source.strip()
    source = source.strip()
    return PortPath.named(source), target.strip()


def open_stops(diagram: Diagram, paths: Iterable[str]) -> list[str]:
    """Those of the paths at which a StopGradient stands that is open."""
    return [path for path in paths if _is_open(diagram, path)]


def _is_open(diagram: Diagram, path: str) -> bool:
    try:
        return _stop(diagram, path, "open")[1].open
    except ChangeError:
        return False


def _changes(diagram: Diagram, step: OpenStop | CloseStop | CutWire | Freeze | Train) -> Batch:
    match step:
        case OpenStop():
            return _open(diagram, step)
        case CloseStop(block):
            found, _ = _stop(diagram, block, "closed")
            return _set(diagram, found, f"Close {block}", {"open": False, "spare": []})
        case CutWire(wire):
            return _cut(diagram, wire)
        case Freeze(variable):
            return _train(diagram, variable, False)
        case Train(variable):
            return _train(diagram, variable, True)
        case _:
            assert_never(step)


def _address(diagram: Diagram, path: str) -> Address:
    """The page and the name of a block by its path; raises ChangeError."""
    found = resolve(diagram, InstancePath(path))
    if found is None:
        known = [*map(str, flatten(diagram).instances)]
        raise no_block(path, known, Location(block=path))
    return found


def _stop(diagram: Diagram, path: str, how: str) -> tuple[Address, StopGradient]:
    """The address and the block of a StopGradient; raises ChangeError for another block."""
    found = _address(diagram, path)
    name, block = found.part or found.name, found.block(diagram)
    if isinstance(block, StopGradient):
        return found, block
    raise ChangeError(
        f"{name!r} is a {block.type_name()}: only a StopGradient can be {how}.",
        location=Location(found.page, found.name),
        next_step="Where arithmetic has no derivative, try a StraightThrough block.",
    )


def _open(diagram: Diagram, step: OpenStop) -> Batch:
    found, block = _stop(diagram, step.block, "opened")
    spare = dict.fromkeys([*block.spare, step.leaf])
    values = {"spare": list(spare)} if step.leaf else {"open": True}
    return _set(diagram, found, f"Open {step}", values)


def _set(diagram: Diagram, address: Address, label: str, values: Mapping[str, object]) -> Batch:
    """Set parameters of a block, or of a block inside a Formula block; raises ChangeError."""
    place = Location(address.page, address.name)
    try:
        given = address.parameters(diagram, values)
    except ParameterError as error:
        raise ChangeError(error.what, location=place, next_step=error.next_step) from error
    return Batch(label, (SetParameters(address.name, given, address.page),))


def _on_a_page(diagram: Diagram, path: str) -> Address:
    """The address of a block that is not inside a Formula block; raises ChangeError."""
    found = _address(diagram, path)
    if found.part:
        raise ChangeError(
            f"{path} is inside {found.name}: unfold that Formula into blocks first.",
            location=Location(found.page, found.name),
            next_step=f"Unfold {found.name} into blocks first.",
        )
    return found


def _cut(diagram: Diagram, wire: str) -> Batch:
    wanted, text = wire_target(wire)
    try:
        path = WirePath.parse(text)
    except ValueError:
        raise ChangeError(
            f"{wire!r} is not a wire.", expected="its target (mul1.a) or both ends (w.out→mul1.a)"
        ) from None
    address = _on_a_page(diagram, path.block)
    page, name = address.page, address.name
    here, target = diagram.pages[page], path.name
    found = here.wires.get(target)
    if found is None and path.port in address.block(diagram).owned:
        raise ChangeError(
            f"{path} has a variable of its own, not a wire that could be cut.",
            location=Location(page, name, path.port),
            next_step="Freeze the variable, or move it out of the block first.",
        )
    source = None if found is None else path.block.use.port_inside(found)
    if found is None or wanted not in (None, source):
        raise ChangeError(
            f"There is no wire {wire!r}.",
            location=Location(page, name, path.port),
            got=None if source is None else f"one from {source}",
        )
    stop = fresh_name(here, "StopGradient")
    return Batch(
        f"Cut {source}→{path}",
        (
            AddBlock(stop, StopGradient(), _between(diagram, page, found.block, name), page),
            Connect(found, PortName(stop, "x"), page),
            Connect(PortName(stop, "out"), target, page),
        ),
    )


def _train(diagram: Diagram, variable: str, trainable: bool) -> Batch:
    found = _address(diagram, variable)
    if not isinstance(found.block(diagram), Variable):
        place = Location(found.page, found.name)
        raise ChangeError(f"{variable!r} is not a variable.", location=place)
    label = f"{'Train' if trainable else 'Freeze'} {variable}"
    return _set(diagram, found, label, {"trainable": trainable})


def _bridge(diagram: Diagram, bridge: Bridge, before: Diagram) -> Batch:
    ends = [PortPath(port) for port in filter(None, (bridge.hard, bridge.soft, bridge.target))]
    pages = {_on_a_page(diagram, end.block).page for end in ends}
    if len(pages) > 1:
        raise ChangeError("A StraightThrough block can't join two pages.")
    page = pages.pop()
    hard, soft, *targets = (end.name for end in ends)
    wires = before.pages[page].wires
    targets = targets or [target for target, source in wires.items() if source == hard]
    new = fresh_name(diagram.pages[page], "StraightThrough")
    near = targets[0].block if targets else soft.block
    return Batch(
        f"Bypass {PortPath(bridge.hard).block}",
        (
            AddBlock(new, StraightThrough(), _between(diagram, page, hard.block, near), page),
            Connect(hard, PortName(new, "hard"), page),
            Connect(soft, PortName(new, "soft"), page),
            *(Connect(PortName(new, "out"), target, page) for target in targets),
        ),
    )


def _at(diagram: Diagram, page: str, name: str) -> Point:
    return diagram.pages[page].layout.get(name, Point(0.0, 0.0))


def _between(diagram: Diagram, page: str, one: str, other: str) -> Point:
    a, b = _at(diagram, page, one), _at(diagram, page, other)
    return Point((a.x + b.x) / 2, (a.y + b.y) / 2)
