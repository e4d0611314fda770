"""The programs of one diagram: one for each combination of shapes that runs have asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.runtime.data.rows import PHASES
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.engine.lowering import lower, lower_loops
from gradwire.runtime.engine.session.execution import shapes_of
from gradwire.runtime.engine.session.lookup import require_choice
from gradwire.runtime.engine.session.run import LazyResults

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape, Source
    from gradwire.runtime.data.rows import Phase, Stream
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.flat import Loops
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.execution import ValueStore


class Programs(Collection["Program"]):
    """Lowers a page of a diagram, and lowers it again only for shapes that differ.

    Scans that are long by ``loops`` are loops as long as nobody asks for their steps; with None,
    none is.
    """

    def __init__(self, diagram: Diagram, page: str, loops: Loops | None) -> None:
        self.diagram = diagram
        self._page = page
        self._programs: dict[frozenset[tuple[str, Shape]], Program] = {}
        self._last: dict[bool, tuple[tuple[int, Phase], Program]] = {}
        """The last programs for the shapes that are set in a store, and for which of these."""
        self._loops = loops
        self._rolled: dict[frozenset[tuple[str, Shape]], Program | None] = {}
        self.first = self._first()
        """The program for the shapes that the diagram gives, whose long Scans may be loops."""

    def _first(self) -> Program:
        found = None if self._loops is None else self._looped({})
        self._rolled = {frozenset(): found}
        return self.base if found is None else found

    def _looped(self, shapes: Mapping[str, Shape]) -> Program | None:
        assert self._loops is not None  # or nobody asks for loops
        return lower_loops(self.diagram, shapes, self._page, self._loops)

    @cached_property
    def base(self) -> Program:
        """The program for the shapes that the diagram gives, with all steps."""
        found = self._programs[frozenset()] = lower(self.diagram, {}, self._page)
        return found

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs.values())

    def __len__(self) -> int:
        return len(self._programs)

    def __contains__(self, program: object) -> bool:
        return program in self._programs.values()

    def rebound(self, diagram: Diagram) -> None:
        """All programs that ``self`` iterates over are those of this diagram."""
        self.diagram = diagram
        self._last.clear()
        if self.first.flat.loops:
            self.first = self._first()

    def canonical(self, name: str) -> str:
        """See ``Flat.canonical``."""
        flat = self.first.flat
        found = flat.canonical(name)
        if flat.loops and PortPath(found).block not in flat.instances:
            return self.base.flat.canonical(name)
        return found

    def fed(self) -> Mapping[str, Source | Stream]:
        """Everything that may be fed or set, by path; that of the steps of loops once it is asked
        for.
        """
        known = self.first.fed()
        if not self.first.flat.loops:
            return known
        return LazyResults(lambda: self.base.fed(), known, lambda: self.base.fed())

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Training; and validation if there are data sets, and each keeps rows for it."""
        streams = self.first.streams().values()
        every = bool(streams) and all(stream.rows.validation_count for stream in streams)
        return PHASES if every else PHASES[:1]

    def require_phase(self, phase: str) -> None:
        """Raise RunError unless the phase is one of ``phases``."""
        require_choice("phase", phase, PHASES)
        if phase not in self.phases:
            raise RunError(
                "There is no row for validation.",
                expected="a fraction for validation in every Dataset",
                next_step="Set validation of each Dataset block to 0.2, for example.",
            )

    def of_store(
        self, store: ValueStore, shapes: Mapping[str, Shape], rolled: bool = False
    ) -> Program:
        """The program for what is set in a store, and for leaves of these shapes.

        With ``rolled``, long Scans are loops where nothing is set in a single step.
        """
        state = store.shapes_version, store.phase
        if not shapes and rolled in self._last and self._last[rolled][0] == state:
            return self._last[rolled][1]
        required = shapes_of(store.assigned) | dict(shapes)
        program = self.of_shapes(required, store.phase, rolled)
        if not shapes:
            self._last[rolled] = state, program
        return program

    def of_shapes(self, shapes: Mapping[str, Shape], phase: Phase, rolled: bool = False) -> Program:
        """The program in which these leaves have these shapes.

        Other leaves of data sets have the shape that their batches have in the phase.
        """
        rolled = rolled and bool(self.first.flat.loops) and not any(map(self._is_of_step, shapes))
        first = self.first if rolled else self.base
        streams = first.streams() if phase == "validation" else {}
        required = {path: stream.shape(phase) for path, stream in streams.items()} | dict(shapes)
        leaves = first.leaves
        key = frozenset(
            (path, shape)
            for path, shape in required.items()
            if path not in leaves or leaves[path].value.shape != shape
        )
        if rolled:
            if key not in self._rolled:
                self._rolled[key] = self._looped(required)
            found = self._rolled[key]
            return self.of_shapes(shapes, phase) if found is None else found
        if key not in self._programs:
            self._programs[key] = lower(self.diagram, required, self._page)
        return self._programs[key]

    def _is_of_step(self, path: str) -> bool:
        """Whether a leaf belongs to one step of a loop, and not to all."""
        flat = self.first.flat
        if not any(InstancePath(path).is_inside(loop) for loop in flat.loops):
            return False
        leaf = flat.instances.get(PortPath(path).block)
        is_shared = leaf is not None and leaf.path in self.first.sources("variable")
        return leaf is None or (leaf.loop is not None and not is_shared)
