"""Where a diagram is known to differ from the program that it comes from.

Of a gradient that differs from some port on, all that gradient comes to from there is in doubt; of
a value, all gradients of the losses that depend on it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.fingerprints import fingerprints, structure_of
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.flow.structure.reachability import Gate
from gradwire.runtime.flow.words.disagreement import disagreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.comparison import Comparison, Disagreement
    from gradwire.runtime.engine.flat import Flat
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.structure.reachability import FlowGraph


def is_current(program: Program, comparison: Comparison) -> bool:
    """Whether blocks and wires are those that were compared, up to their numbers."""
    found = program.derived(
        ("structure", comparison.losses), lambda: _structure(program.flat, comparison)
    )
    return found == comparison.structure


def has_its_numbers(program: Program, comparison: Comparison) -> bool:
    """Whether the numbers of the diagram are those that were compared, if any were."""
    if not (comparison.numbers or comparison.values):
        return True
    found = program.of_numbers(
        ("values", comparison.losses),
        lambda: fingerprints(program.flat, map(PortPath, comparison.losses)).values,
    )
    return found == comparison.values


def sentence(program: Program, about: Disagreement) -> str:
    """What is said of a disagreement that the program's diagram has."""
    comparison = program.flat.comparison
    assert comparison is not None
    return disagreement(comparison.system, about, has_its_numbers(program, comparison))


def disagreements(program: Program) -> tuple[Disagreement, ...]:
    """The disagreements that its diagram has and that still hold."""
    comparison = program.flat.comparison
    if comparison is None or not comparison.disagreements:
        return ()
    return comparison.disagreements if is_current(program, comparison) else ()


def told(program: Program) -> list[tuple[str, list[Disagreement]]]:
    """What is said of each place from which on the program that a diagram comes from differs, and
    all disagreements that begin there.
    """
    alike: dict[tuple[str, ...], list[Disagreement]] = {}
    for each in disagreements(program):
        alike.setdefault((each.of, each.what, each.cause or each.since), []).append(each)
    return [(sentence(program, several[0]), several) for several in alike.values()]


def carried(program: Program, after: Diagram) -> Diagram:
    """A diagram that a trial has made of a program's, with the disagreements that this has: no
    trial settles them.
    """
    comparison = program.flat.comparison
    if comparison is None or not disagreements(program):
        return after
    structure = _structure(flatten(after), comparison)
    return replace(after, comparison=comparison.model_copy(update={"structure": structure}))


def _structure(flat: Flat, comparison: Comparison) -> str:
    return structure_of(flat, map(PortPath, comparison.losses))


class Doubts:
    """What is in doubt in a program, by the comparison that its diagram has.

    Nothing is where there was none, or blocks or wires that it depends on have changed since.
    """

    def __init__(self, program: Program, graph: FlowGraph) -> None:
        self._program = program
        self._graph = graph

    def __bool__(self) -> bool:
        return bool(self._found)

    def about(self, value: Value | None, losses: tuple[PortPath, ...]) -> Disagreement | None:
        """The disagreement that makes the gradient of any of these losses at a value doubtful."""
        if value is None or not self._found:
            return None
        places = (self._found.get(loss, {}).get(value.index) for loss in losses)
        return next((found for found in places if found is not None), None)

    def doubtful(self, losses: tuple[PortPath, ...]) -> Mapping[int, Disagreement]:
        """The values whose gradients of any of these losses are in doubt, by place."""
        found: dict[int, Disagreement] = {}
        for loss in reversed(losses):
            found |= self._found.get(loss, {})
        return found

    @cached_property
    def _found(self) -> Mapping[PortPath, Mapping[int, Disagreement]]:
        """By loss and place."""
        found: dict[PortPath, dict[int, Disagreement]] = {}
        for each in disagreements(self._program):
            loss = self._program.flat.source(PortPath(each.of))
            known = found.setdefault(loss, {})
            is_located = each.what == "gradient" and each.since
            since = each.since if is_located else each.of
            starts = [*self._from(PortPath(each.at)), *self._from(PortPath(since))]
            if any(start.index not in known for start in starts):
                for place in self._graph.backward(starts, Gate.NO_RULE).via:
                    known.setdefault(place, each)
        return found

    def _from(self, port: PortPath) -> Iterator[Value]:
        """The value of a port, and those of the wires that leave it: which of them differs is not
        known.
        """
        source = self._program.flat.source(port)
        if source in self._program.ports:
            yield self._program.ports[source]
        yield from self._leaving.get(source, ())

    @cached_property
    def _leaving(self) -> Mapping[PortPath, Sequence[Value]]:
        program = self._program
        found: dict[PortPath, list[Value]] = {}
        for wire, source in program.wire_sources.items():
            if wire in program.wires:
                found.setdefault(program.flat.source(source), []).append(program.wires[wire])
        return found
