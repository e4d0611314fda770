"""The lanes beside the wires of a scene: state, as an int8 code, width and label of each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from gradwire.app.canvas.state.formatting import beside_wire, power_of_ten
from gradwire.app.evaluation.result import SHOWING_ZEROS
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import ROOT, InstancePath, WirePath
from gradwire.runtime.flow import MANY, STATES, State, looked_up, number, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Ints
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import Changes
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.flow import Verdict

NO_RESULT = 0
"""Code of a wire that no result covers; it is drawn plain."""
CODES: Mapping[State, int] = MappingProxyType({state: i for i, state in enumerate(STATES, start=1)})
"""The int8 that stands for each state."""
STATE_OF: Mapping[int, State] = MappingProxyType({code: state for state, code in CODES.items()})
"""The state that a code stands for."""


def flags_of(has: Callable[[State], bool]) -> Flags:
    """Whether each code stands for a state that ``has`` something, to be indexed with codes."""
    return np.array([False, *map(has, STATES)])


Codes: TypeAlias = NDArray[np.int8]

_INVISIBLE = (NO_RESULT, CODES[State.NOTHING_TO_TRAIN])
_SHAREABLE = (NO_RESULT, CODES[State.OFF_ROUTE], CODES[State.FROZEN], CODES[State.UNKNOWN])


class Words(NamedTuple):
    """What the labels of a wire say, whatever is known of its cut."""

    state: State
    """The state that is drawn."""
    text: str
    """The text beside its lane, see :meth:`Lanes.label`."""
    is_origin: bool


@dataclass(frozen=True, eq=False)
class Lanes:
    """One lane beside each wire of a scene: the gradient of one loss, or of all together."""

    keys: tuple[WirePath, ...]
    """Path of each wire."""
    result: EvaluationResult | None
    use: InstancePath
    """Path of the use of the page, with a slash at its end; empty for the main page."""
    codes: Codes
    """State of each wire (m,), see :data:`gradwire.app.canvas.state.lanes.CODES`."""
    widths: Floats
    """Width of each lane (m,), px at 100 %."""
    drawn: Codes
    """The codes as they are drawn (m,), see :func:`side_by_side`."""
    positions: Ints
    """Number of lanes between this one and its wire (m,)."""
    shared: Flags
    """Wires on which this lane stands for those of all losses (m,)."""
    name: str = ""
    """Name of the loss where several are shown side by side."""
    colour: str = ""
    """The colour that the user gave the loss, or empty."""
    _examined: set[str] = field(default_factory=set)
    _cut: set[str] = field(default_factory=set)
    _words: dict[int, Words] = field(default_factory=dict, init=False)

    def with_result(self, result: EvaluationResult) -> Lanes:
        """The lanes of a result that differs in nothing that they show."""
        now = replace(self, result=result)
        now._words.update(self._words)
        return now

    def words(self, wire: int) -> Words:
        """What the labels of a wire say, found once."""
        known = self._words.get(wire)
        if known is None:
            state = STATE_OF.get(int(self.drawn[wire]), State.NOTHING_TO_TRAIN)
            known = self._words[wire] = Words(state, self.label(wire), self.is_origin(wire))
        return known

    def label(self, wire: int) -> str:
        """The text beside a lane: ``0``, ``37 %``, ``▽ 10⁻⁸``, ``▲ 10⁵``, ``NaN``, ``∞``, or none.

        On a wire with a tree the number of leaves that carry comes first: ``1/4``.
        """
        text, leaves = self._warning(wire), self.leaves(wire)
        return text if leaves is None else f"{leaves[0]}/{leaves[1]} {text}".rstrip()

    def amounts(self, wire: int) -> tuple[str, ...]:
        """The gradient on a wire in ever shorter texts, where its label does not give it."""
        state = STATE_OF.get(int(self.codes[wire]))
        labelled = state is not None and state.row.label and state not in SHOWING_ZEROS
        if self.result is None or labelled:
            return ()
        key = self.keys[wire]
        array, norm = self.result.contributions.get(key), self.result.norms.get(key)
        if array is None:  # nothing, or a tree, which has a size but no array
            return () if norm is None else (f"rms {number(norm)}",)
        return beside_wire(array)

    @property
    def has_leaves(self) -> bool:
        """Whether any wire of the result has a tree."""
        return self.result is not None and bool(self.result.badges.leaves.get(self.result.loss))

    def leaves(self, wire: int) -> tuple[int, int] | None:
        """How many leaves of a wire's tree carry gradient, of how many; None for an array."""
        if self.result is None:
            return None
        return self.result.badges.leaves.get(self.result.loss, {}).get(self.keys[wire])

    def _warning(self, wire: int) -> str:
        if self.result is None:
            return ""
        state, key = STATE_OF.get(int(self.codes[wire])), self.keys[wire]
        norm, zeros = self.result.norms.get(key), self.result.zeros.get(key)
        if state is State.NONFINITE:
            return self.result.wild(key)
        if state is not None and state.row.label:
            return state.row.label_of(
                rms=power_of_ten(norm) if norm is not None and math.isfinite(norm) else "",
                zeros="" if zeros is None else share(zeros),
            )
        return ""

    def sentence(self, wire: int) -> str:
        """Why the wire is in its state; preceded by the loss where several are shown."""
        verdict = self._verdict(wire)
        sentence = "" if verdict is None else verdict.sentence
        return f"{self.name}: {sentence}" if self.name and sentence else sentence

    def is_origin(self, wire: int) -> bool:
        """Whether a NaN or infinity first appears where this wire ends."""
        if self.result is None or self.codes[wire] != CODES[State.NONFINITE]:
            return False
        return self.keys[wire] in self.result.badges.origins

    def is_cut(self, wire: int, until: float = math.inf) -> bool | None:
        """Whether this wire ends in a slot that cuts gradient off.

        A verdict takes a search through the diagram: None if it is not known yet and the clock
        (``perf_counter``) is past ``until``.
        """
        key = self.keys[wire]
        if key in self._cut:
            return True
        if key in self._examined:
            return False
        if time.perf_counter() > until:
            return None
        verdict = self._verdict(wire)
        self._examined.add(key)
        if verdict is not None:  # its cutters are cut as well
            nearest = verdict.cutters[:MANY]
            self._cut.update(cutter.wire for cutter in nearest)
        return key in self._cut

    def cutters(self, wire: int) -> tuple[str, ...]:
        """The blocks that cut gradient off a wire, by their names on this page."""
        verdict = self._verdict(wire)
        use, blocks = self.use, [] if verdict is None else [c.block for c in verdict.cutters]
        here = (block.relative_to(use) if block.is_inside(use) else block for block in blocks)
        return tuple(dict.fromkeys(here))

    def _verdict(self, wire: int) -> Verdict | None:
        """The verdict on a wire; None for a wire that is newer than the result."""
        result, key = self.result, self.keys[wire]
        return result.verdict(key) if result is not None and key in result.states else None


