"""Unrolls a Scan: a use of its page for each step, and the instances that join the steps.

The Scan ``rnn`` has the steps ``rnn/0``, ``rnn/1``, …. ``rnn/x`` is what it gets at its input x,
and ``rnn/y`` the stack of its output y over the steps, so that they are found as those of a page.
With a condition, ``rnn/y/3`` is what step 3 gives at y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.library.pages import PageInput
from gradwire.blocks.library.pages.joins import (
    Elements,
    Gathered,
    GoesOn,
    Kept,
    SomeElements,
    Stacked,
)
from gradwire.blocks.terms import term_name
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.flat import Flat, FlatLoop, Instance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.blocks.block import Block
    from gradwire.blocks.library.pages import Scan
    from gradwire.blocks.values import PortLiteral
    from gradwire.runtime.diagram.model import PageView, Ports
    from gradwire.runtime.diagram.paths import PortPath, WirePath


class UnrolledStep(NamedTuple):
    """One step: its number, the path of its use of the page, and the wires into that.

    ``like`` has, for each carried input, that of the step before: it keeps its shape and dtype.
    ``stands`` says that it stands for others.
    """

    number: int
    path: InstancePath
    wires: Mapping[str, tuple[WirePath, PortPath]]
    like: Mapping[str, InstancePath]
    stands: bool = False


def unroll(
    flat: Flat, whole: Instance, scan: Scan, page: PageView, ports: Ports
) -> list[UnrolledStep]:
    """The steps of a Scan in the order in which they run; adds what joins them to ``flat``."""
    return _Unrolling(flat, whole, scan, page, ports).run()


def looped(
    flat: Flat, whole: Instance, scan: Scan, page: PageView, ports: Ports, peeled: bool
) -> list[UnrolledStep]:
    """The step of a Scan that stands for all, after the first one if that is ``peeled``; adds what
    enters and leaves the loop to ``flat``.
    """
    return _Looping(flat, whole, scan, page, ports, peeled).run()


class _Unrolling:
    """The state between two steps: the carried values, and whether there is a further step."""

    def __init__(
        self, flat: Flat, whole: Instance, scan: Scan, page: PageView, ports: Ports
    ) -> None:
        self._flat, self._whole, self._scan = flat, whole, scan
        self._page, self._ports = page, ports
        self._carried: dict[str, PortPath] = {}
        """What each carried output gave out last, at first what is carried in."""
        self._runs: PortPath | None = None
        """Whether the next step runs; None for the first if nothing says so."""
        self._before: InstancePath | None = None
        self._rows: dict[str, dict[int, PortPath]] = {}
        """What each step gives at the outputs that are stacked."""
        self._loop = whole.loop
        """The loop that what joins the steps is in."""

    def run(self) -> list[UnrolledStep]:
        """The steps, once everything that joins them is in place."""
        self._flat.scans[self._whole.path] = self._scan
        for name in self._ports.inputs:
            self._enter(name)
        steps = list(map(self._step, self._scan.order()))
        for name in self._ports.outputs:
            self._leave(name)
        return steps

    def _enter(self, name: str) -> None:
        """What the Scan gets at an input: its wire, its literal, or the default of the page."""
        scan, given = self._scan, self._page.blocks[name]
        if name in scan.literals:
            given = type(given)(literals={"x": scan.literals[name]})
        if name in scan.over:
            given = self._elements(given.literals)
        wire = self._whole.wires.get(name)
        entered = self._add(name, given, {} if wire is None else {"x": wire}, ("x",))
        if name in scan.carry:
            self._carried[scan.carry[name]] = entered.port("out")
            if scan.carry[name] == scan.condition:
                self._runs = entered.port("out")

    def _elements(self, literals: Mapping[str, PortLiteral]) -> Elements:
        """What gives the steps their elements."""
        return Elements(steps=self._scan.steps, literals=literals)

    def _step(self, number: int) -> UnrolledStep:
        path = self._whole.path / str(number)
        wires = {name: (path.wire(name), self._source(name, number)) for name in self._ports.inputs}
        for name in self._ports.outputs:
            self._flat.aliases[path.port(name)] = (path / name).port("out")
        like = {name: self._before / name for name in self._scan.carry} if self._before else {}
        self._after(number, path)
        self._before = path
        return UnrolledStep(number, path, wires, like)

    def _source(self, name: str, number: int) -> PortPath:
        """What a step reads at an input."""
        if name in self._scan.carry:
            return self._carried[self._scan.carry[name]]
        return (self._whole.path / name).port(str(number) if name in self._scan.over else "out")

    def _after(self, number: int, path: InstancePath) -> None:
        """Take over what a step gives at its outputs."""
        carried, runs = set(self._scan.carry.values()), self._runs
        for name in self._ports.outputs:
            given = (path / name).port("out")
            if name == self._scan.condition:
                given = self._runs = self._joined(number, name, GoesOn(), x=given, before=runs)
            elif runs is not None:
                before = self._carried.get(name)
                given = self._joined(number, name, Kept(), runs=runs, x=given, before=before)
            if name in carried:
                self._carried[name] = given
            else:
                self._rows.setdefault(name, {})[number] = given

    def _joined(self, number: int, name: str, block: Block, **sources: PortPath | None) -> PortPath:
        """What counts of an output of a step, at ``rnn/y/3``."""
        part = InstancePath.of(name, str(number))
        path = self._whole.path / part
        found = {port: source for port, source in sources.items() if source is not None}
        wires = {port: (path.wire(port), source) for port, source in found.items()}
        return self._add(part, block, wires, tuple(wires)).port("out")

    def _leave(self, name: str) -> None:
        """What the Scan gives out at an output: the last value, or the stack over the steps."""
        path = self._whole.path / name
        source = self._carried.get(name)
        if source is None:
            rows = self._rows.get(name, {})
            terms = {term_name("parts", i): rows[number] for i, number in enumerate(sorted(rows))}
            wires = {term: (path.wire(term), row) for term, row in terms.items()}
            source = self._add(name, Stacked(), wires, tuple(wires)).port("out")
        self._flat.aliases[self._whole.port(name)] = source

    def _add(
        self,
        part: str,
        block: Block,
        wires: dict[str, tuple[WirePath, PortPath]],
        inputs: tuple[str, ...],
    ) -> Instance:
        whole = self._whole
        made = Instance(
            whole.path / part, whole.page, whole.name, block, inputs, wires, part=part,
            loop=self._loop,
        )  # fmt: skip
        self._flat.instances[made.path] = made
        return made


class _Looping(_Unrolling):
    """One step that stands for the others, and the first one if that is peeled.

    What is carried out is called as by the last step, but where that is the one that stands for
    the others as by the Scan: the step has these names already.
    """

    def __init__(
        self, flat: Flat, whole: Instance, scan: Scan, page: PageView, ports: Ports, peeled: bool
    ) -> None:
        super().__init__(flat, whole, scan, page, ports)
        first, *_, self._last = scan.order()
        self._first = first if peeled else None
        self._standing = 1 if self._first == 0 else 0

    def run(self) -> list[UnrolledStep]:
        """The steps, once what enters and leaves is in place."""
        scan, whole, ports = self._scan, self._whole, self._ports
        for name in ports.inputs:
            self._enter(name)
        peeled, carried = [], {whole.path / name: output for name, output in scan.carry.items()}
        if self._first is not None:
            peeled, carried = [self._step(self._first)], self._crossed()
        entering = [self._source(name, self._standing) for name in ports.inputs]
        entering += [path.port("out") for path in carried]
        self._loop = whole.path
        step = self._step(self._standing)._replace(stands=True)
        self._loop = whole.loop
        given = {
            name: self._carried.get(name) or self._rows[name][self._standing]
            for name in ports.outputs
        }
        # All of the step comes before what it gives out.
        before = *entering, *given.values()
        leaving = {name: self._left(name, port, before) for name, port in given.items()}
        rows = [whole.path / name for name in scan.over]
        self._flat.loops[whole.path] = FlatLoop(
            scan, self._standing, self._first, carried, rows, leaving
        )
        return [*peeled, step]

    def _elements(self, literals: Mapping[str, PortLiteral]) -> Elements:
        first = () if self._first is None else (self._first,)
        numbers = (*first, self._standing)
        return SomeElements(steps=self._scan.steps, literals=literals, numbers=numbers)

    def _crossed(self) -> dict[InstancePath, str]:
        """What carries into the loop what the first step gave: the output that it is of."""
        found = {}
        given = dict(self._carried)
        if self._runs is not None:
            given[self._scan.condition] = self._runs
        for output, source in given.items():
            part = InstancePath.of(output, "carried")
            path = self._whole.path / part
            self._add(part, PageInput(), {"x": (path.wire("x"), source)}, ("x",))
            found[path] = output
            if output in self._carried:
                self._carried[output] = path.port("out")
            if output == self._scan.condition:
                self._runs = path.port("out")
        return found

    def _left(self, name: str, given: PortPath, before: tuple[PortPath, ...]) -> InstancePath:
        """What gives out an output, of which the step gives this."""
        scan, whole = self._scan, self._whole
        is_carried = name in scan.carry.values()
        part = InstancePath(name)
        if is_carried and self._last != self._standing:
            last = str(self._last)
            part = InstancePath.of(*((name, last) if scan.condition else (last, name)))
        path = whole.path / part
        wires = {"x": (path.wire("x"), given)}
        if not is_carried and self._first is not None:
            wires["first"] = (path.wire("first"), self._rows[name][self._first])
        block = Gathered(steps=None if is_carried else scan.steps)
        self._add(part, block, wires, tuple(wires)).after = before
        self._flat.aliases[whole.port(name)] = path.port("out")
        return path
