"""The variables, losses and cutters around every value: one sweep of the graph answers for all.

Sets travel along the edges and are cut to ``MANY`` and one more, so that a sweep takes linear
time whatever the diagram; the one more shows that there are others.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.structure.reachability import Gate

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.flow.structure.reachability import FlowGraph
    from gradwire.runtime.flow.structure.searches import LossSearches, Searches
    from gradwire.runtime.flow.structure.slots import ClosedSlots
    from gradwire.runtime.flow.words.states import Cutter

Found: TypeAlias = tuple[int, ...]
Table: TypeAlias = Sequence[Found]
"""What is found of each value of the forward part, by its place in the trace."""


class Sweeps:
    """Sweeps over the edges of a graph; findings are numbered, and sets sorted by number."""

    def __init__(self, graph: FlowGraph, slots: ClosedSlots) -> None:
        self._graph = graph
        closed = [edge for edges in graph.gated.values() for edge in edges if edge.gate]
        cutters = [slots.cutter(edge) for edge in closed]
        self._cutters = list(dict.fromkeys(cutters))
        places = {cutter: (place,) for place, cutter in enumerate(self._cutters)}
        self._places = {e: places[c] for e, c in zip(closed, cutters, strict=True)}

    def cutters(self, found: Found) -> list[Cutter]:
        """The cutters that a set of numbers stands for, in trace order."""
        return [self._cutters[place] for place in found]

    def behind(self, marked: Mapping[int, Found], level: Gate) -> Table:
        """The marked values that a value's gradient reaches with slots up to ``level`` opened."""
        table, gated = self._table(marked), self._graph.gated
        for place, sources in enumerate(self._graph.sources):
            if level and place in gated:
                edges = gated[place]
                sources = tuple(edge.source.index for edge in edges if edge.gate <= level)
            found = table[place]
            for source in sources:
                if further := table[source]:
                    found = _joined(found, further) if found else further
            table[place] = found
        return table

    def ahead(self, marked: Mapping[int, Found], level: Gate) -> Table:
        """The marked values whose gradient reaches a value with slots up to ``level`` opened."""
        table, gated = self._table(marked), self._graph.gated_readers
        for place in range(len(table) - 1, -1, -1):
            readers = self._graph.readers[place]
            if level and place in gated:
                edges = gated[place]
                readers = tuple(edge.value.index for edge in edges if edge.gate <= level)
            found = table[place]
            for reader in readers:
                if further := table[reader]:
                    found = _joined(found, further) if found else further
            table[place] = found
        return table

    def _table(self, marked: Mapping[int, Found]) -> list[Found]:
        table: list[Found] = [()] * len(self._graph.values)
        for place, found in marked.items():
            table[place] = found
        return table

    def cutters_behind(self, wanted: Container[int], level: Gate) -> Table:
        """The first closed slots on the routes from a value to the wanted ones behind it.

        ``wanted`` has all values that reach one with slots up to ``level`` opened.
        """
        table, gated = self._table({}), self._graph.gated
        for place, sources in enumerate(self._graph.sources):
            found: Found = ()
            if place not in gated:
                for source in sources:
                    if source in wanted:
                        found = _joined(found, table[source])
            for edge in gated.get(place, ()):
                source = edge.source.index
                if edge.gate > level or source not in wanted:
                    continue
                further = table[source]
                if edge.gate and (is_float(edge.source.dtype) or not further):
                    further = self._places[edge]
                found = _joined(found, further)
            table[place] = found
        return table

    def cutters_ahead(
        self, opened: Mapping[int, int], owners: Mapping[int, int], level: Gate
    ) -> Table:
        """The first closed slots from the losses on the routes to a value.

        ``opened`` are the values that the losses' gradient reaches, ``owners`` those that it
        reaches with slots up to ``level`` opened, each with what it belongs to: routes do not lead
        from one owner to another. A gradient that leaves the floats and returns to them is cut
        where it left; ``entries`` are the slots where it would return, met on the way to an
        integer.
        """
        table, gated = self._table({}), self._graph.gated_readers
        entries: dict[int, Found] = {}
        for place in sorted(owners, reverse=True):
            owner = owners[place]
            found: Found = ()
            entered: Found = ()
            if place not in gated:
                for reader in self._graph.readers[place]:
                    if owners.get(reader) == owner:
                        found = _joined(found, table[reader])
                        entered = _joined(entered, entries.get(reader, ()))
            for edge in gated.get(place, ()):
                reader = edge.value.index
                if edge.gate > level or owners.get(reader) != owner:
                    continue
                found = _joined(found, table[reader])
                if not edge.gate:
                    entered = _joined(entered, entries.get(reader, ()))
                elif opened.get(reader) == owner or entries.get(reader):
                    if is_float(edge.source.dtype):
                        found = _joined(found, self._places[edge])
                    else:
                        entered = _joined(entered, self._places[edge])
            if entered:
                entries[place] = entered
            table[place] = found
        for place, entered in entries.items():
            table[place] = _joined(table[place], entered)
        return table


