"""The programs of one diagram: one for each combination of shapes that runs have asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.runtime.data.rows import PHASES
from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.engine.session.lookup import require_choice
from gradwire.runtime.engine.session.store import shapes_of

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.data.rows import Phase
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.store import Store


class Programs(Collection["Program"]):
    """Lowers a page of a diagram, and lowers it again only for shapes that differ."""

    def __init__(self, diagram: Diagram, page: str) -> None:
        self.base = lower(diagram, {}, page)
        """The program for the shapes that the diagram gives."""
        self._page = page
        self._programs: dict[frozenset[tuple[str, Shape]], Program] = {frozenset(): self.base}
        self._last: tuple[tuple[int, Phase] | None, Program] = None, self.base
        """The last program for the shapes that are set in a store, and for which of these."""

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs.values())

    def __len__(self) -> int:
        return len(self._programs)

    def __contains__(self, program: object) -> bool:
        return program in self._programs.values()

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Training; and validation if there are data sets, and each keeps rows for it."""
        streams = self.base.streams().values()
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

    def of_store(self, diagram: Diagram, store: Store, shapes: Mapping[str, Shape]) -> Program:
        """The program for what is set in a store, and for leaves of these shapes."""
        state = store.shapes_version, store.phase
        if not shapes and self._last[0] == state:
            return self._last[1]
        required = shapes_of(store.assigned) | dict(shapes)
        program = self.of_shapes(diagram, required, store.phase)
        if not shapes:
            self._last = state, program
        return program

    def of_shapes(self, diagram: Diagram, shapes: Mapping[str, Shape], phase: Phase) -> Program:
        """The program in which these leaves have these shapes.

        Other leaves of data sets have the shape that their batches have in the phase.
        """
        streams = self.base.streams() if phase == "validation" else {}
        required = {path: stream.shape(phase) for path, stream in streams.items()} | dict(shapes)
        leaves = self.base.leaves
        key = frozenset(
            (path, shape)
            for path, shape in required.items()
            if path not in leaves or leaves[path].value.shape != shape
        )
        if key not in self._programs:
            self._programs[key] = lower(diagram, required, self._page)
        return self._programs[key]
