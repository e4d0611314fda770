"""Resolves a result for a page: lanes of the wires, looks of the faces.

Before that, the result for the blocks and ports of the page, by their names there.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, Any

from gradwire.app.canvas.state.badge_labels import NumberStatus
from gradwire.app.canvas.state.lanes import Lanes, following, lane_counts, lanes_of, side_by_side
from gradwire.app.canvas.state.looks import LookCache
from gradwire.app.evaluation.badges import NONE, Badges
from gradwire.app.evaluation.outdated import outdated_blocks
from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Composite
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram import (
    PLAIN,
    ROOT,
    InstancePath,
    PortName,
    PortPath,
    WirePath,
    same_meaning,
)
from gradwire.runtime.diagram import resolve as address_of
from gradwire.runtime.flow import State
from gradwire.runtime.lessons import FlowFacts, asks, note_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import Changes
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagnostic, Diagram, Note
    from gradwire.runtime.views import Picture

SEVERITIES = ("error", "warning", "info")
"""Severities of problems, the worst first."""


@dataclass(frozen=True, eq=False)
class PageResult:
    """A result, or none, for one page at its use ``use``."""

    scene: Scene
    result: EvaluationResult | None
    use: InstancePath = ROOT

    @cached_property
    def stale(self) -> bool:
        """Whether the result is of an older diagram."""
        result = self.result
        return result is not None and not same_meaning(result.diagram, self.scene.diagram)

    @property
    def badges(self) -> Badges:
        """The badges of the result, unless it is stale."""
        return NONE if self.result is None or self.stale else self.result.badges

    @property
    def notes(self) -> Mapping[str, Note]:
        """The notes of the page with the numbers of the result; … while there is none."""
        notes = self.scene.page.notes  # of now: edits change the page while the result stays
        if not any(asks(note.text) for note in notes.values()):
            return notes
        return {name: replace(note, text=self._written(note.text)) for name, note in notes.items()}

    def _written(self, text: str) -> str:
        """The text of a note with its numbers."""
        if text not in self._texts:
            self._texts[text] = note_text(text, self._facts)
        return self._texts[text]

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The texts of notes that were written already, by what they ask for."""
        return {}

    @cached_property
    def _facts(self) -> FlowFacts | None:
        result = self.result
        flow = None if result is None or result.is_partial else result.flow
        if result is None or flow is None:
            return None
        return FlowFacts(flow, result.diagram, trials=result.trials)

    @property
    def leaf_ports(self) -> Mapping[PortPath, Any]:
        """Shapes and dtypes by port, those of the leaves of trees included."""
        return {} if self.result is None else self.result.ports

    def value(self, block: str, port: str) -> Array | None:
        """The value of an output if it is known; of a page or formula, that of its inner output.

        A source shows what it is given, which may be newer than the result.
        """
        if self.result is None:
            return None
        known: Array | None = self._output(self.result.values, block, port)
        source = self.scene.page.blocks.get(block)
        given = getattr(source, "value", None) if isinstance(source, Source) else None
        if known is None or not isinstance(given, Tensor):
            return known
        return given.array if given.shape == known.shape else known

    def picture(self, block: str) -> Picture | None:
        """What a view shows; None where some of its values are not known, or hidden."""
        result = self.result
        if result is None or result.hidden:
            return None
        if result.is_partial:
            page = self.scene.page
            sources = [page.wires[target] for target in page.ends.inward.get(block, ())]
            if any(self.value(*source) is None for source in sources):
                return None
        return result.pictures.get(self.use / block)

    def tree(self, block: str, port: str) -> Tree | None:
        """The tree of an output that gives one, found like :meth:`value`."""
        return None if self.result is None else self._output(self.result.trees, block, port)

    def _output(self, known: Mapping[str, Any], block: str, port: str) -> Any:
        path = self.use / block
        found = known.get(path.port(port))
        if found is None and isinstance(self.scene.page.blocks.get(block), Composite):
            found = known.get((path / port).port("out"))
        return found

    def variable(self, block: str, port: str = "") -> InstancePath:
        """The path of a variable, or of the own variable of an input."""
        return self.use / block / port if port else self.use / block

    def gradient(self, block: str, port: str = "") -> Array | None:
        """The gradient of a variable, or of the own variable of an input."""
        path = self.variable(block, port)
        return None if self.result is None else self.result.gradients.get(path)

    def knows_gradient(self, block: str, port: str = "") -> bool:
        """Whether the gradient of a variable is known, be it None.

        A timeline hides it at first; and the program that the diagram comes from may be known to
        have another.
        """
        result, path = self.result, self.variable(block, port)
        if result is None:
            return True
        if result.flow is not None and result.flow.flow.doubts(path):
            return False
        return not result.is_partial or path in result.gradients

    @cached_property
    def problems(self) -> Mapping[tuple[str, str], list[Diagnostic]]:
        """Diagnostics by block and port; the port is empty for a block as a whole.

        Those of blocks inside a page belong to the page block.
        """
        found: dict[tuple[str, str], list[Diagnostic]] = {}
        for diagnostic in () if self.result is None else self.result.diagnostics:
            place = diagnostic.location
            path = InstancePath(place.block or "")
            if self.use and path.is_inside(self.use):
                path = path.relative_to(self.use)
            elif (place.page or "main") != self.scene.page_name:
                continue
            block = path.block_below(ROOT)
            if block in self.scene.index:
                port = (place.port or "") if path == block else ""
                found.setdefault((block, port), []).append(diagnostic)
        return found

    @cached_property
    def severities(self) -> Mapping[str, str]:
        """By block with a problem, the severity of its worst one."""
        worst: dict[str, str] = {}
        for (block, _), found in self.problems.items():
            known = [worst[block]] if block in worst else []
            worst[block] = min([*known, *(d.severity for d in found)], key=SEVERITIES.index)
        return worst

    def problems_of(self, block: str) -> list[Diagnostic]:
        """All diagnostics of a block and its ports."""
        return [d for (name, _), found in self.problems.items() if name == block for d in found]

    @cached_property
    def worst_inside(self) -> Mapping[str, State]:
        """By page block, the state of most concern of a wire inside it; absent if none is."""
        worst: dict[str, State] = {}
        if not self.scene.has_insides:
            return worst
        calm = self.result is None or self.result.is_lossless
        states = {} if self.result is None or calm else self.result.states
        shown = frozenset() if self.result is None else self.result.shown
        for key, state in states.items():
            wire = WirePath(key)
            concern = state.row.concern and wire not in shown
            block = wire.block_below(self.use) if concern else None
            if block is not None and wire.is_inside(self.use / block):
                known = worst.get(block)
                if known is None or state.row.concern > known.row.concern:
                    worst[block] = state
        return worst

    def sign_inside(self, name: str) -> str:
        """The sign of the state of most concern inside a page block; empty if none is."""
        state = self.worst_inside.get(name)
        if state is State.NONFINITE:
            return self._wild_inside.get(name, state.row.sign)
        return "" if state is None else state.row.sign

    @cached_property
    def _wild_inside(self) -> Mapping[str, str]:
        """By page block, ``NaN`` if a wire inside it has any, else its infinities."""
        found: dict[str, str] = {}
        if self.result is not None:
            for key, state in self.result.states.items():
                block = WirePath(key).block_below(self.use) if state is State.NONFINITE else None
                if block is not None and found.get(block) != "NaN":
                    found[block] = self.result.wild(key)
        return found


