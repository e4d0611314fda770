"""The names that a sentence about a value needs, the first few of each, gathered for all values."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from runtime.calculus.dtypes import is_float
from runtime.engine.flatten import block_of
from runtime.flow.structure.reachability import Kind
from runtime.flow.words.sweeps import Gathering

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from runtime.calculus import Value
    from runtime.flow.structure.searches import Searches
    from runtime.flow.words.states import Cutter
    from runtime.flow.words.sweeps import Table


class Nearby:
    """Variables, losses and cutters behind and ahead of a value; ``MANY`` and one more at most.

    Each question makes one sweep for all values, the first time that it is asked.
    """

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        self._program = searches.program
        self._tables: dict[Hashable, tuple[Table, Sequence[str]]] = {}

    def variables(
        self, value: Value, level: Kind, trained: bool, head: str | None = None
    ) -> list[str]:
        """Variables that gradient of a value comes to, with slots up to ``level`` opened; of those
        that gradient of ``head`` comes to, where one is given.
        """

        def marked() -> dict[Value, str]:
            leaves = self._searches.variables(trained)
            if head is not None:
                reached = self._searches.to_loss(head, Kind.OPEN).cost
                leaves = [leaf for leaf in leaves if leaf in reached]
            return {leaf: str(leaf.owner) for leaf in leaves}

        return self._names((level, trained, head), marked, value, level)

    def integers(self, value: Value) -> list[str]:
        """Variables without a gradient that a value is computed from."""

        def marked() -> dict[Value, str]:
            leaves = self._program.leaves
            paths = [path for path in self._program.sources("variable") if path in leaves]
            return {leaves[p].value: p for p in paths if not is_float(leaves[p].value.dtype)}

        return self._names("integers", marked, value, Kind.NO_RULE)

    def losses(self, value: Value) -> list[str]:
        """The losses of the diagram that read a value."""

        def marked() -> dict[Value, str]:
            heads = self._program.heads()
            return {self._program.ports[head]: block_of(head) for head in reversed(heads)}

        return self._names("losses", marked, value, Kind.NO_RULE, ahead=True)

    def cutters_ahead(self, value: Value, head: str, level: Kind) -> list[Cutter]:
        """The first closed slots met from a loss on the routes to a value it does not come to."""
        opened = self._searches.to_loss(head, Kind.OPEN).cost
        if value in opened:
            return []
        key = head, level
        if key not in self._tables:
            self._tables[key] = self._gathering.cutters_ahead(opened, level), ()
        return self._gathering.cutters(self._tables[key][0].get(value, ()))

    def cutters_behind(self, value: Value, level: Kind, trained: bool) -> list[Cutter]:
        """The first closed slots met from a value on the routes to variables it does not reach."""
        reaches = self._searches.trained if trained else self._searches.frozen
        if value in reaches[Kind.OPEN].cost:
            return []
        key = level, trained
        if key not in self._tables:
            wanted = reaches[level].cost
            self._tables[key] = self._gathering.cutters_behind(wanted, level), ()
        return self._gathering.cutters(self._tables[key][0].get(value, ()))

    @cached_property
    def _gathering(self) -> Gathering:
        return Gathering(self._searches.graph, self._searches.slots)

    def _names(
        self,
        key: Hashable,
        marked: Callable[[], Mapping[Value, str]],
        value: Value,
        level: Kind,
        ahead: bool = False,
    ) -> list[str]:
        if key not in self._tables:
            names = marked()
            places = {leaf: place for place, leaf in enumerate(names)}
            sweep = self._gathering.ahead if ahead else self._gathering.behind
            self._tables[key] = sweep(places, level), [*names.values()]
        table, known = self._tables[key]
        return [known[place] for place in table.get(value, ())]
