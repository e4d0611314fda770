"""The pictures of all views of a diagram, from the values of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.views import Field, Histogram, Image, Plot, Scatter, ViewBlock
from gradwire.runtime.views.field import Fields
from gradwire.runtime.views.histogram import histogram
from gradwire.runtime.views.image import image
from gradwire.runtime.views.pictures import NoPicture, Picture
from gradwire.runtime.views.plot import plot
from gradwire.runtime.views.scatter import scatter

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.engine.flat import Instance
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.views.plot import RecordedNumbers


class Views:
    """Draws the views of diagrams. Keeps what Fields need, so that new numbers are drawn fast."""

    def __init__(self) -> None:
        self._fields = Fields()

    def pictures(
        self,
        diagram: Diagram,
        program: Program,
        values: Mapping[str, Array],
        step: int = 0,
        history: RecordedNumbers | None = None,
    ) -> dict[InstancePath, Picture]:
        """A picture of each view, by path.

        ``values`` are those of a run of ``program``, which is that of ``diagram``, by port;
        ``step`` is the number of training steps before it, ``history`` what training has recorded.
        """
        return {
            instance.path: self._picture(instance, diagram, program, values, step, history)
            for instance in views_of(program)
        }

    def _picture(
        self,
        instance: Instance,
        diagram: Diagram,
        program: Program,
        values: Mapping[str, Array],
        step: int,
        history: RecordedNumbers | None,
    ) -> Picture:
        block, ports = instance.block, ports_of(program, instance)
        given = {port: _value(instance, port, at, values) for port, at in ports.items()}
        unknown = [port for port, at in ports.items() if at is not None and given[port] is None]
        if unknown and not isinstance(block, Plot):
            return NoPicture(summary="not computed")
        try:
            match block:
                case Plot():
                    names = [*ports]
                    return plot(
                        block, [ports[n] for n in names], [given[n] for n in names], step, history
                    )
                case Scatter():
                    Scatter.check(**given)
                    return scatter(block, **given)
                case Image():
                    return image(block, **given)
                case Histogram():
                    return histogram(block, **given)
                case Field():
                    Scatter.check(**given)
                    return self._fields.picture(block, diagram, program, values, step, **given)
        except GradwireError as error:
            return NoPicture(summary=error.what)
        return NoPicture(summary="has no picture")


def views_of(program: Program) -> list[Instance]:
    """The instances of views, in the order of the document."""
    return program.derived(
        "views",
        lambda: [i for i in program.instances.values() if isinstance(i.block, ViewBlock)],
    )


def plotted_ports(program: Program) -> tuple[PortPath, ...]:
    """The ports that Plot blocks draw over steps: training records them, as it does losses."""
    found: dict[PortPath, None] = {}
    for instance in views_of(program):
        if isinstance(instance.block, Plot):
            found |= dict.fromkeys(at for at in ports_of(program, instance).values() if at)
    return tuple(port for port in found if port in program.ports)


def ports_of(program: Program, instance: Instance) -> dict[str, PortPath | None]:
    """The port that each input of a block gets its value from; None for a literal or nothing."""
    flat = program.flat
    return {
        port: flat.source(instance.wires[port][1]) if port in instance.wires else None
        for port in instance.inputs
    }


def _value(
    instance: Instance, port: str, at: PortPath | None, values: Mapping[str, Array]
) -> Array | None:
    if at is not None:
        return values.get(at)
    literal = instance.block.literals.get(port)
    return None if literal is None else literal.array