_ON_LANES = ("states", "norms", "contributions", "zeros", "badges")
"""Parts of a result that lanes and their labels show."""
_ON_FACES = (
    "values", "gradients", "states", "diagnostics", "ports", "trees", "losses", "flow", "badges",
    "pictures", "hidden",
)  # fmt: skip
"""Parts of a result that faces show."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """What a page shows of a result. Looks are created on first use."""

    page: PageResult
    dimmed: bool
    """Whether numbers and lanes are dimmed, since they belong to an older diagram."""
    total: Lanes
    """The lanes of everything that the result is about."""
    lanes: tuple[Lanes, ...]
    """The lanes to show beside each wire: those of single losses, or ``total``."""
    outdated: frozenset[str] = frozenset()
    """Blocks whose numbers may differ by now, while ``dimmed``."""
    numbers: bool = True
    """Whether faces show values and gradients."""
    wire_keys: Sequence[str] = ()
    """The keys of the wires that the lanes belong to."""
    _cache: LookCache = field(default_factory=LookCache)
    _faces: tuple[object, ...] = ()
    """What looks depend on but for the result."""
    _looks: dict[int, Look] = field(default_factory=dict)
    _plain_looks: dict[int, Look] = field(default_factory=dict)

    @property
    def scene(self) -> Scene:
        """The scene that is annotated."""
        return self.page.scene

    @property
    def hides_notes(self) -> bool:
        """Whether notes are hidden, since they may say what is to be predicted."""
        return self.page.result is not None and bool(self.page.result.hidden)

    def look(self, i: int) -> Look:
        """What the face of block ``i`` shows."""
        known = self._looks.get(i)
        if known is None:
            look = self._cache.look(self.page, i, dimmed=self._is_outdated(i))
            known = self._looks[i] = look if self.numbers else replace(look, sections=())
        return known

    def _is_outdated(self, i: int) -> bool:
        return self.scene.names[i] in self.outdated

    def status(self, block: str, *, computing: bool) -> NumberStatus:
        """Where the numbers of a block come from, where an evaluation is under way or not."""
        if computing and (block in self.outdated or not self.page.stale):
            return NumberStatus.COMPUTING
        return NumberStatus.STALE if block in self.outdated else NumberStatus.CURRENT

    def lane_counts(self) -> dict[PortName, int]:
        """The number of lanes beside each wire that has several, by its target."""
        counts = lane_counts(self.lanes)
        return {
            PortName.parse(self.scene.wire_keys[wire]): int(counts[wire])
            for wire in (counts > 1).nonzero()[0].tolist()
        }

    def forget(self, i: int) -> None:
        """Create the looks of block ``i`` anew, since its parameters have changed."""
        self._looks.pop(i, None)
        self._plain_looks.pop(i, None)

    def plain_look(self, i: int) -> Look:
        """What the face of block ``i`` shows from afar."""
        known = self._plain_looks.get(i)
        if known is None:
            look = self._cache.plain_look(self.page, i, dimmed=self._is_outdated(i))
            known = self._plain_looks[i] = look if self.numbers else replace(look, summary=())
        return known


def resolve(
    scene: Scene,
    result: EvaluationResult | None,
    use: InstancePath = ROOT,
    *,
    dimmed: bool = False,
    cache: LookCache | None = None,
    before: Annotations | None = None,
) -> Annotations:
    """Resolve a result for a scene, at the page's use ``use``.

    ``dimmed`` has an effect only if the result is of an older diagram. ``cache`` has the looks of
    the result ``before``.
    """
    page = PageResult(scene, result, use)
    if before is not None and result is not None and _differ_in_layout(before, page):
        return _with_result(before, page, result)
    known = None if before is None else _wires_since(before, page)
    if before is not None and _has_same_lanes(before, page):
        total, losses = before.total, list(before.lanes if result and result.apart else ())
    elif before is not None and known is not None:
        total = following(before.total, scene, known, stale=page.stale)
        apart = before.lanes if result is not None and result.apart else ()
        losses = [
            _coloured(following(lane, scene, known, stale=page.stale), scene.diagram)
            for lane in apart
        ]
    else:
        total = lanes_of(scene, result, use, stale=page.stale)
        singles = () if result is None else result.apart
        losses = [_of_loss(scene, single, use, stale=page.stale) for single in singles]
    lanes = side_by_side(losses) if losses else (total,)
    outdated: frozenset[str] = frozenset()
    if (dimmed := dimmed and page.stale) and result is not None:
        outdated = outdated_blocks(result.diagram, scene.diagram, scene.page_name, use)
    return Annotations(
        page, dimmed, total, lanes, outdated, True, scene.wire_keys,
        _cache=LookCache() if cache is None else cache, _faces=_faces(scene),
    )  # fmt: skip


def _of_loss(scene: Scene, result: EvaluationResult, use: InstancePath, *, stale: bool) -> Lanes:
    """The lanes of one loss beside others."""
    name = PortPath(result.loss or "").short
    return _coloured(lanes_of(scene, result, use, stale=stale, name=name), scene.diagram)


def _coloured(lanes: Lanes, diagram: Diagram) -> Lanes:
    """The lanes in the colour of their loss."""
    loss = PortPath("" if lanes.result is None else lanes.result.loss or "")
    colour = loss_colour(diagram, loss)
    return lanes if colour == lanes.colour else replace(lanes, colour=colour)


def _has_same_lanes(before: Annotations, page: PageResult) -> bool:
    """Whether a page has the wires that it had, and the same result is shown."""
    return (
        before.scene is page.scene
        and before.page.use == page.use
        and before.page.result is page.result
        and before.page.stale == page.stale
        and before.wire_keys is page.scene.wire_keys
    )


def _wires_since(before: Annotations, page: PageResult) -> Changes | None:
    """What has changed of the wires of a page with the same result; None if that is not known."""
    scene = page.scene
    if before.scene is not scene or before.page.use != page.use or scene.renumbered is None:
        return None
    known = scene.renumbered
    same = before.page.result is page.result and before.wire_keys is known.wire_keys
    return known.edit.wires if same and before.page.result is not None else None


def _differ_in_layout(before: Annotations, page: PageResult) -> bool:
    """Whether a page shows the same wires with the same numbers and states as before."""
    was, now = before.page.result, page.result
    return (
        was is not None
        and now is not None
        and before.scene is page.scene
        and before.page.use == page.use
        and before.wire_keys is page.scene.wire_keys
        and not (before.page.stale or page.stale)
        and _alike(was, now)
        and all(map(_alike, was.apart, now.apart))
    )


def _alike(one: EvaluationResult, other: EvaluationResult) -> bool:
    """Whether two results differ in nothing that lanes depend on but their diagrams."""
    judged_alike = one.flow is not None or one.verdict == other.verdict
    return (
        judged_alike
        and one.agrees_with(other)
        and all(getattr(one, name) is getattr(other, name) for name in _ON_LANES)
        and one.is_partial == other.is_partial
        and one.losses == other.losses
    )


def _with_result(before: Annotations, page: PageResult, result: EvaluationResult) -> Annotations:
    """The annotations with a result that differs in its diagram's layout and styles alone."""
    total = before.total.with_result(result)
    lanes: tuple[Lanes, ...] = (total,)
    if result.apart:
        lanes = tuple(
            _coloured(lane.with_result(single), page.scene.diagram)
            for lane, single in zip(before.lanes, result.apart, strict=True)
        )
    now = replace(before, page=page, total=total, lanes=lanes, _faces=_faces(page.scene))
    return now if _show_the_same(before, now) else replace(now, _looks={}, _plain_looks={})


