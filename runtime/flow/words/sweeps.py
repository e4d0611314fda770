"""What lies behind and ahead of every value, the first few of each: gathered in one sweep for all.

Sets travel along the edges and are cut to ``MANY`` and one more, so that a sweep takes linear
time whatever the diagram: one more tells that there are others.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, TypeAlias

from runtime.calculus.dtypes import is_float
from runtime.flow.lazy import MANY

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.flow.structure.reachability import Graph, Kind
    from runtime.flow.structure.slots import Slots
    from runtime.flow.words.states import Cutter

Found: TypeAlias = tuple[int, ...]
Table: TypeAlias = Mapping["Value", Found]


class Gathering:
    """Sweeps over the edges of a graph. What is found is numbered; sets are in that order."""

    def __init__(self, graph: Graph, slots: Slots) -> None:
        self._graph = graph
        self._values = list(graph.inputs)
        closed = [edge for edges in graph.inputs.values() for edge in edges if edge.kind]
        cutters = [slots.cutter(edge) for edge in closed]
        self._cutters = list(dict.fromkeys(cutters))
        places = {cutter: (place,) for place, cutter in enumerate(self._cutters)}
        self._places = {e: places[c] for e, c in zip(closed, cutters, strict=True)}

    def cutters(self, found: Found) -> list[Cutter]:
        """What a set of ``cutters_ahead`` or ``cutters_behind`` stands for, in trace order."""
        return [self._cutters[place] for place in found]

    def behind(self, marked: Mapping[Value, int], level: Kind) -> Table:
        """The marked values that gradient of a value comes to, slots up to ``level`` opened."""
        table: dict[Value, Found] = {value: (n,) for value, n in marked.items()}
        for value in self._values:
            found = table.get(value, ())
            for edge in self._graph.inputs[value]:
                if edge.kind <= level and (further := table.get(edge.source)):
                    found = _joined(found, further) if found else further
            if found:
                table[value] = found
        return table

    def ahead(self, marked: Mapping[Value, int], level: Kind) -> Table:
        """The marked values whose gradient comes to a value, slots up to ``level`` opened."""
        table: dict[Value, Found] = {value: (n,) for value, n in marked.items()}
        for value in reversed(self._values):
            found = table.get(value, ())
            for edge in self._graph.readers.get(value, ()):
                if edge.kind <= level and (further := table.get(edge.value)):
                    found = _joined(found, further) if found else further
            if found:
                table[value] = found
        return table

    def cutters_behind(self, wanted: Container[Value], level: Kind) -> Table:
        """The first closed slots on the routes from a value to the wanted ones behind it.

        ``wanted`` has all values from which one is reached with slots up to ``level`` opened.
        """
        table: dict[Value, Found] = {}
        for value in self._values:
            found: Found = ()
            for edge in self._graph.inputs[value]:
                source = edge.source
                if edge.kind > level or source not in wanted:
                    continue
                further = table.get(source, ())
                if edge.kind and (is_float(source.dtype) or not further):
                    further = self._places[edge]
                found = _joined(found, further)
            if found:
                table[value] = found
        return table

    def cutters_ahead(self, opened: Container[Value], level: Kind) -> Table:
        """The first closed slots from the losses on the routes to a value.

        ``opened`` are the values that gradient of the losses comes to. Where gradient leaves the
        floats and comes back to them it is cut where it left them; ``entries`` are the slots
        where it would come back, met on the way to an integer.
        """
        table: dict[Value, Found] = {}
        entries: dict[Value, Found] = {}
        for value in reversed(self._values):
            whole = not is_float(value.dtype)
            found: Found = ()
            entered: Found = ()
            for edge in self._graph.readers.get(value, ()):
                if edge.kind > level:
                    continue
                found = _joined(found, table.get(edge.value, ()))
                if not edge.kind:
                    entered = _joined(entered, entries.get(edge.value, ()))
                elif edge.value in opened or entries.get(edge.value):
                    if whole:
                        entered = _joined(entered, self._places[edge])
                    else:
                        found = _joined(found, self._places[edge])
            if entered:
                entries[value] = entered
            if found:
                table[value] = found
        return table | {value: _joined(table.get(value, ()), e) for value, e in entries.items()}


def _joined(a: Found, b: Found) -> Found:
    """Both, in order and cut; one of them itself where it holds the other, which saves memory."""
    if not b or a is b:
        return a
    if not a:
        return b
    if len(a) > MANY and b[0] > a[-1]:
        return a
    both = {*a, *b}
    if len(both) == len(a):
        return a
    if len(both) == len(b):
        return b
    return tuple(sorted(both)[: MANY + 1])
