"""Resolves a result for a scene: lanes of the wires, looks of the faces."""

from __future__ import annotations

from dataclasses import field, replace
from operator import is_
from typing import TYPE_CHECKING

from gradwire.app.canvas.state.badge_labels import NumberStatus
from gradwire.app.canvas.state.lanes import Lanes, following, lane_counts, lanes_of, side_by_side
from gradwire.app.canvas.state.look_cache import LookCache
from gradwire.app.canvas.state.page_result import PageResult
from gradwire.app.evaluation.outdated import outdated_blocks
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import PLAIN, ROOT, InstancePath, PortName, PortPath
from gradwire.runtime.diagram import resolve as address_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members.changes import Changes
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import Diagram


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