def lanes_of(
    scene: Scene,
    result: EvaluationResult | None,
    use: InstancePath = ROOT,
    *,
    stale: bool = False,
    name: str = "",
) -> Lanes:
    """The lanes of a result, inside the page used at the path ``use``.

    If the result is ``stale`` or partial, wires that it does not know have no lane; those
    that lead to nothing but views never have one.
    """
    keys = _within(use, tuple(scene.wire_keys))
    codes, widths = _drawn(result, keys, stale=stale)
    positions, shared = np.zeros(len(keys), np.int32), np.zeros(len(keys), bool)
    return Lanes(keys, result, use, codes, widths, codes, positions, shared, name)


def following(before: Lanes, scene: Scene, wires: Changes, *, stale: bool) -> Lanes:
    """The lanes of the same result after an edit has changed ``wires`` of a scene."""
    new = [WirePath(scene.wire_keys[wire]).within(before.use) for wire in wires.fresh]
    keys = cast("list[WirePath]", list(wires.listed(before.keys)))
    for wire, key in zip(wires.fresh, new, strict=True):
        keys[wire] = key
    codes, widths = wires.rows(before.codes, NO_RESULT), wires.rows(before.widths, 1.0)
    anew = np.isin(codes, (NO_RESULT, CODES[State.UNKNOWN]))
    anew[wires.fresh] = True
    again = np.flatnonzero(anew)
    some = [keys[wire] for wire in again.tolist()]
    codes[again], widths[again] = _drawn(before.result, some, stale=stale)
    return replace(
        before,
        keys=tuple(keys),
        codes=codes,
        widths=widths,
        drawn=codes,
        positions=np.zeros(len(keys), np.int32),
        shared=np.zeros(len(keys), bool),
    )


