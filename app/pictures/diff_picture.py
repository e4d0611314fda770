"""Draws what differs between two diagrams, and both sides of a merge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import Enum
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint.blocks.badges import badge_width, draw_badges
from gradwire.app.canvas.paint.blocks.faces import CORNER
from gradwire.app.canvas.scene.curves import Courses
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.state.badge_labels import BadgeLabel
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.pictures.page_picture import MARGIN, PagePicture, first_use
from gradwire.app.pictures.svg import svg
from gradwire.app.services.colours import oklch
from gradwire.app.services.theme import SMALL, Theme, font
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import SIDES, PageChanges, Point, PortName, Three, with_names
from gradwire.runtime.flow import Effect
from gradwire.runtime.publish import diff_report, short, xml_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.pictures.options import PictureOptions
    from gradwire.runtime.diagram import Conflict, Diagram, DiagramChanges, Page, Side
    from gradwire.runtime.flow import Effects

_KEY_HEIGHT = 26.0
"""Height of the line that explains the marks, px at 100 %."""
_STEP = 12.0
"""By how much a removed block moves down until it covers no other, px."""
_TRIES = 400
_AROUND = 4.0
"""From the edge of a block to its mark, px."""


class ChangeSign(Enum):
    """The mark of a changed item."""

    ADDED = "+"
    REMOVED = "−"
    CHANGED = "~"
    CONFLICT = "!"

    def colour(self, theme: Theme) -> QColor:
        """The colour of the mark in a theme."""
        if self is ChangeSign.ADDED:
            return oklch(0.8 if theme.dark else 0.52, 0.15, 150.0)
        if self is ChangeSign.CONFLICT:
            return oklch(0.8 if theme.dark else 0.5, 0.16, 320.0)
        return QColor(theme.error if self is ChangeSign.REMOVED else theme.warning)

    @property
    def words(self) -> str:
        """What the mark means."""
        match self:
            case ChangeSign.ADDED:
                return editor.tr("added")
            case ChangeSign.REMOVED:
                return editor.tr("removed")
            case ChangeSign.CHANGED:
                return editor.tr("changed")
            case ChangeSign.CONFLICT:
                return editor.tr("in conflict")


class DiffPicture(PagePicture):
    """A page as it is after the changes, with the blocks and wires that were removed.

    ``result`` is that of the diagram after the changes; ``conflicts`` are blocks, and targets of
    wires, that another version has changed differently.
    """

    def __init__(
        self,
        changes: DiagramChanges,
        effects: Effects,
        page: str,
        result: EvaluationResult | None,
        options: PictureOptions | None = None,
        theme: Theme | None = None,
        conflicts: Collection[str | PortName] = (),
    ) -> None:
        self._conflicts = conflicts
        self._effects = effects
        self._use = first_use(changes.after, page)
        found = (each for each in changes.pages if each.page == page)
        self._changes = next(found, PageChanges(page, page))
        before = changes.before.pages.get(self._changes.was or "")
        merged = _with_removed(changes.after, before, self._changes)
        result = result and replace(result, diagram=merged)
        super().__init__(merged, page, result, self._use, options, theme)

    @property
    def key_size(self) -> QSizeF:
        width = sum(_key_width(sign) for sign in self._signs())
        return QSizeF(width + 2 * MARGIN, _KEY_HEIGHT) if width else QSizeF(0.0, 0.0)

    def paint_key(self, painter: QPainter, corner: QPointF) -> None:
        theme, left = self.view.theme, corner.x()
        painter.setFont(font(SMALL))
        for sign in self._signs():
            _paint_sign(painter, sign, QPointF(left + 7.0, corner.y() + 7.0), theme)
            painter.setPen(QColor(theme.ink))
            place = QRectF(left + 20.0, corner.y(), _key_width(sign), 14.0)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), sign.words)
            left += _key_width(sign)

    def paint_over(self, painter: QPainter, camera: Camera) -> None:
        for target, source, sign in self._wires():
            self._paint_wire(painter, camera, target, source, sign)
        for name, sign in self._blocks().items():
            self._paint_block(painter, camera, name, sign)
        for name, labels in self._labels().items():
            box = self._box(camera, name)
            wide = sum(badge_width(label) + 4.0 for label in labels)
            draw_badges(painter, labels, QPointF(box.right() - wide, box.bottom()), self.view.theme)

    def _signs(self) -> list[ChangeSign]:
        """The signs that occur, in order."""
        occurring = {*self._blocks().values(), *(sign for _, _, sign in self._wires())}
        return [sign for sign in ChangeSign if sign in occurring]

    def _blocks(self) -> dict[str, ChangeSign]:
        changes = self._changes
        found = dict.fromkeys(changes.added, ChangeSign.ADDED)
        found |= dict.fromkeys(changes.removed, ChangeSign.REMOVED)
        changed = [*changes.renamed.values(), *(block.name for block in changes.changed)]
        found |= dict.fromkeys(changed, ChangeSign.CHANGED)
        # A wire that this version lacks is marked at the block that it would enter.
        wires, shown = self.view.scene.page.wires, self.view.scene.index
        names = (x if isinstance(x, str) else x.block for x in self._conflicts if x not in wires)
        return found | {name: ChangeSign.CONFLICT for name in names if name in shown}

    def _wires(self) -> list[tuple[PortName, PortName, ChangeSign]]:
        """Target, source and sign of each wire that is new, gone (both for another source), or in
        conflict.
        """
        found = []
        for wire in self._changes.wires:
            if wire.before is not None:
                found.append((wire.target, wire.before, ChangeSign.REMOVED))
            if wire.after is not None and wire.target not in self._conflicts:
                found.append((wire.target, wire.after, ChangeSign.ADDED))
        wires = self.view.scene.page.wires
        ours = (x for x in self._conflicts if isinstance(x, PortName) and x in wires)
        return found + [(target, wires[target], ChangeSign.CONFLICT) for target in ours]

    def _labels(self) -> dict[str, list[BadgeLabel]]:
        """What happened to gradients, by the block that is the variable or has it inside."""
        found: dict[str, Counter[Effect]] = {}
        for variable in self._effects.changed:
            name = variable.name.block_below(self._use)
            if name in self.view.scene.index:
                found.setdefault(name, Counter())[variable.effect] += 1
        words = {
            Effect.LOST: editor.tr("loses gradient"),
            Effect.GAINED: editor.tr("gains gradient"),
            Effect.NEW_WITHOUT: editor.tr("no gradient"),
        }
        return {
            name: [
                BadgeLabel(
                    text if counts[effect] == 1 else f"{counts[effect]} × {text}",
                    serious=effect is not Effect.GAINED,
                )
                for effect, text in words.items()
                if counts[effect]
            ]
            for name, counts in found.items()
        }

    def _paint_block(self, painter: QPainter, camera: Camera, name: str, sign: ChangeSign) -> None:
        theme, box = self.view.theme, self._box(camera, name)
        removed = name in self._changes.removed
        if removed:
            veil = QColor(theme.canvas)
            veil.setAlphaF(0.6)
            painter.fillRect(box, veil)
        style = Qt.PenStyle.DashLine if removed else Qt.PenStyle.SolidLine
        painter.setPen(QPen(sign.colour(theme), 2.5, style))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        around = box.adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND)
        painter.drawRoundedRect(around, CORNER + 3.0, CORNER + 3.0)
        _paint_sign(painter, sign, around.topRight(), theme)

    def _paint_wire(
        self,
        painter: QPainter,
        camera: Camera,
        target: PortName,
        source: PortName,
        sign: ChangeSign,
    ) -> None:
        scene = self.view.scene
        if sign is not ChangeSign.REMOVED:
            course = scene.course_of(str(target)).to_widget(camera)
        else:
            course = self._straight(camera, source, target)
        style = Qt.PenStyle.DashLine if sign is ChangeSign.REMOVED else Qt.PenStyle.SolidLine
        painter.setPen(QPen(sign.colour(self.view.theme), 2.0, style))
        points = [QPointF(*point) for point in course.flatten(STEPS)[0].tolist()]
        painter.drawPolyline(points)
        _paint_sign(painter, sign, points[len(points) // 2], self.view.theme)

    def _straight(self, camera: Camera, source: PortName, target: PortName) -> Courses:
        """The curve that a wire would have from ``source`` to ``target``."""
        start, end = self._port(source, right=True), self._port(target, right=False)
        ends = camera.to_widget(np.array([start, end]))
        return Courses(ends.reshape(1, 4))

    def _port(self, name: PortName, *, right: bool) -> Floats:
        """The scene point of a port; of one that is gone, the middle of that side."""
        scene = self.view.scene
        number = scene.port(name.block, name.port)
        if number is not None:
            point: Floats = scene.port_points(np.array([number]))[0]
            return point
        x, y, width, height = scene.rects[scene.index[name.block]].tolist()
        return np.array([x + width if right else x, y + height / 2.0])

    def _box(self, camera: Camera, name: str) -> QRectF:
        scene = self.view.scene
        row = scene.rects[[scene.index[name]]]
        left, top = camera.to_widget(row[:, :2])[0].tolist()
        width, height = (row[0, 2:] * camera.zoom).tolist()
        return QRectF(left, top, width, height)


def _with_removed(after: Diagram, before: Page | None, changes: PageChanges) -> Diagram:
    """The diagram after the changes, with the removed blocks where they cover no other."""
    page = after.pages[changes.name]
    if before is None or not changes.removed:
        return after
    removed = {name: before.blocks[name] for name in changes.removed}
    layout = dict(page.layout)
    for name in removed:
        layout[name] = before.layout.get(name, Point(0.0, 0.0))
    merged = replace(page, blocks={**page.blocks, **removed}, layout=layout)
    scene = Scene(after.with_page(changes.name, merged), changes.name)
    taken = [scene.rects[scene.index[name]] for name in page.blocks]
    for name in removed:
        rect = scene.rects[scene.index[name]].copy()
        tries = 0
        while any(_overlap(rect, other) for other in taken) and tries < _TRIES:
            rect[1] += _STEP
            tries += 1
        taken.append(rect)
        layout[name] = Point(float(rect[0]), float(rect[1]))
    return after.with_page(changes.name, replace(merged, layout=dict(layout)))


def _overlap(one: Floats, other: Floats) -> bool:
    """Whether two rectangles (left, top, width, height) are closer than a mark needs."""
    room = 2 * _AROUND
    apart = (one[:2] > other[:2] + other[2:] + room) | (other[:2] > one[:2] + one[2:] + room)
    return not bool(apart.any())


def _paint_sign(painter: QPainter, sign: ChangeSign, centre: QPointF, theme: Theme) -> None:
    """A disc with the sign, drawn as strokes since fonts differ."""
    painter.setPen(QPen(QColor(theme.canvas), 1.5))
    painter.setBrush(sign.colour(theme))
    painter.drawEllipse(centre, 7.0, 7.0)
    pen = QPen(QColor(theme.canvas), 1.8)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    x, y = centre.x(), centre.y()
    if sign is ChangeSign.CHANGED:
        points = [(-3.5, 1.0), (-1.5, -1.5), (1.5, 1.5), (3.5, -1.0)]
        painter.drawPolyline([QPointF(x + dx, y + dy) for dx, dy in points])
        return
    if sign is ChangeSign.CONFLICT:
        painter.drawLine(QPointF(x, y - 3.5), QPointF(x, y + 0.5))
        painter.drawLine(QPointF(x, y + 3.2), QPointF(x, y + 3.5))
        return
    painter.drawLine(QPointF(x - 3.5, y), QPointF(x + 3.5, y))
    if sign is ChangeSign.ADDED:
        painter.drawLine(QPointF(x, y - 3.5), QPointF(x, y + 3.5))


def _key_width(sign: ChangeSign) -> float:
    return 20.0 + QFontMetricsF(font(SMALL)).horizontalAdvance(sign.words) + 18.0


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark; }
table { border-collapse: collapse; }
th, td { text-align: start; vertical-align: top; padding: .3rem 1.2rem .3rem 0;
         border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
svg { max-width: 100%; height: auto; }
"""