class Nearby:
    """Variables, losses and cutters behind and ahead of a value, at most ``MANY`` + 1 of each.

    The first call of a kind sweeps the graph for all values at once.
    """

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        self._program = searches.program
        self._tables: dict[Hashable, tuple[Table, Sequence[str]]] = {}

    def variables(
        self, value: Value, level: Gate, trained: bool, head: PortPath | None = None
    ) -> list[str]:
        """Variables that a value's gradient reaches with slots up to ``level`` opened; with a
        ``head``, only those that its gradient reaches.
        """

        def marked() -> dict[Value, str]:
            leaves = self._searches.variables(trained)
            if head is not None:
                reached = self._searches.from_loss(head).reach(Gate.OPEN)
                leaves = [leaf for leaf in leaves if leaf in reached]
            return {leaf: str(leaf.owner) for leaf in leaves}

        return self._names((level, trained, head), marked, value, level)

    def heads(self, losses: LossSearches, value: Value, level: Gate) -> list[PortPath]:
        """The first of the losses whose gradient reaches a value with slots up to ``level``
        opened.
        """
        key = losses, level
        if key not in self._tables:
            self._tables[key] = self._sweeps.ahead(losses.marks(), level), ()
        return [losses.heads[place] for place in self._tables[key][0][value.index]]

    def integers(self, value: Value) -> list[str]:
        """Integer and boolean variables upstream of a value; they have no gradient."""

        def marked() -> dict[Value, str]:
            leaves = self._program.leaves
            paths = [path for path in self._program.sources("variable") if path in leaves]
            return {leaves[p].value: p for p in paths if not is_float(leaves[p].value.dtype)}

        return self._names("integers", marked, value, Gate.NO_RULE)

    def losses(self, value: Value) -> list[str]:
        """The losses of the diagram that depend on a value."""

        def marked() -> dict[Value, str]:
            heads = self._program.heads()
            return {self._program.ports[head]: head.block for head in reversed(heads)}

        return self._names("losses", marked, value, Gate.NO_RULE, ahead=True)

    def cutters_ahead(
        self, losses: LossSearches, value: Value, head: PortPath, level: Gate
    ) -> list[Cutter]:
        """The first closed slots from a loss on the routes to a value that it does not reach."""
        if losses.first(value, Gate.OPEN) == head:
            return []
        key = "cutters ahead", losses, level
        if key not in self._tables:
            opened, owners = losses.owners(Gate.OPEN), losses.owners(level)
            self._tables[key] = self._sweeps.cutters_ahead(opened, owners, level), ()
        return self._sweeps.cutters(self._tables[key][0][value.index])

    def cutters_downstream(self, losses: LossSearches, value: Value) -> list[Cutter]:
        """The first closed slots on the routes to a value from all losses that do not reach it."""
        key = "cutters downstream", losses
        if key not in self._tables:
            opened, reached = (losses.reach(g).via for g in (Gate.OPEN, Gate.NO_RULE))
            of_all = dict.fromkeys(opened, 0), dict.fromkeys(reached, 0)
            self._tables[key] = self._sweeps.cutters_ahead(*of_all, Gate.NO_RULE), ()
        return self._sweeps.cutters(self._tables[key][0][value.index])

    def cutters_behind(self, value: Value, level: Gate, trained: bool) -> list[Cutter]:
        """The first closed slots from a value on the routes to variables that it does not reach."""
        reaches = self._searches.trained if trained else self._searches.frozen
        if value in reaches[Gate.OPEN]:
            return []
        key = level, trained
        if key not in self._tables:
            wanted = reaches[level].via
            self._tables[key] = self._sweeps.cutters_behind(wanted, level), ()
        return self._sweeps.cutters(self._tables[key][0][value.index])

    @cached_property
    def _sweeps(self) -> Sweeps:
        return Sweeps(self._searches.graph, self._searches.slots)

    def _names(
        self,
        key: Hashable,
        marked: Callable[[], Mapping[Value, str]],
        value: Value,
        level: Gate,
        ahead: bool = False,
    ) -> list[str]:
        if key not in self._tables:
            names = marked()
            places = {leaf.index: (number,) for number, leaf in enumerate(names)}
            sweep = self._sweeps.ahead if ahead else self._sweeps.behind
            self._tables[key] = sweep(places, level), [*names.values()]
        table, known = self._tables[key]
        return [known[number] for number in table[value.index]]


def _joined(a: Found, b: Found) -> Found:
    """The union, sorted and truncated; one of the two itself if it contains the other."""
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