def _drawn(
    result: EvaluationResult | None, keys: Sequence[WirePath], *, stale: bool
) -> tuple[Codes, Floats]:
    """The codes and widths of the lanes of wires with these paths (k,)."""
    if result is None:
        return np.full(len(keys), NO_RESULT, np.int8), np.ones(len(keys))
    unknown = NO_RESULT if result.is_lossless else CODES[State.UNKNOWN]
    absent = NO_RESULT if stale or result.is_partial else unknown
    by_state = {**CODES, State.UNKNOWN: unknown}
    states = map(looked_up(result.states, len(keys)).get, keys)
    found = [absent if state is None else by_state[state] for state in states]
    codes = np.array(found, np.int8)
    if shown := result.shown:
        codes[[key in shown for key in keys]] = NO_RESULT
    norms = [0.0 if norm is None else norm for norm in map(result.norms.get, keys)]
    return codes, lane_width(np.array(norms, float))


@lru_cache(maxsize=8)
def _within(use: InstancePath, keys: tuple[str, ...]) -> tuple[WirePath, ...]:
    """Absolute paths of wires that are given by their paths on the page used at ``use``."""
    return tuple(WirePath(key).within(use) for key in keys)


def lane_width(rms: Floats) -> Floats:
    """Width of a lane in px at 100 %: 1.2 … 4.4 by the logarithm of the rms, 2.4 at 1."""
    size = np.log10(np.maximum(rms, 1e-30))
    width = np.clip(2.4 + 0.45 * np.where(np.isfinite(size), size, 4.0), 1.2, 4.4)
    return np.asarray(np.round(width * 2.5) / 2.5)


def side_by_side(losses: Sequence[Lanes]) -> tuple[Lanes, ...]:
    """The lanes of several losses, without redundant ones.

    Where all losses agree on a wire that carries nothing, the first stands for them. A loss that
    a wire has no path to has no lane beside those of the others. Lanes lie as close to their wire
    as there is room, in the order of the losses.
    """
    codes = np.stack([lanes.codes for lanes in losses])
    shared = np.isin(codes[0], _SHAREABLE) & (codes == codes[0]).all(axis=0)
    absent = ~shared & (codes == CODES[State.OFF_ROUTE])
    absent[1:] |= shared
    drawn = np.where(absent, CODES[State.NOTHING_TO_TRAIN], codes).astype(np.int8)
    visible = _visible(drawn)
    positions = np.cumsum(visible, axis=0, dtype=np.int32) - visible
    return tuple(
        replace(lanes, drawn=drawn[i], positions=positions[i], shared=shared)
        for i, lanes in enumerate(losses)
    )


def lane_counts(lanes: Sequence[Lanes]) -> Ints:
    """The number of lanes (m,) that are drawn beside each wire."""
    return np.asarray(_visible(np.stack([loss.drawn for loss in lanes])).sum(axis=0))


def _visible(drawn: Codes) -> Ints:
    """1 where a lane is drawn, else 0."""
    return (~np.isin(drawn, _INVISIBLE)).astype(np.int32)
