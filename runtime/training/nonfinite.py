"""What the doctor says of the pass in which a training diverged, and a diagram that repeats it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.errors import GradwireError, Location
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.blocks.names import fresh_names
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath, PortName, PortPath
from gradwire.runtime.flow import diagnose

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram, Page
    from gradwire.runtime.diagram.pages import Address
    from gradwire.runtime.engine import Session
    from gradwire.runtime.training.records import DivergedError


def explain(error: DivergedError, session: Session, losses: Sequence[PortPath]) -> None:
    """Add what the doctor says, and the diagram; the session must be as it was in the pass."""
    with suppress(GradwireError):
        found = diagnose(session, losses, contracts=())
        error.findings = tuple(finding for finding in found if finding.complaint.is_error)
    if error.findings:
        first = error.findings[0]
        error.what = f"{error.what} {first.sentence}"
        block = first.culprit or PortPath(first.key).block
        if block in session.program.instances:
            error.location = Location(session.program.instances[InstancePath(block)].page, block)
    error.what = f"Iteration {error.iteration}: {error.what}"
    with suppress(GradwireError):
        error.diagram = with_inputs(session)


def with_inputs(session: Session) -> Diagram:
    """The diagram with all numbers of the session's current step: those of its variables, and
    constants in place of inputs that were set, of random numbers and of rows of data.

    What several uses of a page draw differently stays as it is.
    """
    diagram, program = session.diagram_with_values(), session.program
    ports: dict[Address, list[InstancePath]] = {}
    for path in _fed(session):
        address = resolve(diagram, path)
        if address is not None and not (address.owned or address.part):
            ports.setdefault(address, []).append(path)
    wanted = [
        path.port(name)
        for paths in ports.values()
        for path in paths
        for name in program.block(path).output_names()
    ]
    values = session.run(ports=wanted).values if wanted else {}
    for address, paths in ports.items():
        names = program.block(paths[0]).output_names()
        found = [{name: values[path.port(name)] for name in names} for path in paths]
        if all(_same(found[0], other) for other in found[1:]):
            page = _with_constants(diagram.pages[address.page], address.name, found[0])
            diagram = diagram.with_page(address.page, page)
    return diagram


def _fed(session: Session) -> list[InstancePath]:
    """The blocks without an input that matters whose numbers the diagram does not have."""
    program = session.program
    drawn = program.drawn()
    assigned = session.resident().assigned()
    return [
        path
        for path, instance in program.instances.items()
        if path in drawn
        or (
            path in assigned
            and isinstance(instance.block, Source)
            and not isinstance(instance.block, Variable)
        )
    ]


def _same(one: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    return all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def _with_constants(page: Page, name: str, values: Mapping[str, Array]) -> Page:
    """The page with a constant in place of each output of a block; the first keeps its name."""
    fresh = fresh_names(f"{name}_", page.blocks)
    names = {port: name if i == 0 else next(fresh) for i, port in enumerate(values)}
    constants = {
        names[port]: Constant(value=Tensor(value), dtype=value.dtype.name)
        for port, value in values.items()
    }
    out = Constant.outputs[0]
    wires = {
        target: PortName(names[source.port], out) if source.block == name else source
        for target, source in page.wires.items()
        if target.block != name
    }
    return replace(page, blocks={**page.blocks, **constants}, wires=wires)