def _faces(scene: Scene) -> tuple[object, ...]:
    """What the looks of a scene's blocks depend on but for the result; other objects after edits
    that may change them.
    """
    page = scene.page
    return scene.slots, scene.rows, scene.is_collapsed, page.blocks, page.styles, page.wires


def _show_the_same(before: Annotations, after: Annotations) -> bool:
    """Whether all faces show the same with two results."""
    was, now = before.page.result, after.page.result
    return (
        len(before._faces) == len(after._faces)
        and all(map(is_, before._faces, after._faces))
        and all(getattr(was, part) is getattr(now, part) for part in _ON_FACES)
    )


def loss_colour(diagram: Diagram, loss: PortPath) -> str:
    """The colour that the user gave the block of a loss, or empty."""
    found = address_of(diagram, loss.block)
    if found is None:
        return ""
    return diagram.pages[found.page].styles.get(found.name, PLAIN).colour


def without_numbers(annotations: Annotations) -> Annotations:
    """The same states, with no values on faces and no sizes beside lanes."""
    return Annotations(
        annotations.page,
        annotations.dimmed,
        _unlabelled(annotations.total),
        tuple(map(_unlabelled, annotations.lanes)),
        numbers=False,
    )


def _unlabelled(lanes: Lanes) -> Lanes:
    """Lanes of the same widths, labelled with signs alone."""
    result = lanes.result
    return replace(lanes, result=result and replace(result, norms={}, zeros={}))
