"""What a result says of the wires of a scene: the state, the width and the words of each lane."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.canvas.paint.lanes import lane_width
from app.canvas.state.codes import CODES, NOT_READ, STATE_OF
from app.canvas.state.formatting import number, power_of_ten
from runtime.flow import State
from runtime.flow.lazy import MANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.canvas.scene.geometry import Floats, Ints, Scene
    from app.evaluation.result import Result
    from runtime.flow import Verdict


_UNSEEN = (NOT_READ, CODES[State.NOTHING_TO_TRAIN])
_SHARED = (NOT_READ, CODES[State.OFF_ROUTE], CODES[State.FROZEN], CODES[State.UNKNOWN])


class Strand:
    """One lane beside each wire of ``scene``, inside the page used at the path ``prefix``.

    ``name`` is that of the loss where several strands are shown.
    """

    def __init__(
        self, scene: Scene, result: Result | None, prefix: str, *, stale: bool, name: str = ""
    ) -> None:
        self.name = name
        self._keys = [prefix + key for key in scene.wire_keys]
        self._result = result
        self._prefix = prefix
        self._origins = frozenset() if result is None else result.badges.origins
        self._asked: set[str] = set()
        self._cutting: set[str] = set()
        self.codes: NDArray[np.int8]
        """State of each wire (m,), see :data:`app.canvas.state.codes.CODES`."""
        self.widths: Floats
        """Width of each wire's lane (m,), px at 100 %."""
        self._read(stale)
        self.shown: NDArray[np.int8] = self.codes
        """Codes as they are drawn: see :func:`side_by_side`."""
        self.places: Ints = np.zeros(len(self.codes), np.int32)
        """How many lanes lie between this one and its wire (m,)."""
        self.shared = np.zeros(len(self.codes), bool)
        """Wires on which this lane speaks for all strands (m,)."""

    def mark(self, wire: int, *, in_full: bool = False) -> str:
        """The words beside a lane: ``0``, ``37 %``, ``▽ 10⁻⁸``, ``▲ 10⁵``, ``NaN``, or none.

        Before them, of a wire with a tree, how many of its leaves carry: ``1/4``. ``in_full``,
        the rms of a gradient that needs no warning, too.
        """
        if self._result is None:
            return ""
        words, leaves = self._size(wire, self._result, in_full), self.leaves(wire)
        return words if leaves is None else f"{leaves[0]}/{leaves[1]} {words}".rstrip()

    def leaves(self, wire: int) -> tuple[int, int] | None:
        """How many leaves of a wire's tree carry gradient, of how many; None for a bare array."""
        if self._result is None:
            return None
        return self._result.badges.leaves.get(self._result.loss, {}).get(self._keys[wire])

    def _size(self, wire: int, result: Result, in_full: bool) -> str:
        state, key = STATE_OF.get(int(self.codes[wire])), self._keys[wire]
        norm, share = result.norms.get(key), result.zeros.get(key)
        if state is not None and state.row.label:
            return state.row.label_of(
                rms=power_of_ten(norm) if norm is not None and math.isfinite(norm) else "",
                zeros="" if share is None else f"{100.0 * share:.0f} %",
            )
        return f"rms {number(norm, 3)}" if in_full and norm is not None else ""

    def sentence(self, wire: int) -> str:
        """Why the wire is in its state; with the loss where several are shown."""
        verdict = self._verdict(wire)
        told = "" if verdict is None else verdict.sentence
        return f"{self.name}: {told}" if self.name and told else told

    def is_origin(self, wire: int) -> bool:
        """A NaN or infinity is made where this wire ends."""
        known = self._result is not None and self.codes[wire] == CODES[State.NONFINITE]
        return known and self._keys[wire] in self._origins

    def cut(self, wire: int, until: float = math.inf) -> bool | None:
        """Whether this wire ends in a slot that cuts gradient off.

        None where that is not known yet and the clock (``perf_counter``) is past ``until``: a
        verdict takes a walk through the diagram.
        """
        key = self._keys[wire]
        if key in self._cutting:
            return True
        if key in self._asked:
            return False
        if time.perf_counter() > until:
            return None
        verdict = self._verdict(wire)
        self._asked.add(key)
        if verdict is not None:  # its cutters cut themselves off, too
            nearest = verdict.cutters[:MANY]
            self._cutting.update(f"{cutter.block}.{cutter.port}" for cutter in nearest)
        return key in self._cutting

    def cutters(self, wire: int) -> tuple[str, ...]:
        """The blocks that cut gradient off a wire, as they are called on this page."""
        verdict = self._verdict(wire)
        blocks = () if verdict is None else (cutter.block for cutter in verdict.cutters)
        return tuple(dict.fromkeys(block.removeprefix(self._prefix) for block in blocks))

    def _verdict(self, wire: int) -> Verdict | None:
        """What the result says of a wire; None of one that has come since."""
        result, key = self._result, self._keys[wire]
        return result.verdict(key) if result is not None and key in result.states else None

    def _read(self, stale: bool) -> None:
        if self._result is None:
            self.codes = np.full(len(self._keys), NOT_READ, np.int8)
            self.widths = np.ones(len(self._keys))
            return
        states, norms = self._result.states, self._result.norms
        unknown = NOT_READ if self._result.is_lossless else CODES[State.UNKNOWN]
        unread = NOT_READ if stale else unknown
        by_state = {state: CODES[state] for state in set(states.values())}
        by_state[State.UNKNOWN] = unknown
        self.codes = np.array(
            [by_state[states[key]] if key in states else unread for key in self._keys], np.int8
        )
        self.widths = lane_width(np.array([norms.get(key) or 0.0 for key in self._keys], float))


def side_by_side(strands: Sequence[Strand]) -> tuple[Strand, ...]:
    """The strands with fewer lanes: what says nothing new is not drawn.

    Where all say the same of a wire that carries nothing the first speaks for them; a loss that
    a wire has no path to has no lane beside those of others. Lanes lie close to their wire, in the
    order of the losses.
    """
    codes = np.stack([strand.codes for strand in strands])
    shared = np.isin(codes[0], _SHARED) & (codes == codes[0]).all(axis=0)
    for rank, strand in enumerate(strands):
        left_out = shared if rank else np.zeros_like(shared)
        absent = ~shared & (strand.codes == CODES[State.OFF_ROUTE])
        strand.shown = np.where(left_out | absent, CODES[State.NOTHING_TO_TRAIN], strand.codes)
        strand.shared = shared
    drawn = np.stack([~np.isin(strand.shown, _UNSEEN) for strand in strands]).astype(np.int32)
    for strand, places in zip(strands, np.cumsum(drawn, axis=0) - drawn, strict=True):
        strand.places = places
    return tuple(strands)