class MergePictures:
    """Draws what each side of a merge has changed of the common ancestor."""

    def __init__(self, three: Three[Diagram]) -> None:
        base, *sides = with_names(three)
        self._reports = {
            name: diff_report(base, side, ("base", name))
            for name, side in zip(SIDES, sides, strict=True)
        }
        self._results = dict(zip(SIDES, map(evaluate, sides), strict=True))

    def picture(
        self, side: Side, page: str, conflicts: Sequence[Conflict], theme: Theme | None = None
    ) -> DiffPicture | None:
        """A page of a side, with the conflicts on it marked; None if the side has no such page."""
        report = self._reports[side]
        if page not in report.changes.after.pages:
            return None
        places = [each.place for each in conflicts if each.place is not None]
        marked = [each.item for each in places if each.page == page and each.item is not None]
        result = self._results[side]
        return DiffPicture(
            report.changes, report.effects, page, result, theme=theme, conflicts=marked
        )

    def html(self, title: str, conflicts: Sequence[Conflict]) -> str:
        """A page that lists the conflicts, with both sides of all pages that have any."""
        rows = "".join(
            f"<tr><td>{escape(each.name)}</td><td>{escape(short(each.ours))}</td>"
            f"<td>{escape(short(each.theirs))}</td><td>{each.kept}</td></tr>"
            for each in conflicts
        )
        table = f"<table><tr><th>Conflict<th>Ours<th>Theirs<th>Kept</tr>{rows}</table>"
        title = escape(f"Conflicts of {title}")
        return xml_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
            f"<h1>{title}</h1>{table if rows else '<p>There is none.</p>'}"
            f"{''.join(self._pages(conflicts))}</html>"
        )

    def _pages(self, conflicts: Sequence[Conflict]) -> Iterator[str]:
        for page in dict.fromkeys(each.place.page for each in conflicts if each.place is not None):
            yield f'<h2>Page {escape(page)}</h2><div class="sides">'
            for side in SIDES:
                picture = self.picture(side, page, conflicts)
                shown = (
                    f"<p>{side.capitalize()} has no such page.</p>"
                    if picture is None
                    else svg(picture, f"{page}, {side}").partition("\n")[2]
                )
                yield f"<figure><figcaption>{side.capitalize()}</figcaption>{shown}</figure>"
            yield "</div>"
